"""Read a long text of plain sentences at once.

Input: a text, most lines of which are sentences about propositions. Output: `Lines`, and the other
statements in their places; or nothing where the text is of another kind. A line that is not understood here,
for whatever reason, is left to the reader of single statements, which explains what is wrong with it.

The tokens of a line decide its form by their kinds, as in `statements`: one line of each form is parsed, with
placeholders for its names and numbers, and shows where these stand in the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from credalog.errors import CredalogError
from credalog.network.sentences import exact
from credalog.text.statements import TOKEN, Kinds, Statement
from credalog.theory import Assessment, Boolean, Compound, Name, Pattern, Prefix, Rule
from credalog.theory.rules import NONE, Form, Lines, Words

__all__ = ["plain_statements"]

CHUNK = 4_000_000
"""So many characters are cut into tokens at once."""

MOST_OTHERS = 5_000
"""A text with more lines of other kinds is read line by line."""

LONGEST = 128
"""A line with more tokens is read by itself."""

_TOKENS = re.compile(rf"\n|{TOKEN}")
_COMMENT = re.compile(r"#.*")
_LABELS, _NUMBERS, _NAMES, _INTEGERS = "a.b", "0.5", "a", "1 "
_BREAK = 0
"""The number of the line break among words and kinds."""


def plain_statements(
    text: str, file: str, value: Callable[[Statement], object]
) -> list[Lines | Statement] | None:
    """Return the lines of a text and its other statements, in order; None if it is not such a text."""
    # Quotes and braces may reach over several lines, or hide what looks like a comment.
    if any(mark in text for mark in '"{}'):
        return None
    scan = _Scan(value)
    bare = _COMMENT.sub("", text) if "#" in text else text
    for chunk, first in _chunks(bare):
        if not scan.add(chunk, first):
            return None
    return scan.parts(file, bare)


def _chunks(text: str) -> Iterator[tuple[str, int]]:
    """Cut a text at line breaks; yield each piece with the number of its first line."""
    start, line = 0, 1
    while start < len(text):
        stop = text.find("\n", start + CHUNK)
        stop = len(text) if stop < 0 else stop + 1
        chunk = text[start:stop]
        yield chunk, line
        start, line = stop, line + chunk.count("\n")


class _Table(dict[str, int]):
    """A number for every word met, and the kind of each."""

    def __init__(self) -> None:
        super().__init__({"\n": _BREAK})
        self.words = ["\n"]
        self._kind_of = Kinds()
        self._kinds = {"\n": _BREAK}
        self._numbers = np.zeros(1024, dtype=np.int32)

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self.words)
        self.words.append(word)
        # 0 and 1 are bounds; any other integer is none.
        kind = self._kind_of[word]
        if kind == "1":
            kind = word if word in ("0", "1") else _INTEGERS
        if number >= len(self._numbers):
            self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)])
        self._numbers[number] = self._kinds.setdefault(kind, len(self._kinds))
        return number

    @property
    def kinds(self) -> NDArray[np.int32]:
        """Return the kind of each word as a number."""
        return self._numbers

    def kind(self, name: str) -> int:
        """Return the number of a kind, -1 if no word is of it."""
        return self._kinds.get(name, -1)


class _Draft:
    """A form of lines and what was found of it."""

    def __init__(self, rule: Rule, names: list[int], ends: tuple[int, int], label: int) -> None:
        self.rule, self.names, self.ends, self.label = rule, names, ends, label
        self.rows: list[NDArray[np.int32]] = []
        self.where: list[NDArray[np.int64]] = []

    def form(self) -> Form:
        """Return what was found."""
        rows = np.concatenate(self.rows)
        lower, upper, label = (
            np.full(len(rows), NONE, dtype=np.int32) if place == NONE else rows[:, place]
            for place in (*self.ends, self.label)
        )
        return Form(
            self.rule,
            tuple(_placeholder(place) for place in self.names),
            rows[:, self.names],
            lower,
            upper,
            label,
            np.concatenate(self.where),
        )


def _placeholder(place: int) -> str:
    return f"name{place}"


class _Scan:
    """The lines met so far, sorted by form."""

    def __init__(self, value: Callable[[Statement], object]) -> None:
        self._value = value
        self._table = _Table()
        self._drafts: dict[bytes, _Draft | None] = {}
        self._lines: list[NDArray[np.int64]] = []
        self._others: list[NDArray[np.int64]] = []
        self._count = self._other_count = 0
        rng = np.random.default_rng(0)
        self._weights = rng.integers(1, 2**63, size=LONGEST, dtype=np.uint64) | np.uint64(1)

    def add(self, chunk: str, first: int) -> bool:
        """Add the lines of a chunk; tell whether the text is still worth it."""
        words = _TOKENS.findall(chunk if chunk.endswith("\n") else chunk + "\n")
        numbers = np.fromiter(map(self._table.__getitem__, words), dtype=np.int32, count=len(words))
        ends = np.flatnonzero(numbers == _BREAK)
        starts = np.concatenate([[0], ends[:-1] + 1])
        lengths = ends - starts
        filled = np.flatnonzero(lengths)
        self._lines.append(filled + first)
        kinds = self._table.kinds[numbers]
        if not self._is_closed(numbers, starts[filled]):
            return False
        self._sort(numbers, kinds, starts[filled], lengths[filled])
        self._count += len(filled)
        return self._other_count <= MOST_OTHERS

    def _is_closed(self, numbers: NDArray[np.int32], starts: NDArray[np.int64]) -> bool:
        """Tell whether every bracket is closed in its line."""
        if not len(starts):
            return True
        opened = np.where(numbers == self._table.get("(", -1), 1, 0)
        opened -= np.where(numbers == self._table.get(")", -1), 1, 0)
        return not np.add.reduceat(opened, starts).any()

    def _sort(
        self,
        numbers: NDArray[np.int32],
        kinds: NDArray[np.int32],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> None:
        """Sort lines by the kinds of their tokens."""
        is_short = lengths <= LONGEST
        others = [np.flatnonzero(~is_short)]
        for length in np.unique(lengths[is_short]):
            mine = np.flatnonzero(lengths == length)
            places = starts[mine][:, None] + np.arange(length)
            own = kinds[places]
            mixed = (own.astype(np.uint64) * self._weights[:length]).sum(axis=1, dtype=np.uint64)
            _, first, group = np.unique(mixed, return_index=True, return_inverse=True)
            same = (own == own[first][group.ravel()]).all(axis=1)
            others.append(mine[~same])
            for g, representative in enumerate(first):
                rows = np.flatnonzero((group.ravel() == g) & same)
                draft = self._draft(numbers[places[representative]], own[representative])
                if draft is None:
                    others.append(mine[rows])
                else:
                    draft.rows.append(numbers[places[rows]])
                    draft.where.append(mine[rows] + self._count)
        found = np.sort(np.concatenate(others))
        self._others.append(found + self._count)
        self._other_count += len(found)

    def _draft(self, numbers: NDArray[np.int32], kinds: NDArray[np.int32]) -> _Draft | None:
        key = kinds.tobytes()
        if key not in self._drafts:
            words = [self._table.words[i] for i in numbers.tolist()]
            places = {
                kind: np.flatnonzero(kinds == self._table.kind(kind)).tolist()
                for kind in (_NAMES, _NUMBERS, _LABELS)
            }
            is_plain = not (kinds == self._table.kind(_INTEGERS)).any()
            self._drafts[key] = _parsed(words, places, self._value) if is_plain else None
        return self._drafts[key]

    # ---- the whole text -------------------------------------------------------------------------------

    def parts(self, file: str, text: str) -> list[Lines | Statement] | None:
        """Return the lines and, between them, what is read by itself."""
        lines = np.concatenate(self._lines) if self._lines else np.empty(0, dtype=np.int64)
        found, disordered = self._judged()
        others = np.unique(np.concatenate([*self._others, *disordered, np.empty(0, dtype=np.int64)]))
        if len(others) > MOST_OTHERS:
            return None
        words = Words(self._table.words, self._numbers())
        split = text.split("\n") if len(others) else []
        parts: list[Lines | Statement] = []
        start = 0
        for stop in [*others.tolist(), len(lines)]:
            if stop > start:
                own = (form.within(start, stop) for form in found) if len(others) else found
                parts.append(Lines.of(file, lines[start:stop], words, own))
            if stop < len(lines):
                parts.append(Statement(split[lines[stop] - 1].rstrip(), int(lines[stop]), file))
            start = stop + 1
        return parts

    def _numbers(self) -> list[Fraction | None]:
        """Return the numbers that are words, each exactly."""
        number = self._table.kind(_NUMBERS)
        return [
            _exact(word) if kind == number else None
            for word, kind in zip(self._table.words, self._table.kinds.tolist(), strict=False)
        ]

    def _judged(self) -> tuple[list[Form], list[NDArray[np.int64]]]:
        """Return the forms with the lines whose bounds are in order, and the places of the other lines."""
        numbers = self._numbers()
        floats = np.array([np.nan if n is None else float(n) for n in numbers])
        forms, others = [], []
        for draft in self._drafts.values():
            if draft is None or not draft.rows:
                continue
            form = draft.form()
            good = _in_order(form, numbers, floats)
            others.append(form.where[~good])
            forms.append(form.taken(good))
        return forms, others


def _exact(word: str) -> Fraction | None:
    try:
        return exact(word)
    except CredalogError:
        return None


def _in_order(form: Form, numbers: list[Fraction | None], floats: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Flag the lines with 0 <= lower <= upper <= 1; where floats are too close, fractions are compared."""
    said = form.said
    lower = np.where(form.lower == NONE, float(said.lower), floats[form.lower])
    upper = np.where(form.upper == NONE, float(said.upper), floats[form.upper])
    margin = 1e-9
    good = (lower >= margin) & (upper <= 1 - margin) & (upper - lower >= margin)
    for row in np.flatnonzero(~good).tolist():
        low = said.lower if form.lower[row] == NONE else numbers[form.lower[row]]
        high = said.upper if form.upper[row] == NONE else numbers[form.upper[row]]
        good[row] = low is not None and high is not None and 0 <= low <= high <= 1
    return np.asarray(good)


