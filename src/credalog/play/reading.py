"""What the editor shows while one types: mistakes, names to complete, sentences, the graph.

Input: a page. Output: objects for JSON. Nothing here asks how probable anything is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, TypeAlias

from credalog.errors import CredalogError, GroundingTooLarge
from credalog.lcn import LCN
from credalog.network.formulas import TRUE, Formula, Variable, scope
from credalog.network.graph import DependencyGraph, independences
from credalog.network.sentences import Contrast, Network, Sentence
from credalog.network.summary import ties
from credalog.play.limits import DRAWN, LISTED, SENTENCES
from credalog.play.pages import Page, mistakes, told
from credalog.show.canvas import text_width
from credalog.show.drawing import placed
from credalog.show.layout import Size
from credalog.show.sketch import Drawn, Kind, Sketch, sketch_of
from credalog.text.statements import statements
from credalog.text.unparse import said

__all__ = ["looked_at", "picture", "place_of", "read"]


def read(page: Page, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Say what a page amounts to, or what is wrong with it."""
    try:
        model = page.stated()
    except CredalogError as error:
        return {"mistakes": mistakes(page, error)}
    try:
        network = model.ground(limit=SENTENCES)
        queries = [str(query) for query in islice(model.queries, LISTED)]
        evidence = model.evidence
    except GroundingTooLarge as error:
        asked = {"queries": _few_queries(model), "large": told(error, page)}
        return {"mistakes": [], "names": _declared(model), **asked}
    except CredalogError as error:
        return {"mistakes": mistakes(page, error)}
    return {
        "mistakes": [],
        "names": [*_declared(model), *(x.name for x in islice(network.variables, LISTED))],
        "values": _values(network),
        "counts": {"variables": len(network.variables), "sentences": _count(network)},
        "queries": queries,
        "evidence": "" if evidence == TRUE else str(evidence),
        "wanted": model.wanted,
        "graph": _graph(model, _observed(model, page), sent),
        "tied": _tied(network),
    }


def _observed(model: LCN, page: Page) -> list[Formula]:
    """Return what the page observes of this model; what is wrong with it the answers will say."""
    found = list[Formula]()
    for observed in page.given:
        with suppress(CredalogError):
            found.append(model.formula(observed))
    return found


def _graph(model: LCN, given: Sequence[Formula], sent: Mapping[str, Any]) -> dict[str, Any]:
    around = [x for query in model.queries for x in query.scope if x in model.graph.variables]
    if (name := sent.get("around")) and name in {x.name for x in model.variables}:
        around = [model.variable(str(name))]
    drawn = picture(model.graph, around[:DRAWN], formulas="shown" if sent.get("formulas") else "")
    focus = around[0].name if around and len(model.variables) > DRAWN else None
    return drawn | {"observed": [x.name for x in scope(model.evidence, *given)], "focus": focus}


def _few_queries(model: LCN) -> list[str]:
    """Return the queries of a large theory, if each is one question."""
    if any(rule.prefix.binders for rule in model.theory.queries):
        return []
    return [str(query) for query in islice(model.queries, LISTED)]


def _declared(model: LCN) -> list[str]:
    """Return the names that a text introduces: of declarations, of elements, of labels."""
    theory, names = model.theory, list[str]()
    for declaration in islice(theory.declarations, LISTED):
        names.append(declaration.name)
        names += islice(getattr(declaration, "elements", ()), LISTED)
    return list(dict.fromkeys(names))


def _values(network: Network) -> dict[str, list[str]]:
    """Return the values of variables that are no propositions."""
    return {x.name: list(x.values) for x in islice(network.variables, LISTED) if not x.is_proposition}


def _count(network: Network) -> int:
    return len(network.sentences) + len(network.contrasts)


def _tied(network: Network) -> list[dict[str, Any]]:
    """Return the sentences that tie atoms to each other, the first ones."""
    found = islice(ties(network), DRAWN)
    return [{"names": [x.name for x in s.claim_scope], "says": said(s), **place_of(s)} for s in found]


def place_of(sentence: Sentence | Contrast) -> dict[str, Any]:
    """Return where a sentence stands, and what it is called."""
    source = sentence.source
    file, line = ("", None) if source is None else (source.file, source.line)
    return {"label": sentence.label or "", "file": file, "line": line}


