"""Models at any size and width, cheap ones first.

Input: a network, its dependency graph, a query and an end of its interval. Output: `find_models`: ever better
models, each checked by `trusted.check`, with the values they give the query.

    for witness in find_models(network, graph, markov, asked, end=End.UPPER, budget=budget): ...

The first models are single worlds. Then some variables stay uncertain and the others keep the values of a
world that a 0/1 program finds; then all are uncertain. The uncertain ones have tables given a few of their
parents (`arcs`), the more the later. No table larger than that of a clique of this sparse graph is built.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from math import inf, isfinite
from typing import TypeAlias, assert_never

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.cliques.fragment import Fragment
from credalog.methods.cliques.models.arcs import Arcs, formula_in, network_in, sparse_parents
from credalog.methods.cliques.models.sparse import SparseModels, Start
from credalog.methods.cliques.search import Witness
from credalog.methods.cliques.witness import distribution_at
from credalog.methods.compiled import Compiled
from credalog.methods.truth_rows import TruthRows, TruthSum
from credalog.network.formulas import (
    FALSE,
    TRUE,
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Truth,
    Variable,
    World,
    Xor,
    conjunction,
)
from credalog.network.graph import DependencyGraph, Markov
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End
from credalog.numbers.tolerances import FEASIBILITY, TOLERANCE, allowed_gap
from credalog.program.program import Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.tables.distribution import Distribution, Factor, Floats
from credalog.trusted.check import violation

__all__ = ["Hint", "allowed_world", "copying_models", "find_models", "never_certain"]

Hint: TypeAlias = Mapping[Variable, Sequence[float]]
"""The probability of each value of some variables."""

WIDEST = 3
FORMS = (
    (1, Start.COPIES),
    (0, Start.CENTRE),
    *((width, start) for width in range(1, WIDEST + 1) for start in Start),
)
"""How many tied variables one of them keeps as parents, and where walks start, in the order of trying.

