"""Brute force over all worlds, written from the paper alone: what the engine is judged by.

Input: a small ground network and a query. Output: the interval of the query with, for either end, a bound
that a global solver claims and a joint distribution that attains a value; or the verdict that there is no
model, or none that gives the evidence any probability. Nothing here comes from the engine: formulas are
evaluated world by world, the dependency graph is searched by hand, and every independence is imposed
on the joint distribution itself.

`interval` solves the paper's program over all worlds by SCIP (five or six propositions), `nilsson` the same
without independences, which is a linear program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from math import inf, prod
from typing import Literal, TypeAlias, assert_never

import numpy as np
import pyscipopt
from numpy.typing import NDArray
from scipy.optimize import linprog

from credalog.network.formulas import And, Formula, Iff, Implies, Is, Not, Or, Truth, Variable, Xor
from credalog.network.sentences import Network, Query, Sentence

Floats: TypeAlias = NDArray[np.float64]
Events: TypeAlias = NDArray[np.bool_]
Block: TypeAlias = tuple[Variable, ...]
Node: TypeAlias = Variable | tuple[object, ...]
Graph: TypeAlias = dict[Node, set[Node]]
Sense: TypeAlias = Literal["minimize", "maximize"]

SCALE = 100.0
"""The mass SCIP sees in place of one: the program is homogeneous, SCIP's tolerances are not."""

MASSLESS = 1e-8
"""The largest P(evidence) that the program over all worlds cannot tell from zero."""


class Verdict(Enum):
    """Say what brute force found."""

    ANSWERED = "the query has an interval"
    INCONSISTENT = "no distribution satisfies the network"
    IMPOSSIBLE = "every model gives the evidence probability zero"
    UNKNOWN = "the time ran out before a model was found or excluded"


@dataclass(frozen=True, slots=True)
class End:
    """One end of the interval: what the solver claims nothing passes, and what `joint` attains."""

    proved: float
    attained: float | None = None
    joint: Floats | None = None


@dataclass(frozen=True, slots=True)
class TrueInterval:
    """The verdict and, where there is one, the interval."""

    verdict: Verdict
    lower: End = End(0.0)
    upper: End = End(1.0)


# --- Definitions 1 to 3 of the paper ----------------------------------------------------------------------


def holds(formula: Formula, world: dict[Variable, str]) -> bool:
    """Evaluate a formula in one world."""
    match formula:
        case Truth(value):
            return value
        case Is(variable, value):
            return world[variable] == value
        case Not(operand):
            return not holds(operand, world)
        case And(operands):
            return all(holds(part, world) for part in operands)
        case Or(operands):
            return any(holds(part, world) for part in operands)
        case Xor(operands):
            return sum(holds(part, world) for part in operands) % 2 == 1
        case Implies(premise, conclusion):
            return not holds(premise, world) or holds(conclusion, world)
        case Iff(left, right):
            return holds(left, world) == holds(right, world)
        case _:
            assert_never(formula)


def _shape(formula: Formula) -> tuple[object, ...]:
    """Describe a formula up to the order and nesting of commutative connectives."""
    match formula:
        case Truth(value):
            return ("truth", value)
        case Is(variable, value):
            return ("is", variable.name, value)
        case Not(operand):
            return ("not", _shape(operand))
        case And(operands) | Or(operands) | Xor(operands):
            name = type(formula).__name__
            parts: list[tuple[object, ...]] = []
            for shape in map(_shape, operands):
                parts.extend(shape[1:] if shape[0] == name else [shape])  # type: ignore[arg-type]
            return (name, *sorted(parts, key=repr))
        case Implies(premise, conclusion):
            return ("implies", _shape(premise), _shape(conclusion))
        case Iff(left, right):
            return ("iff", *sorted((_shape(left), _shape(right)), key=repr))
        case _:
            assert_never(formula)


def mentioned(formula: Formula) -> set[Variable]:
    """Return the variables of a formula."""
    match formula:
        case Truth():
            return set()
        case Is(variable, _):
            return {variable}
        case Not(operand):
            return mentioned(operand)
        case And(operands) | Or(operands) | Xor(operands):
            return set().union(*map(mentioned, operands))
        case Implies(left, right) | Iff(left, right):
            return mentioned(left) | mentioned(right)
        case _:
            assert_never(formula)


