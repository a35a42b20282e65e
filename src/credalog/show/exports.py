"""Write a dependency graph for other programs: as text, DOT, Mermaid, or a graph of networkx.

Input: a `DependencyGraph`, or the `Sketch` of one of its views. Output: text, or an object of networkx.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from credalog.errors import MissingLibrary
from credalog.network.graph import DependencyGraph
from credalog.show.canvas import KINDS
from credalog.show.sketch import Drawn, Edge, Kind, Sketch, formulas_sketch, label

if TYPE_CHECKING:
    from networkx import DiGraph


def as_text(graph: DependencyGraph) -> str:
    """List every node with the edges that leave it, ties as `<->`, then the parents of every variable."""
    sketch, atomic = formulas_sketch(graph), len(graph.variables)
    names = [label(node) for node in graph.nodes]
    lines = [counts(graph), ""]
    arrows, ties = _by_source(sketch.arrows), _by_source((*sketch.ties, *((t, s) for s, t in sketch.ties)))
    for node, name in enumerate(names):
        lines.append(name if node < atomic else f"[{name}]")
        lines.extend(f"    -> {names[target]}" for target in arrows.get(node, ()))
        lines.extend(f"    <-> {names[target]}" for target in ties.get(node, ()))
    lines += ["", "parents"]
    lines.extend(f"    {x}: {', '.join(map(str, graph.parents(x))) or 'none'}" for x in graph.variables)
    return "\n".join(lines) + "\n"


def counts(graph: DependencyGraph) -> str:
    """Say how many variables, formulas and edges a graph has."""
    counted = (("variable", graph.variables), ("formula", graph.formulas), ("edge", graph.edges))
    return ", ".join(f"{len(found):,} {word}{'' if len(found) == 1 else 's'}" for word, found in counted)


def _by_source(edges: Iterable[Edge]) -> dict[int, list[int]]:
    targets: dict[int, list[int]] = {}
    for source, target in edges:
        targets.setdefault(source, []).append(target)
    return targets


# ---- DOT ----------------------------------------------------------------------------------------------


def as_dot(sketch: Sketch) -> str:
    """Write a view in the DOT language, for Graphviz and its many readers."""
    tie = f'[dir=none color="{KINDS["tie"].line}" penwidth=2]'
    lines = ["digraph dependencies {", '  node [fontname="Helvetica"];']
    lines.extend(f"  n{number} [{_dot_look(node)}];" for number, node in enumerate(sketch.nodes))
    lines.extend(f"  n{source} -> n{target};" for source, target in sketch.arrows)
    lines.extend(f"  n{source} -> n{target} {tie};" for source, target in sketch.ties)
    return "\n".join([*lines, "}"]) + "\n"


def _dot_look(node: Drawn) -> str:
    if node.kind is Kind.BRACE:
        return f'shape=point width=0.1 color="{KINDS["brace"].fill}"'
    words = "\\n".join(map(_quoted, _lines(node)))
    look = f'style="rounded,filled" fillcolor="{KINDS[node.kind.value].fill}"'
    return f'label="{words}" shape=box {look if node.kind is not Kind.FORMULA else ""}'.rstrip()


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _lines(node: Drawn) -> list[str]:
    return [node.label, *(f"{row.label} {row.text}".strip() for row in node.rows)]


# ---- Mermaid ------------------------------------------------------------------------------------------


def as_mermaid(sketch: Sketch) -> str:
    """Write a view as a Mermaid flowchart, which many pages draw from its text."""
    lines = ["flowchart TD"]
    lines.extend(f"  n{number}{_mermaid_look(node)}" for number, node in enumerate(sketch.nodes))
    lines.extend(f"  n{source} --> n{target}" for source, target in sketch.arrows)
    lines.extend(f"  n{source} --- n{target}" for source, target in sketch.ties)
    first = len(sketch.arrows)
    if sketch.ties:
        numbers = ",".join(str(first + i) for i in range(len(sketch.ties)))
        lines.append(f"  linkStyle {numbers} stroke:{KINDS['tie'].line},stroke-width:2px")
    lines.append(f"  classDef variable fill:{KINDS['variable'].fill},stroke:{KINDS['variable'].line}")
    lines.append(f"  classDef observed fill:{KINDS['observed'].fill},stroke:{KINDS['observed'].line}")
    return "\n".join(lines) + "\n"


def _mermaid_look(node: Drawn) -> str:
    if node.kind is Kind.BRACE:
        return "(( ))"
    words = "<br/>".join(_entities(line) for line in _lines(node))
    if node.kind is Kind.FORMULA:
        return f'["{words}"]'
    return f'("{words}"):::{node.kind.value}'


def _entities(text: str) -> str:
    """Write what Mermaid would take for its own as numbered characters."""
    return "".join(
        letter if letter.isalnum() or letter in " _,.–'" else f"#{ord(letter)};" for letter in text
    )


# ---- networkx -----------------------------------------------------------------------------------------


def as_networkx(graph: DependencyGraph) -> DiGraph[str]:
    """Return the variables by name, with an edge from each parent to its child."""
    try:
        from networkx import DiGraph
    except ImportError:
        raise MissingLibrary(
            "this graph needs networkx, which is not installed",
            advice="Install it with `pip install networkx`, or use graph.to_dict().",
        ) from None
    found: DiGraph[str] = DiGraph()
    for x in graph.variables:
        found.add_node(x.name, values=list(x.values))
    for child in graph.variables:
        found.add_edges_from((parent.name, child.name) for parent in graph.parents(child))
    return found
