"""What a picture of a dependency graph shows, before it is laid out.

Input: a `DependencyGraph`, and what is known of its variables. Output: `Sketch`: nodes with their words, the
arrows between them, and ties. There are two views. That of variables has an arrow from each parent to its
child; variables that are parents of each other are tied. That of formulas is the paper's: a tie joins a claim
and its atoms.

Variables that are all tied to each other are joined by one brace, a dot with a line to each: ten people who
all bear on each other need ten lines, not forty-five.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from credalog.choices import View
from credalog.errors import UnknownName
from credalog.network.formulas import TRUE, And, Formula, Is, Not, Variable
from credalog.network.graph import Combination, DependencyGraph, Node, strong_components
from credalog.network.sentences import Query
from credalog.numbers.interval import Interval
from credalog.numbers.printed import decimal
from credalog.text.unparse import unparse_formula

Edge: TypeAlias = tuple[int, int]

LONGEST = 48
"""A longer label loses its middle in a picture."""

MOST_ROWS = 8
"""So many values of a variable are shown with their intervals."""

POINT = 5e-4
"""A narrower interval is written as one number."""

FEW = 4
"""So many tied variables are drawn as the members of one group, however they are tied."""


class Kind(Enum):
    """What a node of a picture stands for."""

    VARIABLE = "variable"
    OBSERVED = "observed"
    FORMULA = "formula"
    BRACE = "brace"


@dataclass(frozen=True, slots=True)
class Row:
    """An interval on a node: of which value it is, and where the bar lies."""

    label: str
    interval: Interval

    @property
    def text(self) -> str:
        """Return the interval in few digits, rounded outwards; one as good as a point is about that."""
        return short(self.interval)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A node: its label, what it stands for, its intervals, and what is said of it on pointing."""

    label: str
    kind: Kind
    rows: tuple[Row, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Sketch:
    """Nodes, arrows between them, and ties; those in `upwards` are arrows better drawn upwards."""

    nodes: tuple[Drawn, ...]
    arrows: tuple[Edge, ...]
    ties: tuple[Edge, ...]
    upwards: frozenset[Edge] = frozenset()
    is_tangled: frozenset[int] = frozenset()
    """Nodes tied in ways that have no direction, which a layered drawing would hide."""


class Bounded(Protocol):
    """An answer about one probability."""

    @property
    def query(self) -> object:
        """Return the question."""

    @property
    def interval(self) -> Interval:
        """Return its interval."""


def short(interval: Interval) -> str:
    """Write an interval in few digits, rounded outwards; one as good as a point is about that."""
    low, high = interval
    lower, upper = _trimmed(low, down=True), _trimmed(high, down=False)
    if lower == upper:
        return lower
    return f"≈ {(low + high) / 2:.3g}" if high - low < POINT else f"{lower} – {upper}"


def _trimmed(value: float, *, down: bool) -> str:
    written = decimal(value, down=down, digits=3)
    return written.rstrip("0").rstrip(".") if "." in written and "e" not in written else written


def label(node: Node) -> str:
    """Write a node as a person would."""
    if isinstance(node, Variable):
        return node.name
    if isinstance(node, Combination):
        return "; ".join(map(unparse_formula, node.formulas))
    return unparse_formula(node)


def shortened(name: str) -> str:
    """Return a label that does not push all others off the page."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]} … {name[-LONGEST // 3 :]}"


def intervals_of(answers: Iterable[Bounded]) -> dict[Variable, list[tuple[str, Interval]]]:
    """Return the intervals of atoms, by their variables."""
    found: dict[Variable, list[tuple[str, Interval]]] = {}
    for answer in answers:
        if isinstance(answer.query, Query) and isinstance(answer.query.claim, Is):
            atom = answer.query.claim
            value = "" if atom.variable.is_proposition and atom.value == "true" else atom.value
            found.setdefault(atom.variable, []).append((value, answer.interval))
    return found


def sketch_of(
    graph: DependencyGraph,
    *,
    view: View = "variables",
    marginals: Iterable[Bounded] = (),
    evidence: Formula = TRUE,
) -> Sketch:
    """Show a graph as one of its views does; intervals are those of variables."""
    match view:
        case "variables":
            return variables_sketch(graph, marginals, evidence)
        case "formulas":
            return formulas_sketch(graph)
        case _:
            raise UnknownName(f"there is no view {view}", advice="Choose one of variables, formulas.")


def variables_sketch(
    graph: DependencyGraph, marginals: Iterable[Bounded] = (), evidence: Formula = TRUE
) -> Sketch:
    """Show the variables, with an arrow from each parent to its child."""
    known, observed = intervals_of(marginals), dict(_observed(evidence))
    nodes = [_variable(graph, x, known, observed) for x in graph.variables]
    edges = {(parent, x) for x, row in enumerate(graph.parent_indices) for parent in row}
    arrows = sorted(edge for edge in edges if edge[::-1] not in edges)
    mutual = sorted(edge for edge in edges if edge[::-1] in edges and edge[0] < edge[1])
    ties, tangled = list[Edge](), set[int]()
    for group in groups(mutual):
        pairs = [pair for pair in mutual if pair[0] in group]
        is_clique = 2 * len(pairs) == len(group) * (len(group) - 1)
        has_lines = not is_clique and len(group) > FEW
        members: list[tuple[int, ...]] = [tuple(sorted(group))] if is_clique else list(pairs)
        if has_lines and len(pairs) >= len(group):
            # Ties that close a ring have no direction; a chain or tree of them is drawn from its top.
            tangled |= group
            members = list(_cliques(pairs))
        for clique in members:
            if len(clique) == 2 and has_lines:
                ties.append((clique[0], clique[1]))
                continue
            ties += [(x, len(nodes)) for x in clique]
            nodes.append(Drawn("", Kind.BRACE, title=_tied([nodes[x].label for x in clique])))
    return Sketch(tuple(nodes), tuple(arrows), tuple(ties), is_tangled=frozenset(tangled))


def _variable(
    graph: DependencyGraph,
    x: Variable,
    known: Mapping[Variable, Sequence[tuple[str, Interval]]],
    observed: Mapping[Variable, str],
) -> Drawn:
    rows = [Row(value, interval) for value, interval in known.get(x, ())]
    shown = rows if len(rows) <= MOST_ROWS else rows[: MOST_ROWS - 1]
    parents = ", ".join(map(str, graph.parents(x))) or "none"
    kind = Kind.OBSERVED if x in observed else Kind.VARIABLE
    title = f"{x.name}\nparents: {parents}"
    title += "".join(f"\n{row.label or 'P'}: {row.interval}" for row in rows)
    return Drawn(shortened(_with_value(x, observed)), kind, tuple(shown), title)


def _with_value(x: Variable, observed: Mapping[Variable, str]) -> str:
    """Name a variable, and the value that was seen of it."""
    if x not in observed:
        return x.name
    is_negated = x.is_proposition and observed[x] == "false"
    return f"not {x.name}" if is_negated else x.name if x.is_proposition else f"{x.name} = {observed[x]}"


def _observed(evidence: Formula) -> Iterator[tuple[Variable, str]]:
    """Yield the values that were seen of variables."""
    match evidence:
        case Is(variable, value):
            yield variable, value
        case And(operands):
            for operand in operands:
                yield from _observed(operand)
        case Not(Is(variable, value)) if variable.is_proposition:
            yield variable, "false" if value == "true" else "true"
        case _:
            return


def _tied(names: Sequence[str]) -> str:
    return f"{', '.join(names)}: each is a parent of the others"


def groups(pairs: Iterable[Edge]) -> list[set[int]]:
    """Return what edges connect, in the order of the least members."""
    home: dict[int, set[int]] = {}
    for one, other in pairs:
        joined = home.get(one, {one}) | home.get(other, {other})
        home.update((node, joined) for node in joined)
    return sorted({id(group): group for group in home.values()}.values(), key=min)


def _cliques(pairs: Sequence[Edge]) -> Iterator[tuple[int, ...]]:
    """Cover ties by groups in which all are tied to all, where that takes fewer lines; else pair by pair."""
    near: dict[int, set[int]] = {}
    for one, other in pairs:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    left = dict.fromkeys(pairs)
    while left:
        pair = next(iter(left))
        clique = _grown(pair, near, left)
        new = [(a, b) for a in clique for b in clique if (a, b) in left]
        if len(new) <= len(clique):
            clique, new = pair, [pair]
        for drawn in new:
            del left[drawn]
        yield tuple(sorted(clique))


def _grown(pair: Edge, near: Mapping[int, set[int]], left: Mapping[Edge, None]) -> tuple[int, ...]:
    """Join to a pair whoever is tied to all and brings most ties that are not drawn yet."""
    clique = list(pair)
    common = near[pair[0]] & near[pair[1]]

    def worth(node: int) -> tuple[int, int, int]:
        gain = sum((min(node, x), max(node, x)) in left for x in clique)
        return gain, len(common & near[node]), -node

    while common:
        best = max(common, key=worth)
        if not worth(best)[0]:
            break
        clique.append(best)
        common &= near[best]
    return tuple(clique)


def formulas_sketch(graph: DependencyGraph) -> Sketch:
    """Show the paper's graph: variables and formulas; a tie joins a claim and each of its atoms."""
    edges = set(graph.edges)
    mutual = [(s, t) for s, t in graph.edges if (t, s) in edges]
    atomic = len(graph.variables)
    kinds = (Kind.VARIABLE if node < atomic else Kind.FORMULA for node in range(len(graph.nodes)))
    nodes = tuple(
        Drawn(shortened(label(node)), kind, title=label(node))
        for node, kind in zip(graph.nodes, kinds, strict=True)
    )
    arrows = tuple((s, t) for s, t in graph.edges if (t, s) not in edges)
    # A tie is kept once, from the claim (whose number is higher) to its atom.
    ties = tuple((s, t) for s, t in mutual if s > t)
    return Sketch(nodes, arrows, ties, upwards=_upwards(graph, arrows, ties))


def _upwards(graph: DependencyGraph, arrows: Sequence[Edge], ties: Sequence[Edge]) -> frozenset[Edge]:
    """Return the edges from variables to formulas of their own cycle.

    Drawn upwards, they leave the variables of the cycle side by side, their formulas above them.
    """
    sources: list[list[int]] = [[] for _ in graph.nodes]
    for source, target in (*arrows, *ties):
        sources[target].append(source)
    home = {node: i for i, component in enumerate(strong_components(sources)) for node in component}
    atomic = len(graph.variables)
    return frozenset((s, t) for s, t in arrows if s < atomic <= t and home[s] == home[t])