# ---- one line of a form -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Trial:
    """The tokens of a line with placeholders for names, numbers and a label."""

    words: list[str]
    numbers: dict[Fraction, int]


def _parsed(
    words: list[str], places: dict[str, list[int]], value: Callable[[Statement], object]
) -> _Draft | None:
    """Parse a line of a form; return where names, bounds and the label stand, if it is plain."""
    for sign in (1, -1):
        trial = _trial(words, places, sign)
        try:
            rule = value(Statement(" ".join(trial.words)))
        except CredalogError:
            continue
        return _understood(rule, trial, places) if isinstance(rule, Rule) else None
    return None


def _trial(words: list[str], places: dict[str, list[int]], sign: int) -> _Trial:
    """Put placeholders into a line; the numbers ascend or descend."""
    tried = list(words)
    for place in places[_NAMES]:
        tried[place] = _placeholder(place)
    for place in places[_LABELS]:
        tried[place] = f"label.number{place}"
    numbers: dict[Fraction, int] = {}
    for i, place in enumerate(places[_NUMBERS]):
        tried[place] = f"0.{500 + sign * (i + 1)}1"
        numbers[Fraction(tried[place])] = place
    return _Trial(tried, numbers)


def _understood(rule: Rule, trial: _Trial, places: dict[str, list[int]]) -> _Draft | None:
    said = rule.assessment
    if not isinstance(said, Assessment) or rule.wanted or rule.learned is not None:
        return None
    if rule.prefix != Prefix() or len(said.claims) != 1:
        return None
    label = trial.words.index(rule.label) if rule.label else NONE
    names = [place for place in places[_NAMES] if place != label]
    ends = (trial.numbers.get(said.lower, NONE), trial.numbers.get(said.upper, NONE))
    known = (said.lower in (0, 1) or ends[0] != NONE, said.upper in (0, 1) or ends[1] != NONE)
    used = {place for place in ends if place != NONE}
    found = [name for pattern in (said.claims[0][1], said.given) for name in _names(pattern)]
    if sorted(found) != sorted(map(_placeholder, names)) or not all(known):
        return None
    if used != set(places[_NUMBERS]) or not {*places[_LABELS]} <= {label}:
        return None
    return _Draft(rule, names, ends, label)


def _names(pattern: Pattern) -> Iterator[str]:
    """Yield the names of a pattern of propositions, and something else for any other pattern."""
    match pattern:
        case Name(name):
            yield name
        case Compound(_, operands):
            for part in operands:
                yield from _names(part)
        case Boolean():
            pass
        case _:
            yield ""
