"""Contradictions: whether a network has a model, which sentences conflict if not, and what would settle it.

Input: a network. Output: `Diagnosis`: a verdict that is either proved or says that nothing is; where there
is a model, that model; where there is none, a minimal set of sentences whose bounds conflict, and the
cheapest widening of bounds that restores consistency.

A sentence does two things: it bounds a probability, and it draws arrows in the dependency graph. Only the
bound is ever dropped here. The independences stay those of the whole network; otherwise dropping a sentence
could add independences, a subset of a consistent set could be inconsistent, and "minimal" would mean nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any, Never, TypeAlias

import numpy as np

from credalog.errors import CredalogError, ProblemTooLarge, UnknownName
from credalog.methods.answer import Options, last_of
from credalog.methods.automatic import Engine
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.search import Ending, Limits, search
from credalog.methods.cliques.slices import RUNGS
from credalog.network.formulas import TRUE, Formula, Variable, conjunction
from credalog.network.polytopes import Configuration, local_polytopes
from credalog.network.sentences import Network, Query, Sentence, Source
from credalog.numbers.budget import Budget, OutOfTime, require_time, spending
from credalog.numbers.interval import End
from credalog.numbers.printed import Printed
from credalog.numbers.tolerances import TOLERANCE
from credalog.program.program import Claim, Floats, Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.questions.models import encode_tables, find_model, parts_of
from credalog.questions.repair import Cheapest, cheapest, conditions_of, conditions_said, widened_for
from credalog.questions.repair_program import POSSIBLE, Priced, silenced
from credalog.show.html import as_words
from credalog.tables.conditional import as_tables
from credalog.tables.distribution import Distribution
from credalog.text.unparse import said, unparse_formula
from credalog.theory import span
from credalog.trusted.certify import Checker

Numbered: TypeAlias = tuple[int, Sentence]

SHARE = 0.1
"""The share of the remaining time that one check of a subset may take."""

ROOT_SECONDS = 10.0
"""How long the first look for a linear proof of inconsistency may take."""

QUICK = 0.15
"""The share of the remaining time that goes into a repair which may turn out not to be enough."""

LEAST = 0.5
"""No check is given less than so many seconds, while there are."""

VERDICT_SHARE = 0.5
"""The share of the time for the verdict, and of what is left then for a minimal conflict."""


class Consistency(Enum):
    """Say whether a network has a model, and how far that is known."""

    CONSISTENT = "a model was found and checked"
    INCONSISTENT = "it is proved that there is no model"
    UNDECIDED = "not decided: no world or sparse table tried is a model, and no slice tried excludes one"


@dataclass(frozen=True, slots=True)
class Culprit:
    """A sentence of a conflict, its place among the network's, and which of its bounds take part."""

    number: int
    sentence: Sentence
    by_lower: bool
    by_upper: bool

    @property
    def bound(self) -> Sentence:
        """Return the sentence with only the bound that takes part in the conflict."""
        nothing = silenced(self.sentence)
        lower = self.sentence.lower if self.by_lower or not self.by_upper else nothing.lower
        upper = self.sentence.upper if self.by_upper or not self.by_lower else nothing.upper
        return replace(self.sentence, lower=lower, upper=upper)


@dataclass(frozen=True, slots=True, repr=False)
class Conflict(Printed):
    """Sentences whose bounds no distribution with the network's independences satisfies together.

    That they conflict is proved. `is_minimal` says that every smaller set was shown to have a model;
    otherwise some check ended undecided, and a smaller conflict may exist.
    """

    culprits: tuple[Culprit, ...]
    is_minimal: bool

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """Return the sentences in the order of the network."""
        return tuple(culprit.sentence for culprit in self.culprits)

    @property
    def summary(self) -> str:
        """Say what is proved of these sentences."""
        if len(self.culprits) == 1:
            return "This sentence alone contradicts the rest of the network's structure"
        fewer = "without any one of them the others do not"
        return (
            f"These {len(self.culprits)} bounds contradict each other; "
            f"{fewer if self.is_minimal else 'whether fewer of them do was not decided'}"
        )

    def __str__(self) -> str:
        return f"{self.summary}: {'; '.join(said(culprit.bound) for culprit in self.culprits)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the sentences, and which of their bounds take part."""
        sentences = [
            {**c.sentence.to_dict(), "by_lower": c.by_lower, "by_upper": c.by_upper} for c in self.culprits
        ]
        return {"is_minimal": self.is_minimal, "sentences": sentences}

    def _repr_html_(self) -> str:
        rows = [(culprit.sentence.name, said(culprit.bound)) for culprit in self.culprits]
        return as_words(("sentence", "bound"), rows, heading=f"{self.summary}:")


