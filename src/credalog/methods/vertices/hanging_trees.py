"""Trees that hang on a loopy network, each replaced by the set of messages it may send.

Input: the tables of the relevant families. Output: `Trimmed`: fewer tables that allow exactly the same
posteriors, and the way back from a choice of vertices in these to one in the original tables.

A tree below a variable x sends one of finitely many vectors over the values of x (`messages`). It becomes a
hidden variable without parents, one value per vector and every distribution allowed, and an observed child of
the hidden variable and x that has exactly that vector as its probabilities. A tree above a parent s becomes
the credal set of s itself: the directions of its messages, scaled to sum to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.vertices.messages import Messages
from credalog.methods.vertices.tree import Arc, Tree
from credalog.numbers.budget import Budget, OutOfTime
from credalog.tables.credal import Choice, Question, Table

__all__ = ["Trimmed", "core", "trim"]

MAX_VECTORS = 512
"""A tree that sends more vectors than this is left as it is."""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Tables without trees, what is observed in them, and the messages that stand for trees.

    `replaced` maps the variable whose vertices are messages to these messages.
    """

    tables: Mapping[int, Table]
    asked: Question
    sizes: Sequence[int]
    replaced: Mapping[int, Messages]

    @property
    def error(self) -> float:
        """Bound the relative error of all messages together."""
        return sum(messages.error for messages in self.replaced.values())

    def choices(self, chosen: Sequence[Choice]) -> Iterator[Choice]:
        """Translate a choice of vertices back to the original tables."""
        for choice in chosen:
            if choice.variable in self.replaced:
                yield from self.replaced[choice.variable].choices(choice.vertex)
            else:
                yield choice


def trim(tables: Mapping[int, Table], asked: Question, sizes: Sequence[int], *, budget: Budget) -> Trimmed:
    """Replace the trees that hang on what connects the query's variable with loops."""
    tree = Tree.of(tables, sizes, asked.observed, budget)
    kept = core(tree, asked.target)
    trimmed = Trimmed(dict(tables), asked, tuple(sizes), {})
    for x in sorted(kept):
        for y in tree.neighbours(x):
            if y not in kept:
                trimmed = _without(trimmed, tree, (y, x))
    return trimmed


def core(tree: Tree, target: int) -> set[int]:
    """Strip variables with one neighbour, but for the query's, until none is left."""
    kept = set(tree.tables)
    degree = {x: len(tree.neighbours(x)) for x in kept}
    loose = [x for x in tree.tables if degree[x] <= 1 and x != target]
    while loose:
        x = loose.pop()
        kept.remove(x)
        for y in tree.neighbours(x):
            if y in kept:
                degree[y] -= 1
                if degree[y] == 1 and y != target:
                    loose.append(y)
    return kept


def _without(trimmed: Trimmed, tree: Tree, arc: Arc) -> Trimmed:
    """Replace the tree beyond one arc, unless its messages are too many."""
    try:
        messages = tree.message(*arc)
    except (OutOfTime, ProblemTooLarge):
        return trimmed
    beyond = {source for source, _ in tree.schedule(*arc)}
    if len(messages.vectors) > MAX_VECTORS or len(beyond) == 1:
        return trimmed
    rest = {x: table for x, table in trimmed.tables.items() if x not in beyond}
    if arc[1] in tree.tables[arc[0]].parents:
        return _with_hidden(trimmed, rest, arc[1], messages)
    return _with_root(trimmed, rest, arc[0], messages)


def _with_root(trimmed: Trimmed, rest: dict[int, Table], root: int, messages: Messages) -> Trimmed:
    vectors = messages.vectors / messages.vectors.sum(axis=1, keepdims=True)
    tables = {**rest, root: Table(root, (), vectors, ())}
    return Trimmed(tables, trimmed.asked, trimmed.sizes, {**trimmed.replaced, root: messages})


def _with_hidden(trimmed: Trimmed, rest: dict[int, Table], x: int, messages: Messages) -> Trimmed:
    """Add a hidden choice among the vectors, and an observation that each of them explains."""
    hidden, shown = len(trimmed.sizes), len(trimmed.sizes) + 1
    vectors = messages.vectors
    explained = np.stack([1 - vectors, vectors], axis=-1)[:, :, None, :]
    tables = {
        **rest,
        hidden: Table(hidden, (), np.eye(len(vectors)), ()),
        shown: Table(shown, (hidden, x), explained, (None, None)),
    }
    asked = trimmed.asked
    return Trimmed(
        tables,
        Question(asked.target, asked.event, {**asked.observed, shown: 1}),
        (*trimmed.sizes, len(vectors), 2),
        {**trimmed.replaced, hidden: messages},
    )
