"""Attack our own bounds with random networks, for as long as you like.

    python benchmarks/attack.py --minutes 30
    python benchmarks/attack.py --minutes 30 --kinds combined
    python benchmarks/attack.py --minutes 30 --kinds rare+declared+cores free
    python benchmarks/attack.py --minutes 30 --propagation
    python benchmarks/attack.py --minutes 30 --questions --largest 3 --timeout 1
    python benchmarks/attack.py --minutes 30 --limits

Each network is small enough for brute force. A bound inside the truth, a witness outside it, a consistent
network called inconsistent, an error of any kind: each is printed with the network in the `.lcn` language,
so that it can become a test. The summary says how many answers were exact and how long both sides took.
With `--propagation` the bounds of sound propagation are attacked instead, by networks that come with models:
those of brute force, and larger ones that were drawn around models. With `--questions` sums, differences and
quotients are asked and decided, with independences and without, and judged by models that linear programs,
local search and vertices find. With `--limits` every question is asked by every method under every reading,
with limits that run out, and Ctrl-C that comes, at a look at the time that the seed chooses: time is an input
like any other. Theories are asked so too.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import prod
from pathlib import Path
from time import monotonic
from typing import TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from awkward_networks import AWKWARD, Awkward, awkward_case, case_with_extremes
from credalog.errors import CredalogError
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine, query
from credalog.network.expressions import Combined
from credalog.network.graph import Markov
from credalog.network.sentences import Network
from credalog.numbers.tolerances import TOLERANCE
from credalog.questions.combined import answer
from credalog.questions.comparing import decided
from credalog.text.unparse import unparse_network, unparse_query
from judging import (
    against_products,
    complaints,
    faults_in_context,
    faults_of_witnesses,
    truth_of,
    truth_without_independence,
)
from limit_judging import attacked, attacked_theory, limited_cases
from propagation_judging import accusations
from question_judging import Rng, against, against_decision, attained, drawn_question, drawn_statement
from random_networks import COMBINED, KINDS, LINEAR, TRAITS, Case, random_case

T = TypeVar("T")

MOST_WORLDS = 16
"""Over so many worlds local search is quick."""

THEORIES = 15
"""After so many networks under short limits a theory is asked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A case with a question of its own."""

    case: Case
    question: Combined
    markov: Markov

    @property
    def network(self) -> Network:
        """Return the network that is asked."""
        return self.case.network

    def __str__(self) -> str:
        return f"{self.case}, {self.markov.value}, {self.question}"


@dataclass(frozen=True, slots=True)
class Trial:
    """One case: what the engine did, what is held against it, and what it cost."""

    case: Case | Awkward | Asked
    ending: str
    complaints: tuple[str, ...]
    seconds: float
    oracle_seconds: float


def attempt(case: Case, arguments: argparse.Namespace) -> Trial:
    """Put one case to the engine and to the oracle."""
    local = arguments.markov == "local"
    options = Options(timeout=arguments.timeout, method=arguments.method, markov=Markov(arguments.markov))
    start = monotonic()
    outcome = asked(case, options)
    answered = monotonic()
    truth = truth_of(case, arguments.oracle) if local else truth_without_independence(case)
    judged = monotonic()
    ending = outcome.status.name if isinstance(outcome, Answer) else type(outcome).__name__
    held = [repr(outcome)]
    if isinstance(outcome, Answer | CredalogError):
        held = complaints(outcome, truth, TOLERANCE) + (faults(case, outcome) if local else [])
    return Trial(case, ending, tuple(held), answered - start, judged - answered)


def faults(case: Case, outcome: Answer | CredalogError) -> list[str]:
    """List what witnesses violate, and what made-up models hold against the bounds."""
    made_up, seen = against_products(case, outcome), faults_of_witnesses(case, outcome)
    return made_up + seen + faults_in_context(case, outcome)


def kinds_of(word: str) -> list[str]:
    """Return the kinds that a word names: one of the plain ones, all combined ones, or traits joined by +."""
    if word == "combined":
        return list(COMBINED)
    if word not in KINDS and not set(word.split("+")) <= set(TRAITS):
        known = f"{', '.join(KINDS)}, combined, or some of {'+'.join(TRAITS)}"
        raise argparse.ArgumentTypeError(f"there is no kind {word}: choose from {known}")
    return [word]


def asked(case: Case, options: Options) -> Answer | Exception:
    """Ask the engine; an exception of any kind is an outcome here."""
    return outcome_of(lambda: query(case.network, case.query, options))


def cases(arguments: argparse.Namespace) -> Iterator[Case]:
    """Draw cases of all kinds in turn, for ever."""
    named = [kind for kinds in arguments.kinds for kind in kinds]
    kinds = [kind for kind in named if arguments.markov == "local" or kind in LINEAR]
    for seed in count(arguments.first):
        for kind in kinds:
            yield random_case(kind, seed, smallest=arguments.smallest, largest=arguments.largest)


def trials_of(arguments: argparse.Namespace) -> Iterator[Trial]:
    """Put one case after the other to the engine, for ever."""
    return (attempt(case, arguments) for case in cases(arguments))


def trials_of_propagation(arguments: argparse.Namespace) -> Iterator[Trial]:
    """Put networks with known models to sound propagation, for ever."""
    for seed in count(arguments.first):
        for kind in (kind for kinds in arguments.kinds for kind in kinds):
            drawn = random_case(kind, seed, smallest=arguments.smallest, largest=arguments.largest)
            yield from judged(partial(case_with_extremes, drawn, arguments.oracle))
        for kind in AWKWARD:
            yield from judged(partial(awkward_case, kind, seed))


def judged(draw: Callable[[], Awkward | None]) -> Iterator[Trial]:
    """Draw a case and judge propagation's bounds on it; nothing where the case has no model."""
    start = monotonic()
    case = draw()
    if case is not None:
        drawn = monotonic()
        held = tuple(accusations(case))
        ending = "accused" if held else "contained"
        yield Trial(case, ending, held, monotonic() - drawn, drawn - start)