def dependency_graph(network: Network) -> Graph:
    """Draw the stamps of Figure 1: successors of each node, atomic nodes being the variables themselves."""
    graph: Graph = {variable: set() for variable in network.variables}
    for sentence in network.sentences:
        for tail, head in _stamp(sentence):
            graph.setdefault(tail, set()).add(head)
            graph.setdefault(head, set())
    return graph


def _stamp(sentence: Sentence) -> Iterator[tuple[Node, Node]]:
    conditional = sentence.given != Truth(True)
    claims = [claim for _, claim in sentence.claims]
    atoms = set().union(*map(mentioned, claims))
    atomic = len(claims) == 1 and _is_literal(claims[0])
    node: Node
    if atomic:
        (node,) = atoms
    else:
        node = _shape(claims[0]) if len(claims) == 1 else ("linear", *map(_shape, claims))
        if sentence.tau or conditional:
            yield from ((node, x) for x in atoms)
        if sentence.tau:
            yield from ((x, node) for x in atoms)
    if conditional:
        condition: Node = _shape(sentence.given)
        if isinstance(sentence.given, Is):
            condition = sentence.given.variable
        else:
            yield from ((a, condition) for a in mentioned(sentence.given))
        yield condition, node


def _is_literal(formula: Formula) -> bool:
    inner = formula.operand if isinstance(formula, Not) else formula
    return isinstance(inner, Is)


def _reach(graph: Graph, start: Node, closed: set[Variable]) -> set[Variable]:
    """Return the variables met on paths from `start` whose intermediate nodes are not in `closed`."""
    seen: set[Node] = set()
    frontier = list(graph[start])
    while frontier:
        node = frontier.pop()
        if node not in seen:
            seen.add(node)
            if node not in closed:
                frontier.extend(graph[node])
    return {node for node in seen if isinstance(node, Variable)}


def parents(network: Network, x: Variable) -> set[Variable]:
    """Return the atomic nodes with a path to x through non-atomic nodes only."""
    graph, everyone = dependency_graph(network), set(network.variables)
    return {a for a in everyone - {x} if x in _reach(graph, a, everyone)}


def descendants(network: Network, x: Variable) -> set[Variable]:
    """Return the atomic nodes with a path from x that has no intermediate node in parents(x)."""
    return _reach(dependency_graph(network), x, parents(network, x)) - {x}


def independences(network: Network) -> Iterator[tuple[Block, Block, Block]]:
    """Yield the Markov condition and the declared independences as (left, right, given)."""
    for x in network.variables:
        given = parents(network, x)
        others = set(network.variables) - given - descendants(network, x) - {x}
        if others:
            yield (x,), ordered(network, others), ordered(network, given)
    for declared in network.independences:
        yield declared.left, declared.right, declared.given


def ordered(network: Network, chosen: set[Variable]) -> Block:
    """Return some variables in the order of the network."""
    return tuple(v for v in network.variables if v in chosen)


# --- Worlds, events and rows ------------------------------------------------------------------------------


def worlds(network: Network) -> list[dict[Variable, str]]:
    """List all worlds, the last variable changing fastest."""
    values = product(*(v.values for v in network.variables))
    return [dict(zip(network.variables, world, strict=True)) for world in values]


def event(network: Network, formula: Formula) -> Events:
    """Mark the worlds in which a formula holds."""
    return np.array([holds(formula, world) for world in worlds(network)])


def assignments(network: Network, block: Block) -> list[Events]:
    """Return the event of every assignment to a block; the only event of an empty block is sure."""
    every = worlds(network)
    return [
        np.array([all(w[v] == value for v, value in zip(block, values, strict=True)) for w in every])
        for values in product(*(v.values for v in block))
    ]


def rows_of(network: Network) -> Floats:
    """Return the sentences as rows that must be nonnegative on a distribution (or any multiple of one)."""
    rows = [np.zeros(prod(len(v.values) for v in network.variables))]
    for sentence in network.sentences:
        given = event(network, sentence.given)
        claimed = sum(
            (float(weight) * (event(network, claim) & given) for weight, claim in sentence.claims),
            start=np.zeros(len(given)),
        )
        rows.append(claimed - float(sentence.lower) * given)
        rows.append(float(sentence.upper) * given - claimed)
    return np.array(rows)


def _squares(network: Network) -> list[tuple[Events, Events, Events, Events]]:
    """Return events (xsz, z, xz, sz) of every P(x,s,z)P(z) = P(x,z)P(s,z) that the others do not imply.

    Summing the equation over all s is an identity, and so over all x; hence one value of each is left out.
    """
    squares = []
    for left, right, given in independences(network):
        for z, x, s in product(
            assignments(network, given), assignments(network, left)[1:], assignments(network, right)[1:]
        ):
            squares.append((x & s & z, z, x & z, s & z))
    return squares