@dataclass(frozen=True, slots=True, repr=False)
class Change(Printed):
    """A sentence before and after a repair."""

    before: Sentence
    after: Sentence

    @property
    def widening(self) -> Fraction:
        """Return by how much both bounds together have given way."""
        return (self.before.lower - self.after.lower) + (self.after.upper - self.before.upper)

    def __str__(self) -> str:
        return f"{said(self.before)} becomes {said(self.after)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence as it was, with its new bounds."""
        bounds = {"lower": float(self.after.lower), "upper": float(self.after.upper)}
        return {**self.before.to_dict(), **bounds}


@dataclass(frozen=True, slots=True, repr=False)
class Repair(Printed):
    """Changes after which the network has a model, their price, and the least that any repair costs.

    The price adds up the widenings, each times the weight of its sentence. `at_least` is proved. `is_checked`
    says that a model of the whole repaired network was found; otherwise only its conflicts are gone.
    `possible` are the conditions of the sentences in conflict: a repair leaves each a little probability.
    """

    changes: tuple[Change, ...]
    price: float
    at_least: float
    is_checked: bool
    possible: tuple[Formula, ...] = ()

    @property
    def gap(self) -> float:
        """Return how much cheaper another repair might be."""
        return max(0.0, self.price - self.at_least)

    @property
    def proviso(self) -> str:
        """Say which conditions every repair leaves possible; nothing where there are none."""
        conditions = ", ".join(map(unparse_formula, self.possible))
        proviso = f"Only repairs count that leave a probability of {POSSIBLE:g} to {conditions}."
        return proviso if conditions else ""

    def __str__(self) -> str:
        return f"a repair at a price of {self.price:.6g}: {'; '.join(map(str, self.changes))}"

    def to_dict(self) -> dict[str, Any]:
        """Return the changes, their price, and what is proved of it."""
        return {
            "price": self.price,
            "at_least": self.at_least,
            "is_checked": self.is_checked,
            "possible": [unparse_formula(given) for given in self.possible],
            "changes": [change.to_dict() for change in self.changes],
        }

    def _repr_html_(self) -> str:
        rows = [
            (one.before.name, said(one.before), said(one.after), f"{float(one.widening):.6g}")
            for one in self.changes
        ]
        doubt = "" if self.is_checked else " That a model then exists was not confirmed in time."
        return as_words(
            ("sentence", "says", "becomes", "wider by"),
            rows,
            heading=f"Widening bounds at a price of {self.price:.6g} settles it.",
            note=f"No repair costs less than {self.at_least:.6g}.{doubt} {self.proviso}".strip(),
        )


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis(Printed):
    """The verdict on a network with its evidence: a model, or a conflict and what would settle it.

    Where the user stopped the work, `is_interrupted` says so, and what was not found yet is missing.
    """

    verdict: Consistency
    model: Distribution | None = None
    conflict: Conflict | None = None
    repair: Repair | None = None
    seconds: float = field(default=0.0, compare=False)
    is_interrupted: bool = False

    def __bool__(self) -> Never:
        raise CredalogError(
            "a diagnosis is neither true nor false",
            advice=f'Look at its verdict: diagnosis.verdict.name == "{self.verdict.name}".',
        )

    def __str__(self) -> str:
        parts = (self.verdict.value, self.conflict, self.repair)
        return ". ".join(str(part) for part in parts if part is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "verdict": self.verdict.name,
            "model": None if self.model is None else as_tables(self.model),
            "conflict": None if self.conflict is None else self.conflict.to_dict(),
            "repair": None if self.repair is None else self.repair.to_dict(),
            "is_interrupted": self.is_interrupted,
            "seconds": self.seconds,
        }

    def _repr_html_(self) -> str:
        verdict = f"<p>{self.verdict.name.capitalize()}: {self.verdict.value} ({self.seconds:.2f} s).</p>"
        found = [part._repr_html_() for part in (self.conflict, self.repair) if part is not None]
        return "\n".join([verdict, *found])


