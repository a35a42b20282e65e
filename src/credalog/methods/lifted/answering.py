"""Answer questions about a theory without grounding it whole.

Input: a theory and a query. Output: an `Answer` whose bounds come from slices of growing size, and whose
attained values come from models of the whole grounding in which all but a few atoms are certain or free.
Bounds and values meet or the time is up; `tried` says what was done, and whether the rest is known to have a
model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TypeAlias

from credalog.errors import ImpossibleEvidence, InconsistentNetwork, ProblemTooLarge
from credalog.grounding.neighbourhood import Around
from credalog.grounding.network import Grounder
from credalog.grounding.profiles import Profiles
from credalog.grounding.schema import Schema, schema_of
from credalog.grounding.slices import Size, Slice, ancestry, frame_of, parents_of, slice_around, tied_among
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.methods.lifted.copies import Coins, Copies, coins_of, copies_of
from credalog.methods.lifted.extensions import Carried
from credalog.methods.lifted.models import Leaning, Residue, Straddling, straddling
from credalog.methods.lifted.orbits import counted_around
from credalog.methods.lifted.outside import Cell, Rest
from credalog.methods.progress import bounds_alone, values_alone
from credalog.methods.reduction import scale_of
from credalog.network.expressions import Question
from credalog.network.formulas import And, Formula, Variable, conjunction, scope, truth_table
from credalog.network.graph import Markov
from credalog.network.sentences import Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import VACUOUS, Interval, Status, vacuous

__all__ = ["DECIDED", "MOST_ASKED", "UNDECIDED", "Ask", "Lifted", "Rests", "Stage", "nearby"]

Ask: TypeAlias = Callable[[Engine, Question, Options], Answer]
"""How a network that is cut out of a theory is asked."""

SIZES = (
    Size(12, 0, is_ancestral=True),
    Size(8, 0),
    Size(16, 1),
    Size(24, 2),
    Size(48, 4),
    Size(96, 6),
    Size(192, 6),
)
"""The slices that are tried one after the other; a question may add its own atoms to each."""

BOUND_SHARE, MODEL_SHARE = 0.3, 0.3
"""The shares of the time left for the bounds of one slice, and for its models."""

MOST_ANCESTORS = 300
"""A question with more ancestors than this is asked of slices that leave some out."""

FEW_ANCESTORS = 24
"""With more ancestors than this, slices that leave some out are asked, too."""

ANCESTRY_SHARES = 0.1, 0.5
"""The shares of the time left for many ancestors, before the first slice and after it."""

COUNTED = "elements that nothing tells apart, counted"
MODELS = "models in which all other atoms are certain, coins, copies or free"
DECIDED = "the rest has a model"
UNDECIDED = "whether the rest has a model was not decided"


def ask_probability(engine: Engine, asked: Question, options: Options) -> Answer:
    """Ask an engine for one probability."""
    assert isinstance(asked, Query)
    return engine.query(asked, options)


class _Heard:
    """Ask, and remember whether the user stopped the work: what is joined here does not tell."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.is_interrupted = False

    def __call__(self, engine: Engine, asked: Question, options: Options) -> Answer:
        found = self._ask(engine, asked, options)
        self.is_interrupted |= found.interrupted
        return found


@dataclass(frozen=True, slots=True)
class Stage:
    """A slice, and what is said of its atoms where the rest is certain."""

    slice: Slice
    rests: Rests
    straddling: Straddling | None


