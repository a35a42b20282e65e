"""Ask first-order theories at any size: Example 1 of the paper, families of theories, and sparse relations.

Input: nothing; theories are written here and in tests/theories.py, relations are drawn at random. Output:
`benchmarks/results/first_order.md`: Example 1 among 10, 1,000 and 1,000,000 people beside the whole grounding
of 3, 4 and 5; every family beside its whole grounding and far beyond it; bounds by how many elements are
counted; random theories, of which slices leave most out; local questions about relations of many facts; with
--large, whole groundings of millions of sentences.

Run from the project root: python benchmarks/first_order.py
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from time import perf_counter

import grounding
import numpy as np
import propagation
from pages import command, finish, options_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from combined_theories import combined_theory
from credalog import LCN, parse
from credalog.errors import ImpossibleEvidence, InconsistentNetwork, LanguageError
from credalog.grounding.neighbourhood import Around
from credalog.grounding.network import Grounder
from credalog.grounding.profiles import Profiles
from credalog.methods.answer import Answer, Options
from credalog.methods.lifted.answering import Lifted
from credalog.methods.lifted.orbits import counted_around
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget
from credalog.numbers.interval import VACUOUS
from random_theories import random_theory
from theories import FAMILIES, Family

SMOKERS = FAMILIES[0]
CONDITIONAL = ("P(Sm(1) | Fr(1,2) & Sm(2))", "P(Ca(1) | Ca(2) & Fr(1,2))")

SPARSE_SMOKERS = """predicate Sm(Person), Ca(Person)
relation Friend(Person, Person)
alike: forall x, y in Person, Friend(x, y): P(Sm(x) xor Sm(y)) <= 0.2
prior: forall x in Person: 0.2 <= P(Sm(x)) <= 0.4
smoke: forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
clean: forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
"""

ALERTS = """predicate Bad(Host), Alert(Host)
relation Link(Host, Host)
entry: forall h in Host: 0.01 <= P(Bad(h)) <= 0.05
hit: forall h in Host: 0.8 <= P(Alert(h) | Bad(h)) <= 0.95
noise: forall h in Host: P(Alert(h) | !Bad(h)) <= 0.3
"""
SEEN = ALERTS + "seen: forall h, g in Host, Link(h, g): 0.1 <= P(Alert(g) | Bad(h)) <= 0.9\n"
SPREAD = ALERTS + "spread: forall h, g in Host, Link(h, g): 0.1 <= P(Bad(g) | Bad(h)) <= 0.6\n"

SMOKER_QUESTIONS = ("P(Ca({0}))", "P(Ca({0}) or Ca({1}))", "P(Sm({0}) | Sm({1}))")
ALERT_QUESTIONS = ("P(Alert(17))", "P(Bad({0}) | Alert({0}) & Alert({1}))")

SPARSE = (
    ("smokers", SPARSE_SMOKERS, "Person", "Friend", SMOKER_QUESTIONS),
    ("alerts seen from neighbours", SEEN, "Host", "Link", ALERT_QUESTIONS),
    ("hosts infect each other", SPREAD, "Host", "Link", ALERT_QUESTIONS),
)
"""Rules over a relation: their name, text, domain, relation, and questions about two related elements."""

HEAD = """# First-order theories at any size

Command: `{command}`.
{machine}, Python {python}, on a machine shared with other work; seconds are wall clock, reading apart.
Limit {limit:g} s for each question.

## Example 1 of the paper

| people | question | interval | gap | status | warrant | seconds |
|---:|---|---|---:|---|---|---:|
"""

FAMILY = """
## {count} families of theories

Asked around the question, beside the whole grounding of {people} people, and of {many:,}.

| family | question | around | whole | {many:,} people | seconds |
|---|---|---|---|---|---:|
"""

COUNTED = """
## Elements that nothing tells apart

The upper end of P(A(1)) where P(A(x)) >= 0.3 of all, and P(A(x) and A(y)) <= 0.1 of any two: by slices,
by all worlds, and with as many as 1,000 others counted in one linear program. It tends to 0.5.

| people | slices | all worlds | counted | seconds |
|---:|---:|---:|---:|---:|
"""

RANDOM = """
## Random theories

{count} random theories of two to four people, half of them of many features at once, with slices that leave
most atoms out: {compared} questions compared with the whole grounding, {exact} of them exact, {none} of them
without a model; **{violations} violations**.
"""

FACTS = """
## Sparse relations

Smokers and security alerts over a random relation; questions about one element, and about two related ones.