def diagnose(
    network: Network, options: Options = Options(), *, weights: Mapping[str, float] | None = None
) -> Diagnosis:
    """Decide whether a network has a model, and if not, say why and what would help.

    The weights are prices of widening, by label, file or line; infinity forbids it.
    """
    budget = Budget.of(options.timeout)
    with spending(budget):
        stages = _diagnoses(network, options, weights or {}, budget)
        known, is_interrupted = last_of(stages, Diagnosis(Consistency.UNDECIDED))
    return replace(known, seconds=budget.elapsed, is_interrupted=is_interrupted)


def _diagnoses(
    network: Network, options: Options, weights: Mapping[str, float], budget: Budget
) -> Iterator[Diagnosis]:
    """Yield what is known, more each time: the verdict, a model; or a conflict, then ever cheaper repairs."""
    prices = _prices(network, weights) if weights else None
    engine = Engine(network, options.markov)
    has_model = engine.is_consistent(options, budget.share(VERDICT_SHARE))
    if has_model is None and any(_is_empty(one, budget) for one in _windows(engine, budget.share(0.8))):
        has_model = False
    if has_model is None:
        yield Diagnosis(Consistency.UNDECIDED)
    elif has_model:
        yield Diagnosis(Consistency.CONSISTENT)
        yield Diagnosis(Consistency.CONSISTENT, model=find_model(engine, budget))
    else:
        yield Diagnosis(Consistency.INCONSISTENT)
        found = _minimal_conflict(_Checks(network, options, budget.share(VERDICT_SHARE)))
        yield Diagnosis(Consistency.INCONSISTENT, conflict=found)
        prices = prices or _prices(network, weights)
        for settled in _Repairs(network, options, prices, budget).run(found):
            yield Diagnosis(Consistency.INCONSISTENT, conflict=found, repair=settled)


def conflict(network: Network, options: Options = Options()) -> Conflict | None:
    """Find a minimal conflict in a network; None where it is not proved inconsistent."""
    checks = _Checks(network, options, Budget.of(options.timeout))
    is_contradictory = checks.verdict(checks.whole, share=1.0) is False
    return _minimal_conflict(checks) if is_contradictory else None


def _minimal_conflict(checks: _Checks) -> Conflict:
    """Find a minimal conflict in a network that is proved inconsistent."""
    left = checks.filter(checks.hinted(checks.whole))
    is_minimal = checks.is_minimal
    sides = checks.filter(tuple(_sides(left)))
    return Conflict(tuple(_culprits(checks.network, sides)), is_minimal)


class _Checks:
    """Decide subsets of a network's sentences, each with its number, under its own dependency graph.

    `is_minimal` tells of the last set that was filtered whether every smaller one was shown to have a model.
    """

    def __init__(self, network: Network, options: Options, budget: Budget) -> None:
        self.network = network
        self.whole = tuple(enumerate(network.sentences))
        self.options = options
        self.budget = budget
        self.is_minimal = True

    def verdict(self, numbered: Sequence[Numbered], share: float = SHARE) -> bool | None:
        """Tell whether some sentences have a model; None where that is not known."""
        if self.budget.is_spent:
            return None
        budget = self.budget.share(share, least=LEAST)
        part = replace(self.network, sentences=tuple(sentence for _, sentence in numbered))
        engine = Engine(part, self.options.markov, frame=self.network)
        return engine.is_consistent(replace(self.options, report=None), budget)

    def filter(self, numbered: Sequence[Numbered]) -> tuple[Numbered, ...]:
        """Drop from an inconsistent set whatever can be dropped, in ever smaller groups.

        A group is dropped only where the rest is proved inconsistent, so the rest always is. A single
        sentence is kept where the rest without it has a model; every later, smaller rest then has one too,
        which is why one pass makes the result minimal. What could not be decided on the way is tried once
        more, now that the set is small.
        """
        needed, doubtful = self._filtered(list(numbered), [list(numbered)])
        needed, doubtful = self._filtered(needed, [[one] for one in reversed(doubtful)])
        self.is_minimal = not doubtful
        return tuple(needed)

    def _filtered(
        self, needed: list[Numbered], groups: list[list[Numbered]]
    ) -> tuple[list[Numbered], list[Numbered]]:
        """Drop groups, the last first; return what is needed, and which of it may not be."""
        doubtful = list[Numbered]()
        while groups:
            if self.budget.is_spent:
                return needed, needed
            group = groups.pop()
            dropped = set(map(id, group))
            rest = [one for one in needed if id(one) not in dropped]
            verdict = self.verdict(rest) if rest else True
            if verdict is False:
                needed = rest
            elif len(group) > 1:
                middle = len(group) // 2
                groups += [group[:middle], group[middle:]]
            elif verdict is None:
                doubtful += group
        return needed, doubtful

    def hinted(self, numbered: Sequence[Numbered]) -> Sequence[Numbered]:
        """Return the sentences on which a linear proof of inconsistency rests, if there is one."""
        engine = Engine(self.network, self.options.markov)
        attribution = Attribution(engine)
        budget = self.budget.share(VERDICT_SHARE)
        for encoding in _outer_programs(engine, budget):
            claim = _relaxed(encoding, budget.at_most(ROOT_SECONDS))
            is_empty = claim.outcome is Outcome.INFEASIBLE
            used = attribution.weights(encoding, claim.multipliers) if is_empty else {}
            hint = [(number, sentence) for number, sentence in numbered if number in used]
            if hint and self.verdict(hint) is False:
                return hint
        return numbered