class Lifted:
    """A theory made ready for questions about a few of its atoms."""

    def __init__(self, grounder: Grounder, markov: Markov = Markov.LOCAL) -> None:
        self.around = Around(grounder)
        self.markov = markov
        self._rests: dict[frozenset[str], Rests] = {}

    @cached_property
    def schema(self) -> Schema:
        """Return which predicates depend on which."""
        return schema_of(self.around.rules)

    @cached_property
    def _profiles(self) -> Profiles:
        return Profiles(self.around)

    def rests(self, bound: frozenset[str] = frozenset()) -> Rests:
        """Return how everything outside a slice can be completed, some predicates not being free."""
        if bound not in self._rests:
            rest = Rest(self.around, self.schema, self._profiles, bound)
            self._rests[bound] = Rests(rest, self.markov)
        return self._rests[bound]

    def query(self, asked: Question, options: Options, ask: Ask = ask_probability) -> Answer:
        """Bound a question over all models of the whole grounding: a probability, or what `ask` can."""
        budget, tried = Budget.of(options.timeout), dict[str, None]()
        interval = VACUOUS if isinstance(asked, Query) else vacuous(scale_of(asked))
        telling, heard = options.telling(asked, interval.scale), _Heard(ask)
        options = replace(options, report=telling)
        for what, found in self._findings(asked, options, budget, heard):
            tried[what] = None
            interval = interval.joined(found)
            if what == COUNTED:
                telling.tell_both(interval, stage=COUNTED)
            if heard.is_interrupted or interval.status(options.tolerance) is Status.EXACT:
                break
        has_model = interval.lower.witnessed is not None or interval.upper.witnessed is not None
        tried[DECIDED if has_model else UNDECIDED] = None
        status = interval.status(options.tolerance)
        seconds, tried_all = budget.elapsed, tuple(tried)
        return Answer(asked, interval, status, "lifted", seconds, heard.is_interrupted, tried_all)

    def _findings(
        self, asked: Question, options: Options, budget: Budget, ask: Ask
    ) -> Iterator[tuple[str, Interval]]:
        """Yield what is found, and how: quick bounds, then slices and models one after the other."""
        for found in self._far_away(asked, options, budget.share(BOUND_SHARE), ask):
            yield "a slice without the evidence far away", found
        ancestral = self._of_ancestors(asked, options, budget, ask)
        yield from islice(ancestral, 1)
        is_first = True
        for stage in self.stages(asked, budget) if not budget.is_spent else ():
            size = len(stage.slice.network.variables)
            share = budget.share(BOUND_SHARE)
            yield f"a slice of {size} atoms", self._bounded(stage.slice, asked, options, share, ask)
            for found in self._attained(stage, asked, options, budget.share(MODEL_SHARE), ask):
                yield MODELS, found
            if budget.is_spent:
                return
            if is_first:
                yield COUNTED, self._counted(asked, budget.share(BOUND_SHARE))
                yield from ancestral
            is_first = False

    def _far_away(self, asked: Question, options: Options, budget: Budget, ask: Ask) -> Iterator[Interval]:
        """Yield bounds of a probability that hold whatever evidence far away does."""
        if self.markov is Markov.NONE or not isinstance(asked, Query):
            return
        near = nearby(self.around, self.schema, asked, budget)
        if near is not None:
            yield self._bounded(near[0], near[1], options, budget, ask)

    def _of_ancestors(
        self, asked: Question, options: Options, budget: Budget, ask: Ask
    ) -> Iterator[tuple[str, Interval]]:
        """Yield answers of a question and its ancestors where all else follows any model of these.

        If they are many, the first gets little time, and whoever wants the second has tried slices before.
        """
        if not self._extends:
            return
        found = ancestry(self.around, self.schema, asked, most=MOST_ANCESTORS, budget=budget)
        if found is None:
            return
        size, engine = len(found.network.variables), self.engine(found)
        for share in (1.0,) if size <= FEW_ANCESTORS else ANCESTRY_SHARES:
            limited = replace(options, method="auto", timeout=budget.share(share).for_solver)
            what = f"all {size} ancestors, and a law for whatever depends on them"
            yield what, ask(engine, asked, limited).interval

    @cached_property
    def _extends(self) -> bool:
        """Tell whether any model of some atoms and all their ancestors is one of the whole grounding."""
        # The inner law of components is not looked at here, and declared independences reach anywhere.
        if self.markov is Markov.GLOBAL or self.around.theory.independences:
            return False
        carried = Carried(self.around, self.schema)
        return all(carried.holds(name) for name in self.rests().rest.certain)

    def _counted(self, asked: Question, budget: Budget) -> Interval:
        """Bound a probability by many elements that nothing tells apart."""
        if not isinstance(asked, Query):
            return vacuous(scale_of(asked))
        found = counted_around(self.around, self._profiles, asked)
        return VACUOUS if found is None else found.interval(asked, budget)

    def stages(self, asked: Question, budget: Budget) -> Iterator[Stage]:
        """Yield slices of growing size, as long as they grow; of a question with too much evidence none."""
        before: frozenset[object] = frozenset()
        if len(asked.scope) > MOST_ASKED:
            return
        for size in SIZES:
            wide = replace(size, atoms=size.atoms + len(asked.scope))
            found = slice_around(self.around, self.schema, asked, wide, budget)
            atoms = frozenset(found.network.variables)
            if atoms == before:
                continue
            before = atoms
            yield self._stage(found)

    def _stage(self, found: Slice) -> Stage:
        """Gather what is said of a slice's atoms; predicates that they lean on are not free outside."""
        bound = frozenset[str]()
        # The inner law of components is not looked at here, and declared independences reach anywhere.
        if self.markov is Markov.GLOBAL or self.around.theory.independences:
            return Stage(found, self.rests(), None)
        while True:
            rests = self.rests(bound)
            try:
                held = straddling(self.around, rests.rest, found.network.variables)
                return Stage(found, rests, held)
            except Leaning as leaning:
                bound |= leaning.names

    def engine(self, found: Slice) -> Engine:
        """Return the engine of a slice: what holds under the local condition holds under the global one."""
        markov = Markov.NONE if self.markov is Markov.NONE else Markov.LOCAL
        return Engine(found.network, markov, found.frame)

    def _bounded(self, near: Slice, asked: Question, options: Options, budget: Budget, ask: Ask) -> Interval:
        """Bound a query by one slice: what attains the slice's bounds need not be a model of the whole."""
        telling = options.telling(asked).through(bounds_alone, scale=scale_of(asked))
        limited = replace(options, method="auto", timeout=budget.for_solver, report=telling)
        return bounds_alone(ask(self.engine(near), asked, limited).interval)

    def _attained(
        self, stage: Stage, asked: Question, options: Options, budget: Budget, ask: Ask
    ) -> Iterator[Interval]:
        """Yield what models of the whole attain, one world of the rest after the other."""
        for residue in self.residues(stage, asked, budget):
            with suppress(InconsistentNetwork, ImpossibleEvidence, ProblemTooLarge):
                telling = options.telling(asked).through(values_alone, scale=scale_of(asked))
                seconds = budget.share(0.5).for_solver
                limited = replace(options, method="auto", timeout=seconds, report=telling)
                engine = Engine(residue.network, self.markov, residue.frame)
                yield values_alone(ask(engine, asked, limited).interval)

    def residues(self, stage: Stage, asked: Question, budget: Budget) -> Iterator[Residue]:
        """Yield what is left of a slice in worlds of the rest, then in rests of coins and of copies."""
        if stage.straddling is None:
            return
        rests = stage.rests
        for cells in rests.worlds:
            residue = None if budget.is_spent else stage.straddling.residue(rests.rest, cells)
            if residue is not None:
                yield residue
        for coins in rests.coins:
            if not budget.is_spent:
                yield stage.straddling.tossed(coins)
        for copies, cells in rests.copies:
            residue = None if budget.is_spent else stage.straddling.copied(rests.rest, cells, copies, asked)
            if residue is not None:
                yield residue