| rules | facts | read | question | interval | status | rest | seconds |
|---|---:|---:|---|---|---|---|---:|
"""


LARGE = """
## Whole groundings

Each in a process of its own: a rule that follows given facts, grounded; and all marginals of very many atoms
by `sound`, from the text to the table. Seconds are of the processor.

| what | sentences | seconds | GB |
|---|---:|---:|---:|
"""


def example(options: Namespace) -> Iterator[str]:
    """Ask Example 1 of few people whole, and of many around the question."""
    for people, method in ((3, "factorized"), (4, "factorized"), (5, "factorized"), *_many(options)):
        lcn = parse(SMOKERS.text(people))
        for question in (*SMOKERS.questions, *CONDITIONAL):
            answer, seconds = _asked(lcn, question, options.limit, method)
            gap = max(answer.interval.lower.gap, answer.interval.upper.gap)
            warrants = {answer.interval.lower.warrant.name, answer.interval.upper.warrant.name}
            yield (
                f"| {people:,} | {_cell(question)} | {answer.interval} | {gap:.0e} | {answer.status.name} "
                f"| {'/'.join(sorted(warrants)).lower()} | {seconds:.2f} |"
            )


def _many(options: Namespace) -> Iterator[tuple[int, str]]:
    return ((people, "auto") for people in (10, 1000, options.people))


def families(options: Namespace) -> Iterator[str]:
    """Ask every family around the question and whole."""
    for family in FAMILIES:
        for question in family.questions:
            yield _family_row(family, question, options)


def _family_row(family: Family, question: str, options: Namespace) -> str:
    few, many = parse(family.text(4)), parse(family.text(options.many))
    around, whole = (_said(few, question, options.limit, m) for m in ("lifted", "factorized"))
    began = perf_counter()
    far = _said(many, question, options.limit, "lifted")
    return (
        f"| {family.name} | {_cell(question)} | {around} | {whole} | {far} | {perf_counter() - began:.2f} |"
    )


def _said(lcn: LCN, question: str, limit: float, method: str) -> str:
    try:
        answer, _ = _asked(lcn, question, limit, method)
    except (InconsistentNetwork, ImpossibleEvidence) as error:
        return type(error).__name__
    return f"{answer.interval} {answer.status.name.lower()}"


def randomly(options: Namespace) -> str:
    """Compare random theories with their whole groundings, slices being small."""
    from credalog.grounding.slices import Size
    from credalog.methods.lifted import answering

    usual, answering.SIZES = answering.SIZES, (Size(3, 0), Size(5, 1), Size(9, 1))  # type: ignore[assignment]
    counts = Counter[str]()
    for seed in range(options.theories):
        generator = np.random.default_rng(seed)
        draw = combined_theory if seed % 2 else random_theory
        theory = draw(generator, people=int(generator.integers(2, 5)))
        # A text that contradicts itself in one sentence is refused before anything is asked.
        with suppress(LanguageError):
            lcn = parse(theory.text)
            if len(lcn.variables) <= 13:
                counts.update(kind for question in theory.questions for kind in _compared(lcn, question))
    answering.SIZES = usual
    return RANDOM.format(
        count=options.theories,
        compared=counts["compared"],
        exact=counts["exact"],
        none=counts["no model"],
        violations=counts["violation"],
    )


def _compared(lcn: LCN, question: str) -> Iterator[str]:
    """Yield what a comparison shows: bounds that exclude a model, or a value that no model attains."""
    found: list[Answer | None] = []
    for method in ("lifted", "factorized"):
        try:
            found.append(lcn.query(question, method=method, timeout=2.0))
        except (InconsistentNetwork, ImpossibleEvidence):
            found.append(None)
    around, whole = found
    yield "compared"
    if around is None and whole is None:
        yield "no model"
    if around is None or whole is None:
        other = around or whole
        attained = None if other is None else (other.lower_witnessed, other.upper_witnessed)
        if attained not in (None, (None, None)):
            _complain(lcn, question, found)
            yield "violation"
        return
    if around.status.name == "EXACT":
        yield "exact"
    pairs = [(whole, around, 1e-7), (around, whole, 1e-6)]
    for one, other, slack in pairs:
        for value in (one.lower_witnessed, one.upper_witnessed):
            if value is not None and not other.lower - slack <= value <= other.upper + slack:
                _complain(lcn, question, found)
                yield "violation"


def _complain(lcn: LCN, question: str, found: Sequence[Answer | None]) -> None:
    """Write down what does not agree: it may depend on the time that there was."""
    print(lcn.unparse(), f"query {question}", sep="\n", file=sys.stderr)
    for answer in found:
        print("no model" if answer is None else json.dumps(answer.to_dict()), file=sys.stderr)


def counting(options: Namespace) -> Iterator[str]:
    """Ask about one of many who rarely agree, with and without counting."""
    rules = next(family for family in FAMILIES if family.name == "many who rarely agree")
    for people in (4, 6, 8, 20, 100, 1000, options.people):
        lcn = parse(rules.text(people))
        around = Around(Grounder(lcn.theory))
        asked = lcn.question("P(A(1))")
        assert isinstance(asked, Query)
        began = perf_counter()
        found = counted_around(around, Profiles(around), asked)
        assert found is not None
        counted, seconds = found.interval(asked, Budget.of(options.limit)), perf_counter() - began
        whole = f"{_asked(lcn, 'P(A(1))', options.limit, 'factorized')[0].upper:.6f}" if people <= 8 else ""
        slices = _without_counting(lcn, options.limit)
        yield f"| {people:,} | {slices:.6f} | {whole} | {counted.upper.bound:.6f} | {seconds:.2f} |"


def _without_counting(lcn: LCN, limit: float) -> float:
    """Return the upper end that slices alone prove."""
    lifted, asked = Lifted(Grounder(lcn.theory)), lcn.question("P(A(1))")
    lifted._counted = lambda asked, budget: VACUOUS  # type: ignore[method-assign]
    return lifted.query(asked, Options(timeout=limit)).upper


def sparse(options: Namespace) -> Iterator[str]:
    """Ask local questions about relations of many facts."""
    for count in (10_000, 100_000, options.facts):
        rng = Random(count)
        drawn = {(str(rng.randint(1, count)), str(rng.randint(1, count))) for _ in range(count)}
        facts = sorted(pair for pair in drawn if pair[0] != pair[1])
        for name, text, domain, relation, questions in SPARSE:
            began = perf_counter()
            lcn = parse(f"domain {domain} = 1..{count}\n{text}", data={relation: facts})
            read = perf_counter() - began
            for question in questions:
                asked = question.format(*facts[len(facts) // 2])
                answer, seconds = _asked(lcn, asked, options.limit, "auto")
                yield (
                    f"| {name} | {len(facts):,} | {read:.1f} | {_cell(asked)} | {answer.interval} "
                    f"| {answer.status.name} | {answer.tried[-1]} | {seconds:.2f} |"
                )


def large(options: Namespace) -> Iterator[str]:
    """Ground millions of sentences, and propagate through a million atoms."""
    for facts in (options.facts * 5 // 6, options.facts * 8):
        found = grounding.in_its_own_process("links", facts)
        seconds, size = found["ground"], found["grounded gigabytes"]
        yield f"| ground | {found['sentences']:,} | {seconds:.1f} | {size:.2f} |"
    for shape in propagation.SHAPES:
        words = [sys.executable, str(propagation.__file__), "--case", shape, str(options.facts), "sound"]
        case = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        seconds, size = case["processor"], case["gigabytes"]
        yield f"| marginals, {shape} | {case['sentences']:,} | {seconds:.1f} | {size:.2f} |"


def _asked(lcn: LCN, question: str, limit: float, method: str) -> tuple[Answer, float]:
    began = perf_counter()
    answer = lcn.query(question, timeout=limit, method=method)  # type: ignore[arg-type]
    return answer, perf_counter() - began


def _cell(question: str) -> str:
    return question.replace("|", "\\|")


def main() -> None:
    """Ask everything, and print the page."""
    parser = options_of(__doc__)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each question")
    parser.add_argument("--people", type=int, default=1_000_000, help="people of Example 1 at most")
    parser.add_argument("--many", type=int, default=5000, help="people of the families at most")
    parser.add_argument("--theories", type=int, default=800, help="random theories")
    parser.add_argument("--facts", type=int, default=1_000_000, help="facts at most")
    parser.add_argument("--large", action="store_true", help="ground and propagate millions, too")
    options = parser.parse_args()
    head = HEAD.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        limit=options.limit,
    )
    lines = [
        *example(options),
        FAMILY.format(count=len(FAMILIES), people=4, many=options.many),
        *families(options),
    ]
    lines += [COUNTED, *counting(options), randomly(options), FACTS, *sparse(options)]
    lines += [LARGE, *large(options)] if options.large else []
    text = head + "\n".join(line.rstrip("\n") if line.startswith("\n") else line for line in lines) + "\n"
    finish("first_order", text, parser, options)


if __name__ == "__main__":
    main()
