"""Turn a graph of claims into tables: nodes, contexts, and a table for each relation between two nodes.

Input: a JSON file in the form of IBM/FactReasoner, `nodes` with id, type and probability and `edges` with
from, to, relation and probability. Output: CSV files in a folder, which `rules.lcn` reads.

    python tables.py graph.json FOLDER
    python tables.py --generate 200 FOLDER
"""

from __future__ import annotations

import csv
import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RELATIONS = ("entailment", "contradiction", "equivalence")
Graph = dict[str, list[dict[str, Any]]]


def write_tables(graph: Graph, folder: Path) -> None:
    """Write the tables of a graph."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes, edges = graph["nodes"], graph["edges"]
    _write(folder / "nodes.csv", ("id", "type", "probability"), nodes)
    contexts = [node for node in nodes if node["type"] == "context"]
    _write(folder / "contexts.csv", ("id", "probability"), contexts)
    for relation in RELATIONS:
        related = [edge for edge in edges if edge["relation"] == relation]
        _write(folder / f"{relation}.csv", ("from", "to", "probability"), related)


def _write(path: Path, columns: tuple[str, ...], rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def generated(count: int, seed: int = 0) -> Graph:
    """Draw a graph: a third of the nodes are claims, each with two or three documents around it."""
    draw = random.Random(seed)
    claims = [f"a{i}" for i in range(count // 3)]
    contexts = [f"c{i}" for i in range(count - len(claims))]
    nodes = [{"id": claim, "type": "atom", "probability": 0.5} for claim in claims]
    for context in contexts:
        nodes.append({"id": context, "type": "context", "probability": draw.choice((0.8, 0.9, 0.99))})
    edges = []
    for i, context in enumerate(contexts):
        relation = draw.choices(RELATIONS[:2], (3, 1))[0]
        score = round(draw.uniform(0.6, 0.85), 2)
        pair = {"from": context, "to": claims[i % len(claims)]}
        edges.append({**pair, "relation": relation, "probability": score})
    for i in range(len(claims), len(contexts), 5):
        pair = {"from": contexts[i - len(claims)], "to": contexts[i]}
        edges.append({**pair, "relation": "equivalence", "probability": round(draw.uniform(0.5, 0.8), 2)})
    return {"nodes": nodes, "edges": edges}


def main(arguments: list[str]) -> None:
    """Read or draw a graph, and write its tables."""
    if arguments[0] == "--generate":
        graph, folder = generated(int(arguments[1])), Path(arguments[2])
    else:
        graph, folder = json.loads(Path(arguments[0]).read_text(encoding="utf-8")), Path(arguments[1])
    write_tables(graph, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
