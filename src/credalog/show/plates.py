"""Draw a first-order theory before it is grounded: predicates in plates.

Input: a `Theory`. Output: a `Picture` whose size does not depend on the domains. A node is a predicate or an
indexed random variable; the plates around it say for whom there is one. An arrow leads from each predicate of
a condition to those of the claim, a line without head joins predicates that a claim ties; the rules stand
below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from credalog.show.canvas import Curve, Picture, Point, Rectangle, Shape, Words, moved, text_width
from credalog.show.drawing import MARGIN, node_shape, size_of, stroke
from credalog.show.layout import Edge, Size, lay_out
from credalog.show.routing import Router
from credalog.show.sketch import Drawn, Kind, shortened
from credalog.text.unparse import unparse_rule
from credalog.theory import (
    YES,
    Application,
    Assessment,
    Binder,
    Body,
    Comparison,
    Compound,
    Computed,
    Constant,
    ContrastAssessment,
    Domain,
    Expected,
    FamilyTable,
    Function,
    Name,
    NumberFunction,
    Pattern,
    Predicate,
    Quantified,
    RandomFunction,
    Relation,
    Row,
    Rule,
    Shifted,
    Term,
    Theory,
)
from credalog.theory.rules import kinds

INSET, LABEL_HEIGHT, LOOP = 16.0, 20.0, 24.0
RULE_HEIGHT = 16.0
MOST_RULES, LONGEST_RULE = 14, 120


def picture_of_theory(theory: Theory) -> Picture:
    """Draw the predicates of a theory in plates, and its rules below them."""
    schema = _Schema(theory)
    root = schema.plates()
    places, plates, size = _absolute(schema, root)
    edges = _edge_shapes(schema, places)
    nodes: list[Shape] = [node_shape(node, places[i], size_of(node)) for i, node in enumerate(schema.nodes)]
    rules = [_shown(rule) for rule in kinds(theory.rules)]
    legend, (width, height) = _legend(rules, size)
    title = f"{len(schema.nodes)} predicates and {len(rules)} rules, before grounding"
    return Picture(width, height, (*plates, *edges, *nodes, *legend), title)


def _shown(rule: Rule) -> str:
    text = unparse_rule(rule)
    return text if len(text) <= LONGEST_RULE else f"{text[: LONGEST_RULE - 2]} …"


def _legend(rules: Sequence[str], size: Size) -> tuple[list[Shape], Size]:
    """Write the rules below the picture."""
    more = len(rules) - MOST_RULES
    lines = [*rules[:MOST_RULES], *([f"… and {more:,} more"] if more > 0 else [])]
    top = size[1] + RULE_HEIGHT
    shapes: list[Shape] = [
        Words("note", MARGIN, top + i * RULE_HEIGHT, line, "start") for i, line in enumerate(lines)
    ]
    widest = max((text_width(line, 11.0) for line in lines), default=0.0)
    return shapes, (max(size[0], widest + 2 * MARGIN), top + len(lines) * RULE_HEIGHT + MARGIN / 2)


# ---- what depends on what -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Plate:
    """A plate: over which sort it repeats what is in it, and what that is."""

    label: str
    nodes: list[int] = field(default_factory=list)
    inner: dict[str, _Plate] = field(default_factory=dict)

    def members(self) -> Iterator[int]:
        """Yield the nodes of this plate and of those in it."""
        yield from self.nodes
        for plate in self.inner.values():
            yield from plate.members()


class _Schema:
    """The random predicates of a theory, and the arrows and ties that its rules draw between them."""

    def __init__(self, theory: Theory) -> None:
        self._sizes = {d.name: len(d.elements) for d in theory.declarations if isinstance(d, Domain)}
        self._sorts: dict[str, tuple[str, ...]] = {}
        self._fixed: set[str] = set()
        for declaration in theory.declarations:
            match declaration:
                case Predicate() | RandomFunction():
                    self._sorts[declaration.name] = declaration.sorts
                case Domain(name, elements):
                    self._fixed |= {name, *elements}
                case Constant() | Relation() | Function() | NumberFunction():
                    self._fixed.add(declaration.name)
        self._letters: dict[str, list[str]] = {}
        self.arrows: dict[tuple[str, str], None] = {}
        self.ties: dict[tuple[str, str], None] = {}
        for rule in kinds(theory.rules):
            self._add(rule)
        self.names = list(self._sorts)
        self.nodes = [Drawn(shortened(self._label(name)), Kind.VARIABLE, title=name) for name in self.names]

    def _add(self, rule: Rule) -> None:
        bound = frozenset(name for binder in rule.prefix.binders for name in binder.names)
        for binder in rule.prefix.binders:
            self._name_variables(binder)
        claimed, conditions = list[str](), list[str]()
        for claims, givens in _sides(rule.assessment):
            claimed += [atom for claim in claims for atom in self._atoms(claim, bound)]
            conditions += [atom for given in givens for atom in self._atoms(given, bound)]
        self.arrows.update(dict.fromkeys((one, other) for one in conditions for other in claimed))
        if rule.tau:
            pairs = ((a, b) for i, a in enumerate(claimed) for b in claimed[i + 1 :])
            self.ties.update(dict.fromkeys((min(pair), max(pair)) for pair in pairs))

    def _name_variables(self, binder: Binder) -> None:
        letters = self._letters.setdefault(binder.sort, [])
        letters += [name for name in binder.names if name not in letters]

    def _atoms(self, pattern: Pattern | Term, bound: frozenset[str]) -> Iterator[str]:
        """Yield the random predicates in a formula; one that is not declared is a proposition."""
        match pattern:
            case Name(name):
                if name not in bound and name not in self._fixed and not name.lstrip("-").isdigit():
                    self._sorts.setdefault(name, ())
                    yield name
            case Application(name):
                if name in self._sorts:
                    yield name
            case Comparison(_, left, right):
                # Of `Color = red` only what is declared as random is meant.
                yield from (n for side in (left, right) for n in self._declared(side))
            case Compound(_, operands):
                for operand in operands:
                    yield from self._atoms(operand, bound)
            case Quantified(_, prefix, body):
                inner = frozenset(name for binder in prefix.binders for name in binder.names)
                yield from self._atoms(body, bound | inner)
            case _:
                return

    def _declared(self, term: Term) -> Iterator[str]:
        match term:
            case Name(name) | Application(name):
                if name in self._sorts:
                    yield name
            case Shifted(term=inner):
                yield from self._declared(inner)

    def _label(self, name: str) -> str:
        sorts = self._sorts[name]
        arguments = [self._letter(sort, sorts[:i].count(sort)) for i, sort in enumerate(sorts)]
        return f"{name}({','.join(arguments)})" if arguments else name

    def _letter(self, sort: str, number: int) -> str:
        """Return the logical variable that stands for the elements of a sort, as the rules call it."""
        letters = self._letters.get(sort, [])
        return letters[number] if number < len(letters) else f"{sort[:1].lower()}{number + 1}"

    def plates(self) -> _Plate:
        """Put each predicate into the plates of its sorts, one in the other."""
        root, order = _Plate(""), list(self._sizes)
        for number, name in enumerate(self.names):
            plate, seen = root, dict[str, int]()
            sorts = self._sorts[name]
            for sort in sorted(sorts, key=lambda s: order.index(s) if s in order else len(order)):
                letter = self._letter(sort, seen.get(sort, 0))
                seen[sort] = seen.get(sort, 0) + 1
                size = self._sizes.get(sort, 0)
                shown = f"{letter} in {sort}" + (f" ({size:,})" if size else "")
                plate = plate.inner.setdefault(shown, _Plate(shown))
            plate.nodes.append(number)
        return root

    def edges(self) -> tuple[list[Edge], list[Edge]]:
        """Return arrows and ties between numbers of nodes."""
        number = {name: i for i, name in enumerate(self.names)}
        arrows = [(number[a], number[b]) for a, b in self.arrows]
        return arrows, [(number[a], number[b]) for a, b in self.ties]


def _sides(body: Body) -> Iterator[tuple[Sequence[Pattern | Term], Sequence[Pattern | Term]]]:
    """Yield what a rule claims, and under which conditions."""
    match body:
        case Assessment(claims, given):
            yield [claim for _, claim in claims], [given]
        case Computed(claims, given, givens=givens):
            yield [claim for _, claim in claims], [given, *givens]
        case ContrastAssessment(terms):
            for term in terms:
                claim = term.claim.term if isinstance(term.claim, Expected) else term.claim
                yield [claim], [term.given]
        case Row(claim, given):
            yield [claim], [given]
        case FamilyTable(claim, parents):
            yield [claim], parents or [YES]


# ---- where it goes ------------------------------------------------------------------------------------


def _absolute(schema: _Schema, root: _Plate) -> tuple[list[Point], list[Shape], Size]:
    """Place all nodes and plates on the page."""
    places: dict[int, Point] = {}
    plates: list[Shape] = []
    arrows, ties = schema.edges()
    size = _place(schema, root, [*arrows, *ties], places, plates)
    places_of = [(places[i][0] + MARGIN, places[i][1] + MARGIN) for i in range(len(schema.nodes))]
    return places_of, _shifted(plates, (MARGIN, MARGIN)), (size[0] + 2 * MARGIN, size[1] + MARGIN)


def _place(
    schema: _Schema, plate: _Plate, edges: Sequence[Edge], places: dict[int, Point], plates: list[Shape]
) -> Size:
    """Place what is in a plate, from its upper left corner; return how large that is."""
    inner = list(plate.inner.values())
    own: list[tuple[dict[int, Point], list[Shape]]] = []
    sizes: list[Size] = [_roomy(schema, node) for node in plate.nodes]
    home = {node: i for i, node in enumerate(plate.nodes)}
    for number, one in enumerate(inner, start=len(plate.nodes)):
        found: dict[int, Point] = {}
        shapes: list[Shape] = []
        width, height = _place(schema, one, edges, found, shapes)
        # Arrows leave downwards from the middle: the label keeps to the right of it.
        wide = max(width, 2.0 * text_width(one.label, 11.0) + 16.0)
        sizes.append((wide + 2 * INSET, height + INSET + LABEL_HEIGHT))
        inset = ((wide - width) / 2, 0.0)
        own.append(({node: (x + inset[0], y) for node, (x, y) in found.items()}, _shifted(shapes, inset)))
        home.update(dict.fromkeys(one.members(), number))
    lifted = {(home[a], home[b]) for a, b in edges if a in home and b in home and home[a] != home[b]}
    layout = lay_out(sizes, sorted(pair for pair in lifted if pair[::-1] not in lifted or pair[0] < pair[1]))
    places.update((node, layout.nodes[i]) for i, node in enumerate(plate.nodes))
    for (found, shapes), one, at, size in zip(
        own, inner, layout.nodes[len(plate.nodes) :], sizes[len(plate.nodes) :], strict=True
    ):
        left, top = at[0] - size[0] / 2, at[1] - size[1] / 2
        plates.append(Rectangle("plate", left, top, *size, 8.0))
        label = (left + size[0] - 8.0, top + size[1] - LABEL_HEIGHT / 2)
        plates.append(Words("note", *label, one.label, "end"))
        plates += _shifted(shapes, (left + INSET, top + INSET))
        places.update((node, (x + left + INSET, y + top + INSET)) for node, (x, y) in found.items())
    return layout.width, layout.height


def _shifted(shapes: Iterable[Shape], by: Point) -> list[Shape]:
    return [moved(shape, by) for shape in shapes]


def _roomy(schema: _Schema, node: int) -> Size:
    """Return the size of a node with room for edges to itself."""
    width, height = size_of(schema.nodes[node])
    arrows, ties = schema.edges()
    loops = ((node, node) in arrows) + ((node, node) in ties)
    return (width + 2 * LOOP, height) if loops else (width, height)


def _edge_shapes(schema: _Schema, places: Sequence[Point]) -> list[Shape]:
    arrows, ties = schema.edges()
    sizes = [size_of(node) for node in schema.nodes]
    router = Router(places, sizes)
    shapes: list[Shape] = []
    for edges, is_tie in ((arrows, False), (ties, True)):
        between = [edge for edge in edges if edge[0] != edge[1]]
        shapes += [stroke(curve, is_tie=is_tie) for curve in router.routes(between).values()]
        side = -1.0 if is_tie else 1.0
        loops = [_loop(places[a], sizes[a], side) for a, b in edges if a == b]
        shapes += [stroke(curve, is_tie=is_tie) for curve in loops]
    return shapes


def _loop(at: Point, size: Size, side: float) -> Curve:
    """Return a loop at the right or the left side of a node."""
    x, y = at[0] + side * size[0] / 2, at[1]
    far = x + side * 1.3 * LOOP
    return (x, y - 8.0), (far, y - 16.0), (far, y + 16.0), (x, y + 8.0)
