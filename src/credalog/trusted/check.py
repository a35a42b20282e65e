"""The second pair of eyes on every witness: whether a distribution is a model.

Input: what claims to be a distribution, a network and its dependency graph. Output: the largest violation of
the laws of probability, of any sentence or independence. Nothing here knows how the distribution was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf, prod
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from credalog.network.families import Family, FamilySentences
from credalog.network.formulas import Variable, truth_table
from credalog.network.graph import DependencyGraph, Markov
from credalog.network.sentences import Contrast, Independence, Network, Sentence
from credalog.network.structure import d_connected
from credalog.network.ties import Ties
from credalog.numbers.budget import Budget, OutOfTime
from credalog.tables.distribution import Distribution, Factor, Floats

__all__ = ["violation"]

LENIENCE = 1e-3
"""What a violation relative to its condition is multiplied by: a thousand times more may pass there."""

LARGEST_TABLE = 1 << 16
"""An independence that does not hold by construction is not checked on more states than this: it fails."""

ROUNDS = 300
"""How often a product is fitted to a table before it is compared with it."""

LAST_DIGITS = 1e-12
"""A violation no larger than this in every parent configuration is rounding, whatever each one weighs."""

ROWS_KEPT = 1 << 14
"""Of how many sentences about one variable the tables of truth are kept for the next distribution."""


def violation(
    distribution: Distribution,
    network: Network,
    graph: DependencyGraph | None,
    *,
    asked: tuple[Variable, ...] = (),
    markov: Markov = Markov.LOCAL,
    budget: Budget | None = None,
) -> float:
    """Return how far a distribution is from being a model: the largest violation of anything.

    Both are measured on joint probabilities, and more leniently relative to the condition. Without a graph
    only the declared independences count (Nilsson's logic). A variable in a block of its own satisfies its
    local condition by construction; for one in a larger block the condition is checked among block and
    parents, which implies it in full (docs/proofs.md, proof 3). A distribution may also stand for a model
    with the same probabilities of all that is said and of what is asked (proof 9): then no condition inside
    the components concerned is checked. Under the global condition the law of each other component must
    factorize along its ties (proof 14). What cannot be checked in time counts as violated without limit.
    """
    try:
        return _violation(distribution, network, graph, asked, markov, budget or Budget.of())
    except OutOfTime:
        return inf


def _violation(
    distribution: Distribution,
    network: Network,
    graph: DependencyGraph | None,
    asked: tuple[Variable, ...],
    markov: Markov,
    budget: Budget,
) -> float:
    if not _has_an_order(distribution):
        return inf
    factors = {f.block: f for f in distribution.factors}
    local = list(_local_excesses(network.sentences, factors, budget))
    far = [network.sentences[n] for n, excess in enumerate(local) if not excess <= LAST_DIGITS]
    stated = list(network.independences)
    if not _knows_all(distribution, (*far, *network.contrasts), stated):
        return inf
    worst = [_distance_from_laws(factor) for factor in distribution.factors]
    worst += [excess for excess in local if excess <= LAST_DIGITS]
    worst += _excesses(far, distribution, budget)
    worst += [_contrast_excess(contrast, distribution) for contrast in network.contrasts]
    if graph is not None:
        stated += _local_conditions(distribution, network, graph, asked)
    if graph is not None and markov is Markov.GLOBAL:
        worst += _Components(distribution, network, graph, asked).violations()
    # Unlike Python's own, this maximum does not lose what is not a number: nothing is as good as that.
    return float(np.max([0.0, *worst, *_dependences(stated, distribution, budget)]))


def _has_an_order(distribution: Distribution) -> bool:
    """Tell whether each variable has one table, after those of its parents."""
    before = set[Variable]()
    for factor in distribution.factors:
        if not before.issuperset(factor.parents) or not before.isdisjoint(factor.block):
            return False
        before.update(factor.block)
    return True


def _knows_all(
    distribution: Distribution,
    said: Iterable[Sentence | Contrast],
    independences: Iterable[Independence],
) -> bool:
    """Tell whether the distribution has all variables of which something is said."""
    known = distribution.known
    scopes = chain((s.scope for s in said), ((*i.left, *i.right, *i.given) for i in independences))
    return all(v in known for over in scopes for v in over)


def _distance_from_laws(factor: Factor) -> float:
    """Measure how far a table is from distributions: entries below zero, sums other than one."""
    block = tuple(range(len(factor.parents), factor.table.ndim))
    off = np.abs(factor.table.sum(axis=block) - 1.0)
    return float(np.maximum(off.max(initial=0.0), -factor.table.min(initial=0.0)))


def _dependences(
    stated: Iterable[Independence], distribution: Distribution, budget: Budget
) -> Iterator[float]:
    for independence in stated:
        budget.require_time()
        yield _dependence(distribution, independence)


def _excesses(sentences: Iterable[Sentence], distribution: Distribution, budget: Budget) -> Iterator[float]:
    """Yield the violations of sentences, each on the table of its scope; what share one are read off it."""
    together: dict[frozenset[Variable], list[Sentence]] = {}
    for sentence in sentences:
        together.setdefault(frozenset(sentence.scope), []).append(sentence)
    if not together:
        return
    scopes = [group[0].scope for group in together.values()]
    tables = distribution.marginals(scopes, budget)
    for scope, group, table in zip(scopes, together.values(), tables, strict=True):
        yield from (_excess(sentence, scope, table) for sentence in group)


def _graded(excess: float, mass: float) -> float:
    """Measure an excess on joint probabilities; relative to its condition, a thousand times more may pass."""
    return max(excess, LENIENCE * excess / mass) if mass > 0.0 else excess


def _excess(sentence: Sentence, over: tuple[Variable, ...], joint: Floats) -> float:
    """Measure the violation of a sentence on the joint table of its variables."""
    given = truth_table(sentence.given, over)
    mass = float(joint[given].sum())
    value = sum(
        float(weight) * float(joint[given & truth_table(claim, over)].sum())
        for weight, claim in sentence.claims
    )
    low, high = float(sentence.lower), float(sentence.upper)
    below = _graded(max(low * mass - value, 0.0), mass * _scale(low))
    return max(below, _graded(max(value - high * mass, 0.0), mass * _scale(high)))


def _contrast_excess(contrast: Contrast, distribution: Distribution) -> float:
    """Measure the violation of a sentence across conditions; none where one of them is impossible."""
    masses = [distribution.probability(given) for given in contrast.conditions]
    if min(masses) <= 0.0:
        return 0.0
    value = sum(float(t.weight) * distribution.probability(t.claim, t.given) for t in contrast.terms)
    excess = max(float(contrast.lower) - value, value - float(contrast.upper), 0.0)
    # Relative to its conditions, however rare they are together.
    return max(excess * prod(masses), LENIENCE * excess)


def _scale(bound: float) -> float:
    """Return how far a bound is from certainty: P(x) <= 1e-9 is to be kept on its own scale."""
    return min(bound, 1.0 - bound) if 0.0 < bound < 1.0 else 1.0


def _local_excesses(
    sentences: Sequence[Sentence], factors: Mapping[tuple[Variable, ...], Factor], budget: Budget
) -> Iterator[float]:
    if isinstance(sentences, FamilySentences):
        for family in sentences.families:
            budget.require_time()
            yield from _family_excesses(family, sentences.variables, factors)
        return
    for sentence in sentences:
        budget.require_time()
        yield _local_excess(sentence, factors.get(sentence.claim_scope))


def _local_excess(sentence: Sentence, factor: Factor | None) -> float:
    """Bound the violation of a sentence about x by the worst under any one parent configuration.

    Infinity where the condition is not about the parents: then nothing is known.
    """
    row = None if factor is None else _row(sentence, factor.block, factor.parents)
    if factor is None or row is None:
        return inf
    rows = (factor.table * row.weights).sum(axis=-1)[row.is_given]
    excess = np.maximum(row.lower - rows, rows - row.upper)
    return float(excess.max(initial=0.0))


def _family_excesses(
    family: Family, variables: Sequence[Variable], factors: Mapping[tuple[Variable, ...], Factor]
) -> list[float]:
    """Return the violations of all that is said of one table; infinity where the law has other parents."""
    parents = [variables[p] for p in family.parents]
    factor = factors.get((variables[family.child],))
    if factor is None or {*factor.parents} != {*parents}:
        return [inf] * (len(family.scale) * family.told)
    order = [factor.parents.index(p) for p in parents]
    theta = factor.table.transpose(*order, len(order)).reshape(-1, family.size)
    scale = np.array(family.scale, dtype=object)[:, None]
    # Quotients of whole numbers are rounded once.
    lower, upper = (
        (np.array(rows, dtype=object) / scale).astype(float) for rows in (family.lower, family.upper)
    )
    excess = np.maximum(np.maximum(lower - theta, theta - upper), 0.0)
    told: list[float] = excess[:, : family.told].ravel().tolist()
    return told


class _Row(NamedTuple):
    """What a sentence about x sums up of each value of x, under which parent configurations, and its bounds.

    The sentence is the one that it was made for, and no other that has its number in memory.
    """

    sentence: Sentence
    block: tuple[Variable, ...]
    parents: tuple[Variable, ...]
    weights: Floats
    is_given: NDArray[np.bool_]
    lower: float
    upper: float


_ROWS: dict[int, _Row] = {}


def _row(sentence: Sentence, block: tuple[Variable, ...], parents: tuple[Variable, ...]) -> _Row | None:
    """Return the row of a sentence, or remember it: all witnesses of a network are held against it.

    None where the condition is not about the parents.

    To compare sentences, or to hash their fractions, would take longer than the check.
    """
    known = _ROWS.get(id(sentence))
    if known is not None and known.sentence is sentence and (known.block, known.parents) == (block, parents):
        return known
    if not set(sentence.given_scope) <= set(parents):
        return None
    terms = (float(weight) * truth_table(claim, block) for weight, claim in sentence.claims)
    weights, is_given = np.asarray(sum(terms), dtype=float), truth_table(sentence.given, parents)
    found = _Row(sentence, block, parents, weights, is_given, float(sentence.lower), float(sentence.upper))
    if len(_ROWS) >= ROWS_KEPT:
        _ROWS.clear()
    _ROWS[id(sentence)] = found
    return found


def _copies(distribution: Distribution, graph: DependencyGraph) -> frozenset[Variable]:
    """Return the variables of which one is always equal to another, each being a parent of the other."""
    found: set[Variable] = set()
    for factor in distribution.factors:
        if len(factor.block) == len(factor.parents) == 1:
            (x,), (y,) = factor.block, factor.parents
            is_copy = np.array_equal(factor.table, np.eye(len(x.values)))
            if is_copy and y in graph.parents(x) and x in graph.parents(y):
                found |= {x, y}
    return frozenset(found)


def _excused(
    distribution: Distribution,
    network: Network,
    graph: DependencyGraph,
    asked: tuple[Variable, ...],
    copies: frozenset[Variable],
) -> frozenset[Variable]:
    """Return the members of components whose inner conditions need not hold in the distribution itself.

    The hypotheses of proof 9, of a component K with parents B outside: each member has a factor of its own
    with parents in K and B, no declared independence mentions K, and every scope that is demanded of K is
    closed: those of the sentences, of what is asked, and of the parents outside its own component of every
    other factor. Of copies, which their parents determine, nothing is asked (proof 15).
    """
    names = graph.variables
    components = [frozenset(names[i] for i in c) for c in graph.components() if len(c) > 1]
    home = {v: number for number, component in enumerate(components) for v in component}
    inner = {f.block: components[home[f.block[0]]] for f in distribution.factors if f.block[0] in home}
    scopes = [frozenset(s.scope) for s in network.sentences] + [frozenset(asked)]
    scopes += [frozenset(f.parents) - inner.get(f.block, frozenset()) for f in distribution.factors]
    declared = frozenset(v for i in network.independences for v in (*i.left, *i.right, *i.given))
    shown, own = _by_home(scopes, home), _by_home((f.block for f in distribution.factors), home)
    parents_of = {f.block: f.parents for f in distribution.factors}
    excused: set[Variable] = set()
    for number, component in enumerate(components):
        if number not in own or not component.isdisjoint(declared):
            continue
        around = component.union(*(graph.parents(x) for x in component))
        is_own_law = all(len(block) == 1 and around.issuperset(parents_of[block]) for block in own[number])
        if is_own_law and _all_closed(shown.get(number, ()), component - copies, graph):
            excused |= component
    return frozenset(excused)


Scope = TypeVar("Scope", bound=Iterable[Variable])


def _by_home(scopes: Iterable[Scope], home: Mapping[Variable, int]) -> dict[int, list[Scope]]:
    """Return for each component the scopes that mention a member of it."""
    found: dict[int, list[Scope]] = {}
    for scope in scopes:
        for number in {home[v] for v in scope if v in home}:
            found.setdefault(number, []).append(scope)
    return found


def _all_closed(
    scopes: Iterable[frozenset[Variable]], component: frozenset[Variable], graph: DependencyGraph
) -> bool:
    """Tell whether each member of a component that a scope shows has all the rest of the scope as parents."""
    families = {x: frozenset((x, *graph.parents(x))) for x in component}
    return all(scope <= families[x] for scope in scopes for x in scope & component)


def _local_conditions(
    distribution: Distribution, network: Network, graph: DependencyGraph, asked: tuple[Variable, ...]
) -> list[Independence]:
    """Return the conditions that do not hold by construction, among each component and its parents."""
    component_of = graph.component_of()
    arrows = _arrows(distribution)
    # By their first members: to compare components of thousands for each of them would take long.
    around = {c[0]: _around(graph, c) for c in {component_of[x][0]: component_of[x] for x in arrows}.values()}
    # Where every factor leans on its component and the parents of that alone, one with the parents of the
    # graph satisfies its condition by construction, and others look no further (docs/proofs.md, proof 3).
    conforms = all(around[component_of[x][0]].keys() >= set(arrows[x]) for x in arrows)
    checked = [f for f in distribution.factors if not (conforms and _is_family(f, graph, component_of))]
    excused = frozenset[Variable]()
    if checked and conforms:
        excused = _excused(distribution, network, graph, asked, _copies(distribution, graph))
    children, found = _children(arrows), []
    for x in (x for factor in checked for x in factor.block if x not in excused):
        near = around[component_of[x][0]] if conforms else arrows
        connected = d_connected(arrows, children, x, frozenset(graph.parents(x))) - {x}
        # Only what a path leads to can depend on x: where there is nothing, nothing need be listed.
        ndnp = frozenset(graph.ndnp(x)) if any(y in near for y in connected) else frozenset[Variable]()
        if any(y in near for y in connected & ndnp):
            right = tuple(y for y in near if y in ndnp)
            found.append(Independence((x,), right, graph.parents(x)))
    return found


def _is_family(
    factor: Factor, graph: DependencyGraph, component_of: Mapping[Variable, tuple[int, ...]]
) -> bool:
    """Tell whether a factor is that of one variable given its parents; one on no cycle may ignore some.

    Such an x is independent of whatever does not descend from it given the parents in the factor, hence
    also given all its parents, which do not descend from it.
    """
    x, *others = factor.block
    own, known = set(factor.parents), set(graph.parents(x))
    return not others and (own == known or (own <= known and len(component_of[x]) == 1))


def _children(arrows: Mapping[Variable, tuple[Variable, ...]]) -> dict[Variable, list[Variable]]:
    """Return the children of every variable that has some."""
    children: dict[Variable, list[Variable]] = {}
    for x, parents in arrows.items():
        for parent in parents:
            children.setdefault(parent, []).append(x)
    return children


def _around(graph: DependencyGraph, component: Iterable[int]) -> dict[Variable, None]:
    """Return the members of a component and their parents."""
    members = [graph.variables[i] for i in component]
    return dict.fromkeys((*members, *(p for y in members for p in graph.parents(y))))


def _arrows(distribution: Distribution) -> dict[Variable, tuple[Variable, ...]]:
    """Return the directed graph by which a distribution factorizes; a block is an arbitrary order."""
    return {
        x: (*factor.parents, *factor.block[:place])
        for factor in distribution.factors
        for place, x in enumerate(factor.block)
    }


def _dependence(distribution: Distribution, independence: Independence) -> float:
    """Return the largest distance of P(left, right, given) from what independence demands.

    It is graded by both contexts: what is rare on one side may still be all that a query is about.
    """
    left, right, given = independence.left, independence.right, independence.given
    if prod(len(x.values) for x in (*given, *left, *right)) > LARGEST_TABLE:
        return inf
    joint = distribution.marginal((*given, *left, *right))
    sizes = [prod(len(x.values) for x in group) for group in (given, left, right)]
    table = joint.reshape(sizes)
    mass = table.sum(axis=(1, 2), keepdims=True)
    rights, lefts = table.sum(axis=1, keepdims=True), table.sum(axis=2, keepdims=True)
    # P(l | g) P(r, g), the quotient first: products of rare probabilities would vanish.
    shares = np.divide(lefts, mass, out=np.zeros_like(lefts), where=mass > 0.0)
    gap = np.abs(table - shares * rights)
    context = np.minimum(lefts, rights)
    graded = np.divide(gap, context, out=np.zeros_like(gap), where=context > 0.0)
    return float(max(gap.max(), LENIENCE * graded.max()))


class _Components:
    """The components of a distribution's variables, held to the whole chain-graph reading."""

    def __init__(
        self,
        distribution: Distribution,
        network: Network,
        graph: DependencyGraph,
        asked: tuple[Variable, ...],
    ) -> None:
        self.distribution = distribution
        self.graph = graph
        self.arrows = {
            graph.index(x): tuple(map(graph.index, parents)) for x, parents in _arrows(distribution).items()
        }
        self.components = [c for c in graph.components() if c[0] in self.arrows]
        self.ties = {c: Ties(graph.parent_indices, c) for c in self.components if len(c) > 1}
        self.conforms = all(self._leans_on_its_own(c) for c in self.components)
        excused = frozenset[Variable]()
        if self.conforms:
            # A law with copies need not factorize along the ties.
            excused = _excused(distribution, network, graph, asked, frozenset())
        self.excused = frozenset(map(graph.index, excused))

    def _leans_on_its_own(self, component: tuple[int, ...]) -> bool:
        """Tell whether the factors of a component lean on it and its parents alone."""
        around = {*component, *(p for x in component for p in self.graph.parent_indices[x])}
        return all(around.issuperset(self.arrows[x]) for x in component)

    def violations(self) -> Iterator[float]:
        """Yield how far each component is from its independence of what precedes it, and its ties.

        What excuses a component from its local conditions excuses it from its ties: the law of greatest
        entropy is a limit of products along them.
        """
        for component, ties in self.ties.items():
            if not self.conforms:
                yield self._dependence_on_earlier(component, ties)
            if self.excused.isdisjoint(component) and not self._factorizes(component, ties):
                yield self._distance_from_products(ties)

    def _dependence_on_earlier(self, component: tuple[int, ...], ties: Ties) -> float:
        before = self.components[: self.components.index(component)]
        earlier = tuple(x for x in chain(*before) if x not in ties.over)
        given = tuple(x for x in ties.over if x not in component)
        return self._dependence(component, earlier, given) if earlier else 0.0

    def _factorizes(self, component: tuple[int, ...], ties: Ties) -> bool:
        """Tell whether the factors of a component are functions of variables that are tied to each other."""
        return self.conforms and all(ties.is_complete((x, *self.arrows[x])) for x in component)

    def _distance_from_products(self, ties: Ties) -> float:
        """Measure how far the law of a component and its parents is from a product along its ties.

        Where eliminating the members adds no tie, independences say it all; else such a product is built.
        """
        over = ties.over
        variables = self._named(over)
        if prod(len(v.values) for v in variables) > LARGEST_TABLE:
            return inf
        untied, cliques = [*ties.untied(over)], [*ties.cliques()]
        left, worst = set(over), 0.0
        for x, near in ties.elimination():
            left.discard(x)
            worst = max(worst, self._dependence((x,), left - near, near))
        if ties.is_chordal:
            return worst
        table = self.distribution.marginal(variables)
        build, groups = (_without_interactions, untied) if table.min() > 0.0 else (_fitted, cliques)
        return _distance(build(table, [tuple(map(over.index, group)) for group in groups]), table)

    def _dependence(self, left: Iterable[int], right: Iterable[int], given: Iterable[int]) -> float:
        groups = [self._named(sorted(group)) for group in (left, right, given)]
        return _dependence(self.distribution, Independence(*groups)) if groups[1] else 0.0

    def _named(self, indices: Iterable[int]) -> tuple[Variable, ...]:
        return tuple(self.graph.variables[i] for i in indices)


def _distance(near: Floats, table: Floats) -> float:
    """Measure how far a table is from another, and more leniently relative to each of its probabilities."""
    gap = np.abs(near - table)
    graded = np.divide(gap, table, out=np.zeros_like(gap), where=table > 0.0)
    return float(max(gap.max(), LENIENCE * graded.max()))


def _without_interactions(table: Floats, pairs: Sequence[tuple[int, ...]]) -> Floats:
    """Take the interactions of pairs of axes out of the logarithm of a table.

    A table without any between axes that are not tied is a product of functions of cliques (docs/proofs.md,
    proof 14).
    """
    logarithm = np.log(table)
    for pair in pairs:
        interaction = logarithm
        for axis in pair:
            interaction = interaction - interaction.mean(axis=axis, keepdims=True)
        logarithm = logarithm - interaction
    product = np.exp(logarithm)
    return np.asarray(product / product.sum())


def _fitted(table: Floats, cliques: Sequence[tuple[int, ...]]) -> Floats:
    """Give the uniform table the sums of another over each clique in turn (Deming and Stephan, 1940).

    Whenever that ends, what was built is a product of functions of cliques.
    """
    found: Floats = np.full(table.shape, 1.0 / table.size)
    for _ in range(ROUNDS):
        before = found
        for clique in cliques:
            rest = tuple(axis for axis in range(table.ndim) if axis not in clique)
            wanted, sums = table.sum(axis=rest, keepdims=True), found.sum(axis=rest, keepdims=True)
            found = found * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0.0)
        if np.abs(found - before).max() <= LAST_DIGITS:
            break
    return found
