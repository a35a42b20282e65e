"""What must be read to believe a certificate: the definitions that the verifier reaches, with their lines.

Input: the sources of the package. Output: a table for docs/certificates.md. A definition is reached if its
name stands in one that is reached, starting from all of `verify.py`; whole classes count. Run from the
project root: python -m tools.trusted, with --write to put the table into the page.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "credalog"
PAGE = ROOT / "docs" / "certificates.md"
TABLE = re.compile(r"(?<=<!-- trusted -->\n).*?(?=<!-- end -->)", re.DOTALL)

READ = {
    "verify.py": "reads a certificate and judges every step: rows, leaves, cuts, claims",
    "network/meaning.py": "in which states conditions and claims hold; which laws families may have",
    "network/polytopes.py": "vertices and ranges of local polytopes",
    "network/sums.py": "the greatest score where laws are free (proof 26)",
    "network/best_assignments.py": "bounds of assignments of all ancestors (proofs 29 and 35)",
    "network/tables.py": "sums and greatest values of products",
    "network/models.py": "by how much a product of tables misses what a network says",
    "network/copies.py": "a sum across conditions as one under a single condition (proof 20)",
    "grounding/representatives.py": "when a few elements of a theory stand for all (proof 21)",
    "text/packed.py": "lines of a file, and JSON objects",
}
SHARED = {
    "the Markov condition": (
        "network/markov.py",
        "network/graph.py",
        "network/families.py",
        "network/ties.py",
    ),
    "slices of theories": ("grounding/slices.py", "grounding/neighbourhood.py", "grounding/schema.py"),
}
"""What the verifier shares with the engine: read it to believe either."""


def definitions(path: str) -> dict[str, ast.stmt]:
    """Return what a module defines, by name."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse((SOURCE / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
            found |= dict.fromkeys((n for n in names if n != "__all__"), node)
    return found


def names_in(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id


def reached(paths: list[str]) -> dict[str, set[str]]:
    """Return which definitions of each module are reached from the first module."""
    defined = {path: definitions(path) for path in paths}
    found: dict[str, set[str]] = {path: set() for path in paths}
    waiting = [(paths[0], name) for name in defined[paths[0]]]
    while waiting:
        path, name = waiting.pop()
        if name in found[path]:
            continue
        found[path].add(name)
        for other in set(names_in(defined[path][name])):
            homes = [path] if other in defined[path] else [p for p in paths if other in defined[p]]
            waiting += [(home, other) for home in homes]
    return found


def lines(path: str, names: set[str] | None = None) -> int:
    """Count the lines of a module, or of some of its definitions, with their decorators."""
    if names is None:
        return len((SOURCE / path).read_text(encoding="utf-8").splitlines())
    spans = set[int]()
    for name, node in definitions(path).items():
        if name in names:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            spans.update(range(first, (node.end_lineno or first) + 1))
    return len(spans)


def table() -> str:
    """Return the table of the page."""
    found = reached(list(READ))
    rows, total = ["| module | what it says | lines to read | of |", "|---|---|---:|---:|"], 0
    for path, says in READ.items():
        count = lines(path) if path == "verify.py" else lines(path, found[path])
        total += count
        rows.append(f"| `{path}` | {says} | {count} | {lines(path)} |")
    rows.append(f"| **the verifier** | | **{total}** | |")
    for name, paths in SHARED.items():
        count = sum(map(lines, paths))
        rows.append(
            f"| {', '.join(f'`{path}`' for path in paths)} | {name}, shared with the engine | {count} | |"
        )
    return "\n".join(rows) + "\n"


def main(words: list[str]) -> None:
    if "--write" in words:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(TABLE.sub(lambda _: table(), text), encoding="utf-8")
    else:
        print(table(), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