# ---- rests ------------------------------------------------------------------------------------------------
# The rests that are tried around a slice.
# Input: what is free outside a slice, and what is not. Output: `Rests`: worlds of the cells that are not
# free, coins, and copies, each found once for all slices that have the same free predicates
# (docs/proofs.md, proofs 18 and 19).

MOST_WORLDS = 6
"""In so many worlds of the rest models are sought."""


class Rests:
    """Laws of everything outside a slice."""

    def __init__(self, rest: Rest, markov: Markov) -> None:
        self.rest = rest
        self._markov = markov

    @cached_property
    def worlds(self) -> tuple[dict[Cell, str], ...]:
        """Return values of the cells: as many false as can be, as many true, and some between."""
        certain = self.rest.certain
        orders = [[False] * len(certain), [True] * len(certain)]
        orders += [[name == other for other in certain] for name in certain]
        found: dict[tuple[tuple[Cell, str], ...], dict[Cell, str]] = {}
        for order in orders:
            for cells in islice(self.rest.worlds(order), 2):
                found.setdefault(tuple(sorted(cells.items(), key=repr)), cells)
            if len(found) >= MOST_WORLDS:
                break
        return tuple(found.values())

    @cached_property
    def coins(self) -> tuple[Coins, ...]:
        """Return rests of coins; where no condition keeps a slice apart from them, they stand for none."""
        return () if self._markov is Markov.NONE else coins_of(self.rest)

    @cached_property
    def copies(self) -> tuple[tuple[Copies, dict[Cell, str]], ...]:
        """Return rests in which the atoms of some predicates are copies: of all not free, or of one."""
        certain = self.rest.certain
        chosen = [frozenset(certain), *(frozenset((name,)) for name in certain)]
        found: list[tuple[Copies, dict[Cell, str]]] = []
        for names in dict.fromkeys(chosen):
            copies = copies_of(self.rest, names) if names else None
            for order in ([False] * len(certain), [True] * len(certain)) if copies is not None else ():
                for cells in islice(self.rest.worlds(order, names), 1):
                    if copies is not None and all(cells != known for c, known in found if c is copies):
                        found.append((copies, cells))
        return tuple(found)


