"""One search tree, explored by several processes.

Input: a search that has begun, and workers. Output: the same search, farther on. The process that asks owns
the frontier and the incumbent. It gives boxes away, each for about a second of work, and gets back how the
box was cut, multipliers for every part, and better witnesses. It makes the parts itself from the cuts, so
that they cover the box whatever was sent; it proves their bounds itself, from the multipliers, by the trusted
base; and it checks the witnesses. So nothing depends on a worker but the time: one that dies leaves its box
open with the bound that it had, and what a worker gets wrong proves nothing.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.products import LeafRows, Sharpening
from credalog.methods.cliques.proofs import Prover
from credalog.methods.cliques.reports import Limits, Witness
from credalog.methods.cliques.search import Hint, Leaf, Search
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.numbers.tolerances import Gap
from credalog.program.branch import BranchAndBound, Explored
from credalog.program.products import Products
from credalog.program.program import Box, Claim, Floats, Objective, Outcome, Program
from credalog.program.solvers.highs import packed, unpacked
from credalog.program.workers import Lost, Workers
from credalog.tables.distribution import Distribution

__all__ = ["run_shared"]

SLICE_SECONDS = 1.0
"""How long a worker explores a box before it says what it found."""

MOST_NODES = 4000
"""A worker explores no more leaves of one box: what it says would be too long."""

LOOK_SECONDS = 0.2
"""How often the asking process looks at the time while workers are busy."""

MOST_TOGETHER = 64
"""A worker gets so many of the weakest leaves at most: one alone would soon be stronger than the others."""

MOST_LOST = 12
"""After so many losses the asking process goes on alone."""

LOOKING_SHARE = 0.15
"""The share of its time in which a worker may look for better witnesses."""

KEPT = 2
"""How many searches a worker keeps ready."""


# ---- what is sent -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Setup:
    """All that a worker needs of a search, once."""

    encoding: Encoding
    objective: Objective
    end: End
    tolerance: float
    gap: Gap
    attains: bool
    whole: tuple[Program, Objective]
    part: tuple[Program, Objective]
    products: Products | None


class _Proof(NamedTuple):
    """Multipliers for a box; of the whole program, or of one with rows of the box some levels up."""

    outcome: Outcome
    value: float
    first: Floats
    places: np.ndarray[Any, np.dtype[np.intp]]
    multipliers: Floats
    many: int
    is_whole: bool
    rows: LeafRows | None
    up: int

    @property
    def claim(self) -> Claim:
        """Return the claim that is to be checked."""
        multipliers = np.zeros(self.many)
        multipliers[self.places] = self.multipliers
        return Claim(self.outcome, self.value, self.first, multipliers)


class _Cut(NamedTuple):
    """How a leaf was cut: at a value of a ratio, or exactly there; and what became of the parts."""

    ratio: int
    value: float
    is_exact: bool
    parts: tuple[_Part, ...]


class _End(NamedTuple):
    """A leaf that was not cut: its proof, if it has one, its rows, and whether nothing can cut it.

    `hint` is where whoever gets it next may begin.
    """

    proof: _Proof | None
    rows: LeafRows | None
    is_closed: bool
    hint: Hint | None = None


_Part: TypeAlias = "_Cut | _End"


class _Task(NamedTuple):
    """Boxes for a worker, what is attained already, for how long, and what is known of the ratios."""

    leaves: tuple[tuple[float, Leaf], ...]
    value: float | None
    seconds: float
    gains: Floats
    trials: np.ndarray[Any, np.dtype[np.intp]]


class _Done(NamedTuple):
    """What a worker made of some boxes."""

    parts: tuple[_Part, ...]
    explored: int
    witness: Witness | None
    gains: Floats
    trials: np.ndarray[Any, np.dtype[np.intp]]


# ---- the worker ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Known:
    """A box that was proved something of: the box, so that its number stays its own, and the proof."""

    box: Box
    bound: float
    prover: Prover
    claim: Claim


class _Recorded(Search):
    """A search in a box of another one, which remembers how it cut and what it proved."""

    def __init__(self, setup: _Setup) -> None:
        budget = Budget.of()
        limits = Limits(setup.tolerance, budget, attains=setup.attains, gap=setup.gap)
        super().__init__(setup.encoding, setup.objective, limits, setup.end, None, None)
        self.whole = Prover(*setup.whole, setup.end, budget)
        is_part = setup.part[0] is not setup.whole[0]
        self.prover = self.here = Prover(*setup.part, setup.end, budget) if is_part else self.whole
        self.sharpening = None if setup.products is None else Sharpening(self.prover, setup.products)
        self.root = Claim(Outcome.STOPPED, 0.0, np.zeros(0), np.zeros(0))

    def within(self, leaves: Sequence[tuple[float, Leaf]], value: float | None, seconds: float) -> _Done:
        """Explore boxes for some seconds, the weakest first, to beat a value that is attained elsewhere."""
        budget = Budget.of(seconds)
        self.limits = replace(self.limits, budget=budget)
        self.whole.budget = self.prover.budget = self.witnesses.budget = budget
        self.here, before = self.prover, self.explored
        self.began, self.seconds_on_witnesses = budget.elapsed, 0.0
        self.best = self.known = None if value is None else Witness(Distribution(()), value)
        self._proofs: dict[int, _Known] = {}
        self._bases: dict[int, tuple[Box, LeafRows]] = {}
        self._cuts: dict[int, tuple[Leaf, Explored[Leaf]]] = {}
        self._chosen: dict[int, tuple[Box, int, float]] = {}
        self._emptied: dict[tuple[int, frozenset[int]], tuple[int, float]] = {}
        warm = [(bound, _warmed(leaf)) for bound, leaf in leaves]
        self.tree = BranchAndBound(warm[0][1], warm[0][0])
        for bound, leaf in warm[1:]:
            self.tree.push(bound, leaf)

        def is_full() -> bool:
            return budget.is_spent or self.explored - before >= MOST_NODES

        self.tree.run(self._explore, until=is_full, enough=self._enough)
        found = self.best if self.best is not self.known else None
        parts = tuple(self._part(leaf, ()) for _, leaf in warm)
        return _Done(parts, self.explored - before, found, self.gains, self.trials)

    def _witness_seconds(self) -> float:
        return LOOKING_SHARE * SLICE_SECONDS

    # ---- remembering ----------------------------------------------------------------------------------

    def _proved(self, prover: Prover, claim: Claim, box: Box, known: float) -> float:
        found = super()._proved(prover, claim, box, known)
        if found > known:
            self._proofs[id(box)] = _Known(box, found, prover, claim)
        return found

    def _prover_of(self, leaf: Leaf) -> Prover:
        prover = super()._prover_of(leaf)
        if leaf.rows is not None:
            self._bases[id(prover)] = leaf.box, leaf.rows
        return prover

    def _sharpened(self, bound: float, leaf: Leaf, most: int) -> tuple[float, Leaf]:
        assert self.sharpening is not None and leaf.rows is not None and leaf.point is not None
        found = super()._sharpened(bound, leaf, most)
        assert found[1].rows is not None
        self._bases[id(self.here)] = leaf.box, found[1].rows
        return found

    def _children(self, known: float, leaf: Leaf, ratio: int, value: float) -> Any:
        children = super()._children(known, leaf, ratio, value)
        # What is inside is in the same box. A box is kept with its number, which else is given to another.
        boxes = (child.leaf.box for child in children if child.leaf.box is not leaf.box)
        self._chosen.update({id(box): (box, ratio, value) for box in boxes})
        if not children:
            self._emptied[id(leaf.box), leaf.inside] = ratio, value
        return children

    def _explore(self, known: float, leaf: Leaf) -> Explored[Leaf]:
        found = super()._explore(known, leaf)
        self._cuts[id(leaf)] = leaf, found
        return found

    # ---- telling --------------------------------------------------------------------------------------

    def _part(self, leaf: Leaf, above: tuple[Box, ...]) -> _Part:
        """Say what became of a leaf, below the boxes of those that it is a part of."""
        path = (*above, leaf.box)
        if id(leaf) not in self._cuts:
            return _End(self._proof(path), leaf.rows, is_closed=False, hint=_hint_of(leaf))
        _, found = self._cuts[id(leaf)]
        leaves = [child for _, child in found.children]
        if not leaves and found.closed == inf and (id(leaf.box), leaf.inside) in self._emptied:
            return _Cut(*self._emptied[id(leaf.box), leaf.inside], is_exact=False, parts=())
        if not leaves:
            return _End(self._proof(path), leaf.rows, is_closed=not self._suffices(found.closed))
        if len(leaves) == 1 and leaves[0].box is leaf.box and leaves[0].inside == leaf.inside:
            return self._part(leaves[0], above)
        smaller = [child for child in leaves if child.box is not leaf.box]
        chosen = self._chosen.get(id(smaller[0].box)) if smaller else None
        ratio, value = chosen[1:] if chosen else _cut_between(leaf, leaves)
        parts = tuple(self._part(child, path) for child in leaves)
        return _Cut(ratio, value, chosen is None and bool(smaller), parts)

    def _proof(self, path: tuple[Box, ...]) -> _Proof | None:
        """Return the best of what was proved of a box and those around it."""
        known = [(level, self._proofs[id(box)]) for level, box in enumerate(path) if id(box) in self._proofs]
        if not known:
            return None
        _, best = max(known, key=lambda found: found[1].bound)
        claim, (places,) = best.claim, np.nonzero(best.claim.multipliers)
        base, rows = self._bases.get(id(best.prover), (None, None))
        up = 0 if base is None else next(n for n, box in enumerate(reversed(path)) if box is base)
        is_whole = best.prover is self.whole and self.whole is not self.prover
        many = len(claim.multipliers)
        weights = claim.multipliers[places]
        return _Proof(claim.outcome, claim.value, claim.point[:1], places, weights, many, is_whole, rows, up)


def _warmed(leaf: Leaf) -> Leaf:
    """Return a leaf that begins where another process left it."""
    if leaf.hint is None:
        return leaf
    basis, is_open, point = leaf.hint
    return leaf._replace(basis=unpacked(basis), open=is_open, point=point, hint=None)


def _hint_of(leaf: Leaf) -> Hint | None:
    """Return where a leaf can be taken up again; None where it has not been solved."""
    basis = packed(leaf.basis)
    if basis is None or leaf.open is None:
        return None
    return Hint(basis, leaf.open, leaf.point)


def _cut_between(leaf: Leaf, leaves: list[Leaf]) -> tuple[int, float]:
    """Return the ratio that was cut, and where: exactly, or into ends of which none is left."""
    (inner,) = (set(leaves[-1].inside) - set(leaf.inside)) or {-1}
    if inner >= 0:
        return inner, 0.0
    (ratio,) = np.flatnonzero(leaves[0].box.upper != leaf.box.upper)
    return int(ratio), float(leaves[0].box.upper[ratio])


_READY: dict[str, _Recorded] = {}


def _explore_boxes(key: str, setup: bytes, task: _Task) -> _Done:
    """Explore boxes in a worker, which keeps the searches that it is asked about ready."""
    if key not in _READY:
        while len(_READY) >= KEPT:
            del _READY[next(iter(_READY))]
        # The sender is the process that asked; what it sends is as trustworthy as the code.
        _READY[key] = _Recorded(pickle.loads(setup))
    search = _READY[key]
    search.gains, search.trials = task.gains.copy(), task.trials.copy()
    return search.within(task.leaves, task.value, task.seconds)


# ---- the process that asks ----------------------------------------------------------------------------


def run_shared(search: Search, workers: Workers) -> None:
    """Explore until the search is over, with others; what they leave open stays open."""
    _Shared(search, workers).run()


@dataclass
class _Shared:
    search: Search
    workers: Workers
    _away: dict[Future[_Done], list[_Taken]] = field(default_factory=dict)
    _lost: int = 0

    def __post_init__(self) -> None:
        self._setup = pickle.dumps(_setup_of(self.search), protocol=pickle.HIGHEST_PROTOCOL)
        self._key = sha256(self._setup).hexdigest()

    def run(self) -> None:
        """Give boxes away and take their parts back."""
        search = self.search
        try:
            while not search.tree.is_exhausted and search.tree.bound < search._enough():
                if search._is_over() or self._lost > MOST_LOST:
                    break
                self._hand_out()
                for done in self.workers.wait(self._away, self._patience):
                    self._take_back(done)
        finally:
            for future, taken in self._away.items():
                future.cancel()
                for number, _, _ in taken:
                    search.tree.give_back(number)

    @property
    def _patience(self) -> float:
        return max(0.0, min(LOOK_SECONDS, self.search.limits.budget.remaining))

    def _hand_out(self) -> None:
        """Deal the weakest leaves out to the workers that are free."""
        free, tree = self.workers.count - len(self._away), self.search.tree
        most = free * min(MOST_TOGETHER, -(-len(tree) // self.workers.count))
        taken = [tree.take() for _ in range(min(most, len(tree)))] if free > 0 else []
        for number in range(free):
            if dealt := taken[number::free]:
                future = self.workers.submit(_explore_boxes, self._key, self._setup, self._task(dealt))
                self._away[future] = dealt

    def _task(self, taken: list[_Taken]) -> _Task:
        search = self.search
        seconds = min(SLICE_SECONDS, max(search.limits.budget.remaining, 0.05))
        # A basis belongs to the solver of a process: what is sent is packed.
        sent = tuple((bound, self._sent(leaf)) for _, bound, leaf in taken)
        return _Task(sent, search._value, seconds, search.gains, search.trials)

    def _sent(self, leaf: Leaf) -> Leaf:
        return Leaf(leaf.box, None, leaf.inside, rows=leaf.rows, hint=leaf.hint or _hint_of(leaf))

    def _take_back(self, future: Future[_Done]) -> None:
        taken, search = self._away.pop(future), self.search
        try:
            done = self.workers.result(future)
        except Lost:
            self._lost += 1
            for number, _, _ in taken:
                search.tree.give_back(number)
            return
        if done.witness is not None:
            search.offer_from_elsewhere(done.witness)
        search.explored += done.explored
        search.gains, search.trials = done.gains, np.maximum(search.trials, done.trials)
        for (number, bound, leaf), part in zip(taken, done.parts, strict=True):
            found = list(_Replayed(search).parts(part, bound, leaf))
            closed = min((b for b, _, is_closed in found if is_closed), default=inf)
            open_ = tuple((b, one) for b, one, is_closed in found if not is_closed)
            search.tree.settle(number, Explored(open_, closed), search._enough)


_Taken: TypeAlias = tuple[int, float, Leaf]


def _setup_of(search: Search) -> _Setup:
    return _Setup(
        search.encoding,
        search.objective,
        search.end,
        search.limits.tolerance,
        search.limits.gap,
        search.limits.attains,
        (search.whole.program, search.whole.objective),
        (search.prover.program, search.prover.objective),
        None if search.sharpening is None else search.sharpening.products,
    )


@dataclass
class _Replayed:
    """Make the parts of a leaf from the cuts that are told, and prove their bounds from the multipliers."""

    search: Search
    _provers: dict[tuple[int, bytes], Prover] = field(default_factory=dict)

    def parts(
        self, told: _Part, known: float, leaf: Leaf, above: tuple[Box, ...] = ()
    ) -> Iterator[tuple[float, Leaf, bool]]:
        """Yield what is left of a leaf, with a bound of each, and whether nothing can cut it."""
        path = (*above, leaf.box)
        if isinstance(told, _End):
            bound = known if told.proof is None else self._bound(told.proof, known, path)
            yield bound, Leaf(leaf.box, None, leaf.inside, rows=told.rows, hint=told.hint), told.is_closed
            return
        leaves = self._leaves(told, leaf)
        for number, part in enumerate(leaves):
            # A part of which nothing is told stays open as it is.
            about = told.parts[number] if number < len(told.parts) else _End(None, leaf.rows, is_closed=False)
            yield from self.parts(about, known, part, path)

    def _leaves(self, cut: _Cut, leaf: Leaf) -> list[Leaf]:
        """Cut a leaf: all of it is in one part or another."""
        if cut.is_exact:
            low, high = leaf.box.lower[cut.ratio], leaf.box.upper[cut.ratio]
            halves = leaf.box.split(cut.ratio, float(min(max(cut.value, low), high)))
            return [leaf._replace(box=half) for half in halves]
        boxes, inside = self.search.parts(leaf.box, leaf.inside, cut.ratio, cut.value)
        smaller = [leaf._replace(box=box) for box in boxes]
        return smaller if inside is None else [*smaller, leaf._replace(inside=inside)]

    def _bound(self, proof: _Proof, known: float, path: tuple[Box, ...]) -> float:
        """Prove a bound of the last box of a path; what does not fit proves nothing."""
        prover = self._prover(proof, path)
        claim = proof.claim
        if len(claim.multipliers) != prover.rows or not np.isfinite(claim.multipliers).all():
            return known
        return prover.bound(claim, path[-1], known)

    def _prover(self, proof: _Proof, path: tuple[Box, ...]) -> Prover:
        search = self.search
        if proof.is_whole:
            return search.whole
        if proof.rows is None or search.sharpening is None:
            return search.prover
        base = path[len(path) - 1 - proof.up]
        key = id(base), proof.rows.products.tobytes() + proof.rows.contexts.tobytes()
        if key not in self._provers:
            self._provers[key] = search.sharpening.prover_of(base, proof.rows)
        return self._provers[key]