# --- How far a distribution is from being a model ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Violations:
    """The largest violation of a sentence and of an independence, measured as probabilities."""

    sentence: float
    independence: float
    mass: float

    @property
    def worst(self) -> float:
        """Return the largest of all."""
        return max(self.sentence, self.independence, self.mass)


def violations(joint: Floats, network: Network, over: Block | None = None) -> Violations:
    """Measure how far an explicit joint distribution is from satisfying the network.

    `joint` has one axis per variable, or is flat with the last variable fastest. It may be the joint of
    `over` only, some of the variables: then what the network says about these alone is measured. The
    defect of an independence is that of P(x,s,z) = P(x,z)P(s,z) / P(z) over all values, wherever P(z) > 0.
    """
    seen = tuple(network.variables) if over is None else over
    p = np.asarray(joint, dtype=float).ravel()
    said = tuple(s for s in network.sentences if mentioned_in(s) <= set(seen))
    sentence = max(0.0, float(-(rows_of(Network(seen, said)) @ p).min()))
    mass = max(abs(p.sum() - 1.0), -float(p.min()), 0.0)
    dependence = max((_dependence(p, seen, *stated) for stated in independences(network)), default=0.0)
    return Violations(sentence, dependence, mass)


def mentioned_in(sentence: Sentence) -> set[Variable]:
    """Return the variables of a sentence."""
    return set().union(mentioned(sentence.given), *(mentioned(claim) for _, claim in sentence.claims))


def _dependence(p: Floats, seen: Block, left: Block, right: Block, given: Block) -> float:
    """Return the largest defect of one independence, as far as the variables seen can tell."""
    if not set(left + given) <= set(seen):
        return 0.0
    world, right = Network(seen, ()), tuple(v for v in right if v in seen)
    worst = 0.0
    for z in assignments(world, given):
        mass = float(p[z].sum())
        if mass > 0.0:
            for x, s in product(assignments(world, left), assignments(world, right)):
                defect = p[x & s & z].sum() - p[x & z].sum() * p[s & z].sum() / mass
                worst = max(worst, abs(float(defect)))
    return worst


def violation_in_context(joint: Floats, network: Network, over: Block, least: float) -> float:
    """Measure how far a joint distribution is from being a model, every condition on its own scale.

    A context of less mass than `least` may be a rounding of nothing, and is passed over.

    A sentence is measured on P(claim | given), an independence by |P(x | s, z) - P(x | z)| in every context
    (s, z): what holds of joint probabilities to many digits may be quite false given something rare.
    """
    p = np.asarray(joint, dtype=float).ravel()
    world, worst = Network(over, ()), 0.0
    for sentence in network.sentences:
        if mentioned_in(sentence) <= set(over):
            given = event(world, sentence.given)
            if p[given].sum() > least:
                value = sum(float(w) * p[event(world, c) & given].sum() for w, c in sentence.claims)
                value /= p[given].sum()
                worst = max(worst, float(sentence.lower) - value, value - float(sentence.upper))
    return max([worst, *(_shift(p, over, least, *stated) for stated in independences(network))])


def _shift(p: Floats, seen: Block, least: float, left: Block, right: Block, given: Block) -> float:
    """Return by how much a context moves a probability that is said not to depend on it."""
    if not set(left + given) <= set(seen):
        return 0.0
    world, right = Network(seen, ()), tuple(v for v in right if v in seen)
    worst = 0.0
    for z, s in product(assignments(world, given), assignments(world, right)):
        if p[s & z].sum() > least:
            for x in assignments(world, left):
                worst = max(worst, abs(p[x & s & z].sum() / p[s & z].sum() - p[x & z].sum() / p[z].sum()))
    return worst


# --- The paper's program, solved globally -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Solved:
    """What SCIP said of one end: its bound, and its best point scaled to a distribution."""

    empty: bool
    closed: bool
    proved: float
    joint: Floats | None