# ---- observed ---------------------------------------------------------------------------------------------
# Bounds in the presence of observations that are too far away, or too many, to take part.
# Input: a theory read backwards and a query with evidence. Output: a slice around what is asked for and the
# question to put to it: its bounds hold whatever is observed elsewhere (docs/proofs.md, proof 17). Kept is
# only what far evidence cannot change: the probabilities of an atom in each configuration of its parents,
# where no far observation may descend from the atom.

MOST_ASKED = 100
"""Questions about more atoms than this, with their evidence, are asked with the evidence nearby only."""

NEAR = Size(12, 0, is_ancestral=True)


def nearby(around: Around, schema: Schema, asked: Query, budget: Budget) -> tuple[Slice, Query] | None:
    """Return what bounds a question under evidence that is mostly far away; None where nothing is far."""
    claimed = scope(asked.claim)
    size = replace(NEAR, atoms=NEAR.atoms + len(claimed))
    found = slice_around(around, schema, Query(asked.claim), size, budget)
    inside = frozenset(found.network.variables)
    parts = asked.given.operands if isinstance(asked.given, And) else (asked.given,)
    near = [part for part in parts if inside.issuperset(scope(part))]
    far = frozenset(v for part in parts for v in scope(part) if part not in near)
    if not far or not far.isdisjoint(inside):
        return None
    return _unmoved(around, schema, found, far), Query(asked.claim, conjunction(near))


def _unmoved(around: Around, schema: Schema, found: Slice, far: frozenset[Variable]) -> Slice:
    """Keep of a slice what evidence elsewhere leaves as it is."""
    atoms = found.network.variables
    families = {v: parents_of(around, schema, v, frozenset(atoms)) for v in atoms}
    tied = tied_among(schema, atoms, found.open_atoms, far)
    kept = {v: parents for v, parents in families.items() if parents is not None and v not in tied}
    sentences = tuple(s for s in found.network.sentences if _is_unmoved(s, kept))
    network = replace(found.network, sentences=sentences)
    return Slice(network, frame_of(network, kept, tied), frozenset(tied))


def _is_unmoved(sentence: Sentence, kept: Mapping[Variable, frozenset[Variable]]) -> bool:
    """Tell whether a sentence is about one kept atom in one configuration of its parents."""
    if len(sentence.claim_scope) != 1 or sentence.claim_scope[0] not in kept:
        return False
    parents = kept[sentence.claim_scope[0]]
    return parents == frozenset(sentence.given_scope) and _is_configuration(sentence.given)


def _is_configuration(given: Formula) -> bool:
    return int(truth_table(given, scope(given)).sum()) == 1