def _outer_programs(engine: Engine, budget: Budget) -> Iterator[Encoding]:
    """Yield programs that hold every model: the tables of each part where they are small, then windows."""
    for part in parts_of(engine.problem):
        with suppress(ProblemTooLarge):
            if part.statements:
                yield encode_tables(part, budget=budget)
    yield from _windows(engine, budget)


def _windows(engine: Engine, budget: Budget) -> Iterator[Encoding]:
    """Yield a small slice around each sentence while there is time, at first one of each rule."""
    alike = Counter[Source | None]()
    ranked = list[tuple[int, int]]()
    for number, sentence in enumerate(engine.network.sentences):
        ranked.append((alike[sentence.source], number))
        alike[sentence.source] += 1
    for _, number in sorted(ranked):
        if budget.is_spent:
            return
        sentence = engine.network.sentences[number]
        asked = Query(conjunction(claim for _, claim in sentence.claims), sentence.given)
        with suppress(ProblemTooLarge, OutOfTime):
            yield engine.part(asked).encode_slice(asked, RUNGS[0], budget)[0]


def _relaxed(encoding: Encoding, budget: Budget) -> Claim:
    """Solve the linear relaxation of a program, whatever the objective."""
    box, objective = encoding.program.ratios.box, encoding.objective(TRUE, TRUE)
    return Relaxation(encoding.program).minimize(objective, box, timeout=budget.for_solver)[0]


def _is_empty(encoding: Encoding, budget: Budget) -> bool:
    """Tell whether it is proved that a program has no point."""
    limits = Limits(TOLERANCE, budget, root_only=True, attains=False)
    found = search(encoding, encoding.objective(TRUE, TRUE), limits, end=End.UPPER)
    return found.ending is Ending.EMPTY and found.warrant is Checker.warrant


def _sides(numbered: Sequence[Numbered]) -> Iterator[Numbered]:
    """Split each sentence into one for each bound that says something."""
    for number, sentence in numbered:
        nothing = silenced(sentence)
        if sentence.lower > nothing.lower:
            yield number, replace(sentence, upper=nothing.upper)
        if sentence.upper < nothing.upper:
            yield number, replace(sentence, lower=nothing.lower)


def _culprits(network: Network, sides: Sequence[Numbered]) -> Iterator[Culprit]:
    """Put the bounds of each sentence together again."""
    for number in dict.fromkeys(number for number, _ in sides):
        sentence = network.sentences[number]
        if _is_added(sentence):
            continue
        low, high = span(sentence.claims)
        own = [side for n, side in sides if n == number]
        by_lower = any(side.lower == sentence.lower > low for side in own)
        by_upper = any(side.upper == sentence.upper < high for side in own)
        yield Culprit(number, sentence, by_lower, by_upper)


def repair(
    network: Network,
    options: Options = Options(),
    *,
    known: Conflict | None = None,
    weights: Mapping[str, float] | None = None,
    forbidden: frozenset[int] = frozenset(),
) -> Repair | None:
    """Find the cheapest widening that gives a network a model; None where none was found.

    The weights are prices of widening, by label, file or line; infinity forbids it, as it does for the
    sentences with forbidden numbers. The cheapest repair of
    the sentences of one conflict may leave another: these then join, until the repaired network has a model.
    What some of the sentences cost at least, all of them do.
    """
    budget = Budget.of(options.timeout)
    prices = [inf if n in forbidden else price for n, price in enumerate(_prices(network, weights or {}))]
    share = budget.share(VERDICT_SHARE).remaining
    found = conflict(network, replace(options, timeout=share)) if known is None else known
    *_, best = (None, *_Repairs(network, options, prices, budget).run(found))
    return best