def interval(network: Network, query: Query, *, seconds: float = 20.0) -> TrueInterval:
    """Bound P(claim | given) over all models, `seconds` for each end.

    A posterior is asked of the cone of all multiples of models, cut where the evidence has mass one: no
    floor under P(given), and evidence that is impossible leaves the cut empty.
    """
    given = event(network, query.given)
    claimed = event(network, query.claim) & given
    senses: tuple[Sense, Sense] = ("minimize", "maximize")
    ends = [_extreme(network, claimed, given, sense, seconds) for sense in senses]
    if any(end.empty for end in ends):
        return TrueInterval(_why_empty(network, given, seconds))
    lower, upper = (_end(end, network, claimed, given) for end in ends)
    found = lower.joint is not None or upper.joint is not None
    return TrueInterval(Verdict.ANSWERED if found else Verdict.UNKNOWN, lower, upper)


def _end(solved: _Solved, network: Network, claimed: Events, given: Events) -> End:
    proved = min(1.0, max(0.0, solved.proved))
    joint = None if solved.joint is None else polish(solved.joint, network)
    if joint is None or joint[given].sum() <= 0.0:
        return End(proved)
    return End(proved, float(joint[claimed].sum() / joint[given].sum()), joint)


def _why_empty(network: Network, given: Events, seconds: float) -> Verdict:
    sure = np.ones(len(given), dtype=bool)
    likeliest = _extreme(network, given, sure, "maximize", seconds)
    if likeliest.empty:
        return Verdict.INCONSISTENT
    return Verdict.IMPOSSIBLE if likeliest.proved <= MASSLESS else Verdict.UNKNOWN


def _extreme(network: Network, goal: Events, unit: Events, sense: Sense, seconds: float) -> _Solved:
    """Optimize the mass of one event over all multiples of models that give another event mass one.

    The paper's products are tried first: mostly they take no time at all. What they leave open is left to
    the same independences written with conditional probabilities as variables of their own.
    """
    if not unit.any():
        return _Solved(empty=True, closed=True, proved=0.0, joint=None)
    first = _solve(network, goal, unit, sense, seconds / 3, _impose_products)
    if first.closed and not first.empty:
        return first
    # SCIP was seen to call a feasible program infeasible: emptiness takes two witnesses.
    second = _solve(network, goal, unit, sense, seconds, _impose_conditionals)
    better = max if sense == "minimize" else min
    joints = [s.joint for s in (second, first) if s.joint is not None]
    joint = better(joints, key=lambda p: -p[goal].sum() / p[unit].sum()) if joints else None
    return _Solved(first.empty and second.empty, second.closed, better(first.proved, second.proved), joint)


def _solve(
    network: Network, goal: Events, unit: Events, sense: Sense, seconds: float, impose: Callable[..., None]
) -> _Solved:
    model = _quiet_model(seconds)
    masses = _Masses(model, len(unit), SCALE if unit.all() else None)
    model.addCons(masses.total(unit) == SCALE)
    for row in rows_of(network):
        if row.any():
            model.addCons(masses.weighted(row) >= 0.0)
    impose(masses, network)
    model.setObjective(masses.total(goal), sense)
    try:
        model.optimize()
    except Exception as error:
        # SCIP raises nothing more special.
        if "error in LP solver" not in str(error):
            raise
        return _Solved(empty=False, closed=False, proved=-inf if sense == "minimize" else inf, joint=None)
    status = model.getStatus()
    proved, joint = _proved(model, sense), masses.joint() if model.getNSols() else None
    return _Solved(status == "infeasible", status in ("infeasible", "optimal", "gaplimit"), proved, joint)


def _impose_products(masses: _Masses, network: Network) -> None:
    """Write P(x,s,z)P(z) = P(x,z)P(s,z)."""
    for xsz, z, xz, sz in _squares(network):
        masses.model.addCons(masses.of(xsz) * masses.of(z) == masses.of(xz) * masses.of(sz))


def _impose_conditionals(masses: _Masses, network: Network) -> None:
    """Write P(x,s,z) = P(x|z)P(s,z), with P(x|z) anything where P(z) = 0."""
    for left, right, given in independences(network):
        for z, x in product(assignments(network, given), assignments(network, left)[1:]):
            chance = masses.model.addVar(lb=0.0, ub=1.0)
            for s in assignments(network, right):
                masses.model.addCons(masses.of(x & s & z) == chance * masses.of(s & z))


def _quiet_model(seconds: float) -> pyscipopt.Model:
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("numerics/feastol", 1e-7)
    model.setParam("limits/absgap", 1e-7 * SCALE)
    model.setParam("limits/time", seconds)
    return model


def _proved(model: pyscipopt.Model, sense: Sense) -> float:
    bound = float(model.getDualbound())
    if not model.isInfinity(abs(bound)):
        return bound / SCALE
    return -inf if sense == "minimize" else inf