def trials_of_questions(arguments: argparse.Namespace) -> Iterator[Trial]:
    """Put a sum, a difference or a quotient about each network to the engine, for ever."""
    for case in cases(arguments):
        if prod(len(variable.values) for variable in case.network.variables) > MOST_WORLDS:
            continue
        for markov in (Markov.LOCAL, Markov.NONE):
            rng = np.random.default_rng([case.seed, *case.kind.encode(), markov is Markov.NONE])
            if not (markov is Markov.NONE and case.network.independences):
                yield questioned(case, drawn_question(rng, case.network), markov, arguments.timeout, rng)


def questioned(case: Case, question: Combined, markov: Markov, timeout: float, rng: Rng) -> Trial:
    """Ask and decide one question, and judge both."""
    engine, options = Engine(case.network, markov), Options(timeout=timeout, markov=markov)
    start = monotonic()
    outcome = outcome_of(lambda: answer(engine, question, options))
    answered = monotonic()
    truth = attained(case, question, markov.value, rng)
    judged = monotonic()
    held = against(outcome, case, question, truth, markov.value)
    if truth is not None and isinstance(outcome, Answer):
        statement = drawn_statement(rng, question, truth)
        verdict = outcome_of(lambda: decided(engine, statement, options))
        held += against_decision(verdict, truth)
    ending = outcome.status.name if isinstance(outcome, Answer) else type(outcome).__name__
    return Trial(Asked(case, question, markov), ending, tuple(held), answered - start, judged - answered)


def trials_of_limits(arguments: argparse.Namespace) -> Iterator[Trial]:
    """Ask networks, and now and then a theory, under limits that run out at any moment, for ever."""
    for number, case in enumerate(limited_cases(arguments.first), start=1):
        start = monotonic()
        held = tuple(map(str, attacked(case)))
        if number % THEORIES == 0:
            held += tuple(attacked_theory(arguments.first * 1000 + number))
        yield Trial(case, "accused" if held else "contained", held, monotonic() - start, 0.0)


def outcome_of(ask: Callable[[], T]) -> T | Exception:
    """Ask; an exception of any kind is an outcome here."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - whatever it is, it goes into the report
        return error


def show(trial: Trial) -> None:
    """Print what is held against an answer, with the network."""
    print(f"\n{trial.case}: {'; '.join(trial.complaints)}")
    print(unparse_network(trial.case.network), flush=True)
    if isinstance(trial.case, Case):
        print(unparse_query(trial.case.query), flush=True)


def summarize(trials: list[Trial]) -> None:
    """Print how the attack went."""
    endings = Counter(trial.ending for trial in trials)
    print(f"\n{len(trials)} networks, {sum(bool(trial.complaints) for trial in trials)} complaints")
    for ending, number in endings.most_common():
        print(f"  {ending:<22} {number}")
    times = sorted(trial.seconds for trial in trials)
    if times:
        middle, worst, total = times[len(times) // 2], times[-1], sum(times)
        print(f"  engine: median {middle:.3f} s, worst {worst:.1f} s, all {total:.0f} s")
        print(f"  oracle: all {sum(trial.oracle_seconds for trial in trials):.0f} s")


def main() -> int:
    """Attack until the time is over or Ctrl-C; fail if anything is held against the engine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--kinds", nargs="+", type=kinds_of, default=[list(KINDS), list(COMBINED)])
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--smallest", type=int, default=2, help="variables at least")
    parser.add_argument("--largest", type=int, default=4, help="variables at most")
    parser.add_argument("--timeout", type=float, default=5.0, help="seconds the engine has for a query")
    parser.add_argument("--oracle", type=float, default=2.0, help="seconds the oracle has for an end")
    parser.add_argument("--method", default="auto", choices=["auto", "factorized", "joint"])
    parser.add_argument("--markov", default="local", choices=["local", "none"])
    parser.add_argument("--propagation", action="store_true", help="attack sound propagation")
    parser.add_argument("--questions", action="store_true", help="attack sums, differences and quotients")
    parser.add_argument("--limits", action="store_true", help="attack by limits that run out at any moment")
    parser.add_argument("--networks", type=int, help="end after so many networks")
    arguments = parser.parse_args()
    draw = trials_of_propagation if arguments.propagation else trials_of
    draw = trials_of_questions if arguments.questions else draw
    draw = trials_of_limits if arguments.limits else draw
    end, trials = monotonic() + 60.0 * arguments.minutes, list[Trial]()
    try:
        for trial in draw(arguments):
            trials.append(trial)
            if trial.complaints:
                show(trial)
            if monotonic() > end or len(trials) == arguments.networks:
                break
    except KeyboardInterrupt:
        pass
    summarize(trials)
    return int(any(trial.complaints for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