class _Repairs:
    """The repair of a growing set of sentences; `best` settles the whole network, `at_least` is proved."""

    def __init__(self, network: Network, options: Options, prices: Sequence[float], budget: Budget) -> None:
        self.network = network
        self.options = options
        self.prices = prices
        self.budget = budget
        self.engine = Engine(network, options.markov)
        self.everything = frozenset(range(len(network.sentences)))
        self.possible: tuple[Formula, ...] = ()
        self.at_least = 0.0
        self.best: Repair | None = None

    def run(self, conflict: Conflict | None) -> Iterator[Repair | None]:
        """Yield ever better repairs of a conflict and of those that its repair leaves, the best last."""
        if conflict is None:
            return
        numbers = frozenset(culprit.number for culprit in conflict.culprits)
        found = self._cheapest(numbers, QUICK)
        while True:
            self.at_least = max(self.at_least, found.bound)
            left = self._conflict(numbers, found)
            if not left:
                break
            if numbers == self.everything or found.bound == inf:
                yield self.best
                return
            is_late = self.budget.is_spent or left <= numbers
            numbers = self.everything if is_late else numbers | left
            found = self._cheapest(numbers, QUICK)
        yield self.best
        yield self._refined(numbers, found)

    def _refined(self, numbers: frozenset[int], found: Cheapest) -> Repair:
        """Spend the time that is left on a cheaper repair of the same sentences, and on its proof."""
        if found.price - found.bound > self.options.tolerance:
            found = self._cheapest(numbers, 1.0)
            self.at_least = max(self.at_least, found.bound)
            self._conflict(numbers, found)
        assert self.best is not None
        return replace(self.best, at_least=min(self.at_least, self.best.price))

    def _cheapest(self, numbers: frozenset[int], share: float) -> Cheapest:
        chosen = [(self.network.sentences[n], self.prices[n]) for n in sorted(numbers)]
        budget = self.budget.share(share, least=LEAST)
        self.possible = conditions_of(self.network, (sentence for sentence, _ in chosen), budget)
        return cheapest(
            self.engine,
            [Priced(sentence, price) for sentence, price in chosen if price < inf],
            [sentence for sentence, price in chosen if price == inf],
            self.possible,
            tolerance=self.options.tolerance,
            budget=budget,
        )

    def _conflict(self, numbers: frozenset[int], found: Cheapest) -> frozenset[int]:
        """Return the sentences that conflict after a repair; where none do, keep it if it is cheaper."""
        if found.distribution is None:
            return self.everything
        repaired = self._repaired(numbers, found.distribution)
        checks = _Checks(repaired, self.options, self.budget)
        verdict = checks.verdict(checks.whole, share=1.0)
        if verdict is False:
            return frozenset(number for number, _ in checks.filter(checks.hinted(checks.whole)))
        result = self._result(repaired, is_checked=verdict is True)
        if self.best is None or result.price < self.best.price:
            self.best = result
        return frozenset()

    def _repaired(self, numbers: frozenset[int], model: Distribution) -> Network:
        sentences = (
            widened_for(model, s) if n in numbers and self.prices[n] < inf else s
            for n, s in enumerate(self.network.sentences)
        )
        return replace(self.network, sentences=tuple(sentences))

    def _result(self, repaired: Network, *, is_checked: bool) -> Repair:
        pairs = enumerate(zip(self.network.sentences, repaired.sentences, strict=True))
        changes = {n: Change(before, after) for n, (before, after) in pairs if before != after}
        price = sum(self.prices[n] * float(change.widening) for n, change in changes.items())
        possible = conditions_said(self.network.sentences, self.possible)
        return Repair(tuple(changes.values()), price, min(self.at_least, price), is_checked, possible)


def _prices(network: Network, weights: Mapping[str, float]) -> tuple[float, ...]:
    """Return what widening each sentence by one costs: the weight of its label, line or file, else 1."""
    named = network.sentences if weights else ()
    known = {name for sentence in named for name in _names(sentence)}
    for name, weight in weights.items():
        if name not in known:
            raise UnknownName(
                f"no sentence has the label, the place or the file {name}",
                advice="Weights go by label, by place such as expert.lcn:3, or by file.",
            )
        if not weight > 0.0:
            raise CredalogError(
                f"the weight {weight} of {name} is not positive",
                advice="Give a number above 0; inf protects a sentence.",
            )
    return tuple(inf if _is_added(one) else _weight(one, weights) for one in network.sentences)