class _Masses:
    """SCIP variables for the masses of worlds and, made when first asked for, of events."""

    def __init__(self, model: pyscipopt.Model, count: int, most: float | None) -> None:
        self.model, self.most = model, most
        self.worlds = [model.addVar(lb=0.0, ub=most) for _ in range(count)]
        self._events: dict[bytes, pyscipopt.Variable] = {}

    def total(self, chosen: Events) -> pyscipopt.Expr:
        """Return the mass of an event as a sum over its worlds."""
        return self.weighted(chosen.astype(float))

    def weighted(self, row: Floats) -> pyscipopt.Expr:
        """Return a weighted sum over all worlds."""
        return sum((float(a) * p for a, p in zip(row, self.worlds, strict=True) if a), start=pyscipopt.Expr())

    def of(self, chosen: Events) -> pyscipopt.Variable:
        """Return the mass of an event as one variable, so that a product of masses has one term."""
        key = chosen.tobytes()
        if key not in self._events:
            self._events[key] = self.model.addVar(lb=0.0, ub=self.most)
            self.model.addCons(self._events[key] == self.total(chosen))
        return self._events[key]

    def joint(self) -> Floats:
        """Return the best solution as a distribution."""
        masses: Floats = np.maximum(0.0, [self.model.getVal(p) for p in self.worlds])
        return masses / float(masses.sum())


# --- From a solver's point to a true model ----------------------------------------------------------------

POLISHED = 1e-10
"""The largest violation of a joint distribution that counts as attaining its value."""


def polish(joint: Floats, network: Network, *, rounds: int = 30) -> Floats | None:
    """Move a nearly feasible distribution onto the network's models by Newton steps; return None in vain."""
    rows, squares = rows_of(network), _squares(network)
    p, best, least = joint.copy(), None, POLISHED
    binding = np.zeros(len(rows), dtype=bool)
    for _ in range(rounds):
        worst = violations(p, network).worst
        if worst <= least:
            best, least = p, worst
        if worst <= 1e-15:
            break
        binding |= rows @ p < 0.0
        p = _newton_step(p, rows[binding], squares)
    return best


def _newton_step(p: Floats, rows: Floats, squares: Sequence[tuple[Events, Events, Events, Events]]) -> Floats:
    residuals, gradients = [p.sum() - 1.0, *(rows @ p)], [np.ones(len(p)), *rows]
    for xsz, z, xz, sz in squares:
        mass = p[z].sum()
        if mass > 0.0:
            product_xz, product_sz, corner = p[xz].sum(), p[sz].sum(), p[xsz].sum()
            residuals.append(corner - product_xz * product_sz / mass)
            slope = xsz + z * (product_xz * product_sz / mass**2) - (product_sz * xz + product_xz * sz) / mass
            gradients.append(slope)
    support = p > 0.0
    jacobian = np.array(gradients, dtype=float)[:, support]
    step = np.linalg.lstsq(jacobian, np.array(residuals), rcond=1e-9)[0]
    moved = p.copy()
    moved[support] -= step
    return np.maximum(moved, 0.0)


# --- Nilsson: no independences ----------------------------------------------------------------------------


def nilsson(network: Network, query: Query) -> TrueInterval:
    """Bound P(claim | given) over all distributions that satisfy the sentences: a linear program an end."""
    given = event(network, query.given)
    claimed = event(network, query.claim) & given
    ends = [_linear_end(network, claimed, given, sign) for sign in (1.0, -1.0)]
    if None not in ends:
        lower, upper = ends
        assert lower is not None and upper is not None
        return TrueInterval(Verdict.ANSWERED, lower, upper)
    sure = np.ones(len(given), dtype=bool)
    consistent = _linear_end(network, sure, sure, 1.0) is not None
    return TrueInterval(Verdict.IMPOSSIBLE if consistent else Verdict.INCONSISTENT)


def _linear_end(network: Network, goal: Events, unit: Events, sign: float) -> End | None:
    rows = rows_of(network)
    mass = unit[None, :].astype(float)
    found = linprog(sign * goal, A_ub=-rows, b_ub=np.zeros(len(rows)), A_eq=mass, b_eq=[1.0])
    if found.status == 2:
        return None
    assert found.status == 0 and found.x is not None, found.message
    value = float(goal @ found.x)
    return End(value, value, found.x / found.x.sum())