What products miss tells which ties are worth keeping.
"""

MANY = 100
"""Among more variables products are tried first: copies of thousands take long, and rarely are a model."""

FEW = 8
"""Among so few variables each in turn is the first of its component."""

WORLD_SHARE, WALK_SHARE = 0.6, 0.5
"""The share of the time left for one 0/1 program, and for the linear programs that follow it."""

CERTAIN = 1e-6
"""A value with a hinted probability this near one is taken for certain."""


def find_models(
    network: Network,
    graph: DependencyGraph,
    markov: Markov,
    asked: Query | None = None,
    *,
    end: End = End.UPPER,
    budget: Budget,
    enough: float | None = None,
    hints: Iterable[Hint] = (),
) -> Iterator[Witness]:
    """Yield models of a network, each with a value of the query farther out than the one before.

    Without a query any model will do, and one is yielded at most. `graph` may have more variables than the
    network, but no variable of the network may have a parent outside it. `enough` is a bound that no value
    passes: the search ends near it. `hints` are probabilities of values, as a relaxation has them.
    """
    search = _Search(network, graph, Query(TRUE) if asked is None else asked, end, budget)
    condition = None if markov is Markov.NONE else graph
    best: float | None = None
    for distribution in search.candidates(hints):
        value = distribution.probability(search.asked.claim, search.asked.given)
        if not isfinite(value) or (best is not None and not end.is_farther(value, best)):
            continue
        over = search.asked.scope
        missed = inf
        # What is too wide for a table cannot be checked, and is no witness.
        with suppress(ProblemTooLarge):
            missed = violation(distribution, network, condition, asked=over, markov=markov, budget=budget)
        if missed <= FEASIBILITY:
            best = value
            yield Witness(distribution, value)
            if asked is None or _is_enough(best, enough):
                return


def uncertain_models(
    network: Network, graph: DependencyGraph, markov: Markov, *, budget: Budget
) -> Iterator[Distribution]:
    """Yield models in which no variable is certain from the start, with tables given some parents."""
    search = _Search(network, graph, Query(TRUE), End.UPPER, budget)
    condition = None if markov is Markov.NONE else graph
    for found in search.uncertain():
        if violation(found, network, condition, markov=markov, budget=budget) <= FEASIBILITY:
            yield found


def _is_enough(value: float, bound: float | None) -> bool:
    return bound is not None and abs(value - bound) <= allowed_gap(TOLERANCE, value)


@dataclass(frozen=True)
class _Search:
    """Candidates for one end of one query."""

    network: Network
    graph: DependencyGraph
    asked: Query
    end: End
    budget: Budget

    def candidates(self, hints: Iterable[Hint]) -> Iterator[Distribution]:
        """Yield distributions worth checking, cheap ones first."""
        if not self.asked.scope:
            yield self._central()
        for world in self._worlds(hints):
            if not self.budget.is_spent:
                yield from self._within(world)

    def uncertain(self) -> Iterator[Distribution]:
        """Yield those in which all variables are uncertain."""
        yield self._central()
        yield from self._within({})

    def _central(self) -> Distribution:
        return self._sparse(self.network, 1, (), {}).central()

    def _worlds(self, hints: Iterable[Hint]) -> Iterator[World]:
        """Yield partial worlds to keep to, fewer and fewer variables being certain."""
        tried: list[frozenset[Variable]] = []
        for uncertain in self._uncertain():
            if uncertain not in tried and not self.budget.is_spent:
                tried.append(uncertain)
                world = self._allowed(uncertain)
                if world is not None:
                    yield world
        for hint in hints:
            yield _certain(hint)
        yield {}

    def _uncertain(self) -> Iterator[frozenset[Variable]]:
        yield frozenset()
        never = never_certain(self.network)
        yield never
        near = never | frozenset(self.asked.scope)
        yield near
        yield near.union(*(s.scope for s in self.network.sentences if not near.isdisjoint(s.scope)))

    def _allowed(self, uncertain: frozenset[Variable]) -> World | None:
        if len(uncertain) == len(self.network.variables):
            return None
        budget = self.budget.share(WORLD_SHARE)
        return allowed_world(self.network, self.asked, end=self.end, uncertain=uncertain, budget=budget)

    def _within(self, world: World) -> Iterator[Distribution]:
        """Yield distributions in which some variables are certain and the others have sparse tables."""
        rest = network_in(self.network, world)
        asked = Query(formula_in(self.asked.claim, world), formula_in(self.asked.given, world))
        if rest is None or asked.given == FALSE:
            return
        certain = tuple(Factor((v,), (), _unit(v, value)) for v, value in world.items())
        if not rest.variables:
            yield Distribution(certain)
            return
        worth: dict[frozenset[int], float] = {}
        tried: list[tuple[Arcs, Start]] = []
        forms = [(width, asked.scope, start) for width, start in FORMS]
        if len(rest.variables) > MANY:
            forms.sort(key=lambda form: form[0] > 0)
        if len(rest.variables) <= FEW:
            forms += [(WIDEST, (x,), start) for x in rest.variables for start in Start]
        for width, first, start in forms:
            sparse = self._sparse(rest, width, first, worth)
            if (sparse.arcs, start) in tried:
                continue
            tried.append((sparse.arcs, start))
            # A query or a sentence may span too much of the graph, or take too long: another form may do.
            with suppress(ProblemTooLarge, OutOfTime):
                for found in sparse.best(asked, start, end=self.end):
                    yield Distribution((*certain, *found.factors))
            if self.budget.is_spent:
                return
            for scope, amount in sparse.pressing.items():
                for pair in combinations((self.graph.index(rest.variables[x]) for x in scope), 2):
                    worth[frozenset(pair)] = worth.get(frozenset(pair), 0.0) + amount

    def _sparse(
        self,
        network: Network,
        width: int,
        first: Iterable[Variable],
        worth: Mapping[frozenset[int], float],
    ) -> SparseModels:
        """Arrange the variables of a network."""
        names, whole = self.graph.variables, self.graph.index
        number = {v: i for i, v in enumerate(network.variables)}
        over, opening = map(whole, network.variables), map(whole, first)
        arcs = sparse_parents(self.graph, over, opening, width=width, worth=worth)
        own = {number[names[x]]: tuple(number[names[p]] for p in parents) for x, parents in arcs.items()}
        return SparseModels(network, own, self.budget.share(WALK_SHARE))


def _certain(hint: Hint) -> World:
    """Return the values that are certain in a hint."""
    return {
        v: v.values[int(np.argmax(chances))] for v, chances in hint.items() if max(chances) >= 1.0 - CERTAIN
    }


def _unit(x: Variable, value: str) -> Floats:
    return np.array([float(v == value) for v in x.values])


# ---- worlds -----------------------------------------------------------------------------------------------
# Worlds that a network allows, some variables left uncertain: the start of a model.
# Input: a network, a query, the variables that may stay uncertain. Output: `allowed_world`: values for all
# other variables such that, by a 0/1 program, no sentence is violated as far as Frechet's inequalities
# tell.
#
# One world alone is a model if it satisfies l <= P(q | r) <= u wherever r is true: every independence holds
# in it. With p a number between 0 and 1 for each uncertain atom, and P(q and r), P(r) within Frechet's
# bounds, the sentence l P(r) <= P(q and r) <= u P(r) is linear, and exact where at most one atom of it is
# uncertain.

ROUNDS = 3
"""How often the worth of the evidence is corrected by the value found (Dinkelbach)."""

LEAST_EVIDENCE = 1e-3
"""The least probability that the evidence is given."""

GAP = 1e-4
"""How far from the best a world may be."""


def allowed_world(
    network: Network, asked: Query, *, end: End, uncertain: Collection[Variable], budget: Budget
) -> World | None:
    """Return values of all variables but the uncertain ones, with a good value of the query; or None."""
    rows, world = TruthRows(network.variables), None
    for sentence in network.sentences:
        if budget.is_spent:
            return None
        _state(rows, sentence, uncertain)
    evidence, both = rows.truth(asked.given), rows.truth(conjunction((asked.claim, asked.given)))
    rows.at_most((TruthSum(LEAST_EVIDENCE),), (evidence,))
    program = rows.program(continuous=uncertain)
    worth = 0.5 if asked.is_conditional else 0.0
    for _ in range(ROUNDS if asked.is_conditional else 1):
        gains = rows.gains((both.times(-end.sign), evidence.times(end.sign * worth)))
        claim = program.maximize(gains, gap=GAP, timeout=budget.for_solver)
        if claim.point is None:
            break
        world = rows.world(claim.point)
        found = both.at(claim.point) / max(evidence.at(claim.point), LEAST_EVIDENCE)
        if budget.is_spent or abs(found - worth) <= GAP:
            break
        worth = found
    if world is None:
        return None
    values = zip(network.variables, world, strict=True)
    return {v: v.values[int(value)] for v, value in values if v not in uncertain}


def _state(rows: TruthRows, sentence: Sentence, uncertain: Collection[Variable]) -> None:
    """Demand lower P(given) <= sum of weight P(claim and given) <= upper P(given).

    Where all is certain, a claim with a bound above 0 is true wherever the condition is, one with a bound
    below 1 is false: clauses, which need no columns of their own.
    """
    if sentence.is_linear or any(v in uncertain for v in sentence.scope):
        _state_means(rows, sentence)
        return
    given = sentence.given.operands if isinstance(sentence.given, And) else (sentence.given,)
    missing = [Not(part) for part in given]
    if sentence.lower > 0:
        rows.demand(Or((*missing, sentence.claim)))
    if sentence.upper < 1:
        rows.demand(Or((*missing, Not(sentence.claim))))


def _state_means(rows: TruthRows, sentence: Sentence) -> None:
    if sentence.is_vacuous:
        return
    given = rows.truth(sentence.given)
    together = [
        rows.truth(conjunction((claim, sentence.given))).times(float(weight))
        for weight, claim in sentence.claims
    ]
    rows.at_most((given.times(float(sentence.lower)),), together)
    rows.at_most(together, (given.times(float(sentence.upper)),))


def never_certain(network: Network) -> frozenset[Variable]:
    """Return the variables of claims that no world satisfies: those with bounds away from both 0 and 1."""
    return frozenset(
        v
        for s in network.sentences
        if s.lower > 0 and s.upper < 1 and not s.is_vacuous
        for v in s.claim_scope
    )


# ---- models in which tied variables copy each other -------------------------------------------------------
# Models in which tied variables copy each other.
# Input: a network whose variables are all tied to each other, directly or not, and a query across its ties.
# Output: `copying_models`: distributions in which each variable of the query has a neighbour that always
# has its value. Given the neighbour such a variable is known, so that its own condition never binds, and
# the query may be asked like one inside a scope (docs/proofs.md, proof 15).
#
#     for distribution in copying_models(network, graph, asked, end=End.LOWER, budget=budget): ...

Copies = Mapping[Variable, Variable]
"""For each variable that copies, the one that it copies."""

PAIRINGS = 24
"""How many choices of neighbours are tried."""


def copying_models(
    network: Network, graph: DependencyGraph, asked: Query, *, end: End, budget: Budget
) -> Iterator[Distribution]:
    """Yield the distributions with the farthest value of a query, one for each choice of neighbours."""
    if network.independences:
        return
    for copies in islice(_pairings(network, graph, asked), PAIRINGS):
        try:
            found = _farthest(_merged(network, copies), _query(asked, copies), end, budget)
        except (ProblemTooLarge, OutOfTime):
            return
        if found is not None:
            yield Distribution((*found.factors, *(_copy(x, y) for x, y in copies.items())))


def _pairings(network: Network, graph: DependencyGraph, asked: Query) -> Iterator[Copies]:
    """Pair each variable of the query that is not tied to all the others with one tied to it, none twice."""
    inside, wanted = frozenset(network.variables), frozenset(asked.scope)
    spread = [x for x in asked.scope if not wanted <= {x, *graph.parents(x)}]
    choices = [[y for y in graph.parents(x) if y in inside and _may_copy(graph, x, y)] for x in spread]
    for chosen in product(*choices):
        if spread and len({*spread, *chosen}) == 2 * len(spread) and wanted.isdisjoint(chosen):
            yield dict(zip(chosen, spread, strict=True))


def _may_copy(graph: DependencyGraph, x: Variable, y: Variable) -> bool:
    return len(x.values) == len(y.values) and x in graph.parents(y)


def _merged(network: Network, copies: Copies) -> Network:
    """Say of each variable what is said of its copy."""
    kept = tuple(v for v in network.variables if v not in copies)
    sentences = (
        replace(
            s,
            claims=tuple((weight, _renamed(claim, copies)) for weight, claim in s.claims),
            given=_renamed(s.given, copies),
        )
        for s in network.sentences
    )
    return Network(kept, tuple(sentences))


def _query(asked: Query, copies: Copies) -> Query:
    return Query(_renamed(asked.claim, copies), _renamed(asked.given, copies))


def _renamed(formula: Formula, copies: Copies) -> Formula:
    match formula:
        case Truth():
            return formula
        case Is(variable, value):
            other = copies.get(variable)
            return formula if other is None else Is(other, other.values[variable.values.index(value)])
        case Not(operand):
            return Not(_renamed(operand, copies))
        case And(operands) | Or(operands) | Xor(operands):
            return type(formula)(tuple(_renamed(o, copies) for o in operands))
        case Implies(premise, conclusion):
            return Implies(_renamed(premise, copies), _renamed(conclusion, copies))
        case Iff(left, right):
            return Iff(_renamed(left, copies), _renamed(right, copies))
        case _:
            assert_never(formula)


def _farthest(network: Network, asked: Query, end: End, budget: Budget) -> Distribution | None:
    """Solve the linear program without any independence."""
    budget.require_time()
    problem = Compiled(network, Markov.NONE).problem
    fragment = Fragment(problem, tuple(range(len(network.variables))))
    encoding, objective = fragment.encode(asked, Reading.FREE, budget)
    relaxation = Relaxation(encoding.program)
    solve = relaxation.minimize if end is End.LOWER else relaxation.maximize
    claim, _ = solve(objective, encoding.program.ratios.box, timeout=budget.for_solver)
    return distribution_at(encoding, claim.point) if claim.outcome is Outcome.OPTIMAL else None


def _copy(x: Variable, other: Variable) -> Factor:
    return Factor((x,), (other,), np.eye(len(x.values)))