def _weight(sentence: Sentence, weights: Mapping[str, float]) -> float:
    return next((weights[n] for n in _names(sentence) if n in weights), 1.0) if weights else 1.0


def _is_added(sentence: Sentence) -> bool:
    """Tell whether a sentence only says what a variable stands for that nobody wrote."""
    require_time()
    return any(v.name.startswith("<") for v in sentence.scope) and not _names(sentence)


def _names(sentence: Sentence) -> tuple[str, ...]:
    """Return what a sentence may be called, the most particular first: its label, its place, its file."""
    if sentence.source is None:
        return (sentence.label,) if sentence.label else ()
    sources = (sentence.source, replace(sentence.source, rows=()), *sentence.source.rows)
    pairs = [(source, replace(source, file=Path(source.file).name)) for source in sources]
    places = [str(source) for pair in pairs for source in pair]
    files = [source.file for pair in pairs for source in pair]
    return tuple(name for name in (sentence.label, *places, *files) if name)


# ---- which sentences a proof rests on ---------------------------------------------------------------------
# Which sentences a linear program's proof rests on.
# Input: an encoding and the multipliers of a proof, of a bound or of infeasibility. Output: a weight for
# each sentence that the proof uses. A sentence without weight is not needed by this proof: what it proves
# holds without the sentence too.
#
# Statements have rows of their own. What is local to theta(x | configuration) shows only in the range of a
# ratio and in rows inside its clique, so its sentences share those weights.

SILENT = 1e-9
"""A multiplier below this is a rounding error."""


@dataclass(frozen=True, slots=True)
class _Parents:
    parent_indices: tuple[tuple[int, ...], ...]


class Attribution:
    """The way back from the rows of a network's programs to its sentences, by number."""

    def __init__(self, engine: Engine) -> None:
        structure = engine.problem.structure
        assessment = local_polytopes(engine.network, _Parents(structure.parents))
        self._at: dict[tuple[Variable, Configuration], list[int]] = defaultdict(list)
        self._about: dict[Variable, list[int]] = defaultdict(list)
        for number, places in enumerate(assessment.places):
            for x, configuration in places:
                self._at[engine.problem.variables[x], configuration].append(number)
            for x in {x for x, _ in places}:
                self._about[engine.problem.variables[x]].append(number)

    def weights(self, encoding: Encoding, multipliers: Floats) -> Mapping[int, float]:
        """Return the weight of every sentence that multipliers use."""
        program = encoding.program
        contexts = len(program.ratios.of)
        ends = np.cumsum([program.inequalities.shape[0], contexts, contexts])
        stated, low, high, rest = np.split(multipliers, ends)
        found: dict[int, float] = defaultdict(float)
        for origin, weight in zip(program.inequality_origin, stated, strict=True):
            found[origin] += max(float(weight), 0.0)
        for origin, weight in zip(program.equality_origin, rest[:-1], strict=True):
            found[origin] += abs(float(weight))
        self._add_ratios(found, encoding, low, high)
        self._add_contexts(found, encoding, stated)
        return {number: weight for number, weight in sorted(found.items()) if number >= 0 and weight > SILENT}

    def _add_ratios(self, found: dict[int, float], encoding: Encoding, low: Floats, high: Floats) -> None:
        ratios, problem = encoding.program.ratios, encoding.problem
        used = np.bincount(ratios.of, np.maximum(low, 0.0) + np.maximum(high, 0.0), len(ratios.lower))
        for ratio in np.flatnonzero(used > SILENT):
            key = encoding.keys[ratio]
            if len(key.left) == 1 and key.given == problem.structure.parents[key.left[0]]:
                for number in self._at.get((problem.variables[key.left[0]], key.configuration), ()):
                    found[number] += float(used[ratio])

    def _add_contexts(self, found: dict[int, float], encoding: Encoding, stated: Floats) -> None:
        """Add rows without an origin to whatever is local to the variable whose clique they stand in."""
        program = encoding.program
        anonymous = np.array([origin < 0 for origin in program.inequality_origin], dtype=bool)
        for row in np.flatnonzero(anonymous & (stated > SILENT)):
            column = program.inequalities.indices[program.inequalities.indptr[row]]
            clique = next(i for i, columns in enumerate(encoding.columns) if column in columns)
            for x in encoding.factorization.cliques[clique].block:
                for number in self._about.get(encoding.problem.variables[x], ()):
                    found[number] += float(stated[row])
