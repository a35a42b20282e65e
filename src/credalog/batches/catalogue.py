"""Which model a question is put to.

Input: a model, a folder of models, or a template that each row of a table fills. Output: the source of the
model of each question; which of them all workers should have; and a digest of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from credalog.batches.items import Item
from credalog.batches.models import Source
from credalog.batches.reading import filled
from credalog.errors import CredalogError, UnknownName
from credalog.lcn import LCN
from credalog.text.statements import bytes_of

__all__ = ["Catalogue", "Folder", "OneModel", "Several", "Template", "grouped", "grouped_by_model"]

SUFFIXES = (".lcn", ".bif", ".uai")


class Catalogue(Protocol):
    """Where the models of a batch come from."""

    @property
    def shared(self) -> tuple[Source, ...]:
        """Return the models that every worker should have from the beginning."""

    @property
    def content(self) -> bytes:
        """Return what tells these models from others."""

    def source(self, item: Item) -> Source:
        """Return the model of a question."""

    def arranged(self, items: Iterable[Item]) -> list[Item]:
        """Return the questions for these models, those that share work together."""


@dataclass(frozen=True)
class OneModel:
    """One model for all questions."""

    model: LCN

    @cached_property
    def shared(self) -> tuple[Source, ...]:
        """Return the model."""
        return (Source.of_model(self.model),)

    @property
    def content(self) -> bytes:
        """Return the text of the model."""
        return self.model.unparse().encode()

    def source(self, item: Item) -> Source:
        """Return the model; a question that names another has lost its way."""
        if item.model:
            raise UnknownName(
                f"there is no model {item.model}: one model is asked", advice="Name a folder of models."
            )
        return self.shared[0]

    def arranged(self, items: Iterable[Item]) -> list[Item]:
        """Return the questions, those about the same part of the network together."""
        return grouped(items, self.model)


class _Many:
    """Many models, by their names."""

    shared: tuple[Source, ...] = ()

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._last: tuple[str, Source] | None = None

    def source(self, item: Item) -> Source:
        """Return the model that a question names; neighbours name the same."""
        if self._last is None or self._last[0] != item.model:
            if item.model not in self.names_known:
                raise UnknownName(f"there is no model {item.model}", advice=self._known())
            self._last = (item.model, self._read(item.model))
        return self._last[1]

    @cached_property
    def names_known(self) -> frozenset[str]:
        """Return all names."""
        return frozenset(self.names)

    def _known(self) -> str:
        return f"There are {', '.join(self.names[:5])}{', …' if len(self.names) > 5 else ''}."

    def _read(self, name: str) -> Source:
        raise NotImplementedError

    def arranged(self, items: Iterable[Item]) -> list[Item]:
        """Return the questions model by model; one that names no model is put to each of them."""
        return grouped_by_model(self._each(items))

    def _each(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            if item.model or item.wrong:
                yield item
            else:
                yield from (replace(item, id=f"{name}:{item.id}", model=name) for name in self.names)


class Several(_Many):
    """Models of a program, by name."""

    def __init__(self, models: Mapping[str, LCN]) -> None:
        super().__init__(models)
        self._models = models

    @property
    def content(self) -> bytes:
        """Return the texts of all models."""
        return "\0".join(f"{name}\0{model.unparse()}" for name, model in self._models.items()).encode()

    def _read(self, name: str) -> Source:
        return Source.of_model(self._models[name])


class Folder(_Many):
    """The models in the files of a folder."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise UnknownName(f"there is no folder {folder}", advice="Name one with .lcn files in it.")
        found = sorted(p.name for p in self._folder.iterdir() if p.suffix.lower() in SUFFIXES)
        if not found:
            raise CredalogError(
                f"there is no model in {folder}", advice=f"Its files should end in {', '.join(SUFFIXES)}."
            )
        super().__init__(found)

    @property
    def content(self) -> bytes:
        """Return the bytes of all files."""
        return b"\0".join(name.encode() + b"\0" + bytes_of(self._folder / name) for name in self.names)

    def _read(self, name: str) -> Source:
        return Source.of_file(self._folder / name)


@dataclass(frozen=True, slots=True)
class Template:
    """The text of a model with places for the cells of a row."""

    text: str
    shared: tuple[Source, ...] = ()

    @property
    def content(self) -> bytes:
        """Return the text."""
        return self.text.encode()

    def source(self, item: Item) -> Source:
        """Return the text that a row makes of the template."""
        return Source.of_text(filled(self.text, dict(item.row)))

    def arranged(self, items: Iterable[Item]) -> list[Item]:
        """Return the questions as they are."""
        return list(items)


# ---- groups -----------------------------------------------------------------------------------------------
# Put questions that share work next to each other.
# Input: questions, and the model they are put to. Output: the same, ordered by the part of the network that
# bears on them: the variables they mention, with all ancestors of these; then by these variables, and by
# what is observed. What a worker keeps of one question, its answer, relevance, plans and tables, serves the
# next.

NAME = re.compile(r"\b(?=([^\W\d]\w*(?:\([^()|]*\))?))")
"""A word that may be the name of a variable, with the elements it is about; others may begin inside: P(a)."""


def grouped(items: Iterable[Item], model: LCN) -> list[Item]:
    """Return questions about one model, those about the same part of it together."""
    if model.is_large:
        return list(items)
    parts = _Parts(model)
    return sorted(items, key=parts.key)


def grouped_by_model(items: Iterable[Item]) -> list[Item]:
    """Return questions about many models, those about the same one together, in the order of appearance."""
    first: dict[str, int] = {}
    return sorted(items, key=lambda item: first.setdefault(item.model, len(first)))


class _Parts:
    """The part of a network that bears on each question, as the bits of a number."""

    def __init__(self, model: LCN) -> None:
        graph = model.graph
        self._parts: dict[int, int] = {}
        self._mentioned: dict[int, int] = {}
        self._conditions: dict[str, int] = {}
        self._number = {v.name.replace(" ", ""): i for i, v in enumerate(graph.variables)}
        self._above = _ancestors(graph.parent_indices)

    def key(self, item: Item) -> tuple[int, int, int]:
        """Return what questions that share work have alike: a part, variables, and what is observed."""
        part = mentioned = 0
        for word in _words(item):
            number = self._number.get(word)
            if number is not None:
                part |= self._above[number]
                mentioned |= 1 << number
        observed = f"{item.query.partition('|')[2]} {item.given}"
        return (
            self._parts.setdefault(part, len(self._parts)),
            self._mentioned.setdefault(mentioned, len(self._mentioned)),
            self._conditions.setdefault(observed, len(self._conditions)),
        )


def _words(item: Item) -> Iterable[str]:
    text = item.query if not isinstance(item.given, str) else f"{item.query} {item.given}"
    yield from (word.replace(" ", "") for word in NAME.findall(text))
    if not isinstance(item.given, str):
        yield from (name.replace(" ", "") for name, _ in item.given)


def _ancestors(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return each variable with its ancestors, as bits; a cycle of parents is followed until it closes."""
    above = [1 << i for i in range(len(parents))]
    changed = True
    while changed:
        changed = False
        for child, its in enumerate(parents):
            found = above[child]
            for parent in its:
                found |= above[parent]
            if found != above[child]:
                above[child], changed = found, True
    return above