def looked_at(page: Page, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Say of one variable what it depends on, what it is independent of, and what is said of it."""
    model = page.stated()
    model.ground(limit=SENTENCES)
    x = model.variable(str(sent.get("name", "")))
    graph = model.graph
    (independent, *_) = [*independences(graph, [x]), None]
    return {
        "name": x.name,
        "values": [] if x.is_proposition else list(x.values),
        "parents": [y.name for y in graph.parents(x)],
        "children": [y.name for y in graph.children(x)],
        "descendants": len(graph.descendants(x)),
        "independent": [] if independent is None else [y.name for y in independent.right],
        "declared": [str(one) for one in model.ground().independences if x in (*one.left, *one.right)],
        "sentences": list(islice(_about(model.ground(), x), LISTED)),
    }


def _about(network: Network, x: Variable) -> Iterator[dict[str, Any]]:
    for sentence in network.sentences:
        if x in sentence.claim_scope:
            yield {"says": said(sentence), "role": "claim", **place_of(sentence)}
        elif x in scope(sentence.given):
            yield {"says": said(sentence), "role": "condition", **place_of(sentence)}
    for contrast in network.contrasts:
        if x in scope(*(formula for term in contrast.terms for formula in (term.claim, term.given))):
            yield {"says": str(contrast), "role": "claim", **place_of(contrast)}


def spans(text: str) -> dict[int, int]:
    """Return how many lines each statement of a text takes, by its first."""
    return {one.line: one.text.count("\n") + 1 for one in statements(text)}


# ---- the picture ------------------------------------------------------------------------------------------
# The dependency graph for people: variables with their parents, or with the formulas between them.
# Input: a network's graph. Output: places of nodes and curves of edges, for the page to draw. Of a large
# graph only the part around some variables is placed.

Edge: TypeAlias = tuple[int, int]

LETTERS, SMALL, ROOM, LEAST, HEIGHT = 15.5, 12.5, 22.0, 104.0, 52.0
"""The sizes of letters, what a node needs beside its name, and the room for an interval below it.

The page writes names at 13.5, but bold, which is wider.
"""

LONGEST = 32
"""A longer name loses its middle."""

DOT = 7.0
"""The size of the dot that joins variables which are all tied to each other."""


def picture(graph: DependencyGraph, around: Sequence[Variable] = (), *, formulas: str = "") -> dict[str, Any]:
    """Place the variables of a graph; `formulas="shown"` places the nodes of formulas between them."""
    if len(graph.variables) > DRAWN:
        sketch = _part(graph, _nearest(graph, around))
    else:
        is_whole = bool(formulas) and len(graph.nodes) <= DRAWN
        sketch = sketch_of(graph, view="formulas" if is_whole else "variables")
    names = [node.title.partition("\n")[0] or node.label for node in sketch.nodes]
    shown = [_shortened(name) for name in names]
    values = {x.name: x.values[0] for x in graph.variables if not x.is_proposition}
    sizes = [_size(sketch.nodes[i], name, values.get(names[i], "")) for i, name in enumerate(shown)]
    whole, ties = placed(sketch, sizes), set(sketch.ties)
    nodes = [
        {"name": names[i], "shown": shown[i], "x": x, "y": y, "width": sizes[i][0], "kind": node.kind.value}
        for i, (node, (x, y)) in enumerate((node, whole.nodes[i]) for i, node in enumerate(sketch.nodes))
    ]
    edges = [{"points": curve, "tie": edge in ties} for edge, curve in whole.edges.items()]
    size = {"width": whole.width, "height": whole.height}
    return {"nodes": nodes, "edges": edges, **size, "variables": len(graph.variables)}


def _size(node: Drawn, name: str, value: str) -> Size:
    """Return the room for a name, and below it for a value with its interval."""
    if node.kind is Kind.BRACE:
        return DOT, DOT
    return max(text_width(name, LETTERS) + ROOM, LEAST + text_width(value, SMALL)), HEIGHT


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[-LONGEST // 3 :]}"


def _nearest(graph: DependencyGraph, around: Sequence[Variable]) -> list[int]:
    """Return the numbers of the variables nearest to some."""
    found = dict.fromkeys(graph.index(x) for x in around) or {0: None}
    queue = list(found)
    for v in queue:
        near = (*graph.parent_indices[v], *graph.child_indices[v])
        fresh = [n for n in near if n not in found][: max(0, DRAWN - len(found))]
        found.update(dict.fromkeys(fresh))
        queue += fresh
    return sorted(found)


def _part(graph: DependencyGraph, chosen: Sequence[int]) -> Sketch:
    """Show some of the variables, each tie as a line."""
    number = {v: i for i, v in enumerate(chosen)}
    edges = {(number[p], number[v]) for v in chosen for p in graph.parent_indices[v] if p in number}
    nodes = tuple(Drawn(graph.variables[v].name, Kind.VARIABLE) for v in chosen)
    arrows = sorted((s, t) for s, t in edges if (t, s) not in edges)
    ties = sorted((s, t) for s, t in edges if s < t and (t, s) in edges)
    return Sketch(nodes, tuple(arrows), tuple(ties))
