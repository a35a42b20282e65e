"""Read a text, and the files it includes, into a theory.

Input: text in the `.lcn` language, or the path of a file. Output: a `Theory`. What needs the
declarations as a whole (unknown names, sorts, arities) is checked when the theory is grounded.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import local
from typing import Any, assert_never, cast

from lark.exceptions import UnexpectedInput

from credalog.errors import CredalogError
from credalog.network.sentences import Source
from credalog.numbers.budget import uncollected
from credalog.text.actions import Actions, Fact, Include, Tabled
from credalog.text.linear import NoProbability, Threshold
from credalog.text.mistakes import explained, without_probability
from credalog.text.row_statements import filled_from
from credalog.text.sheets import NOWHERE, Library
from credalog.text.statements import (
    FORMULA,
    QUESTION,
    STATEMENT,
    THRESHOLD,
    Shapes,
    Statement,
    statements,
)
from credalog.theory import (
    AskedRule,
    CombinedRule,
    Declaration,
    Evidence,
    Function,
    IndependenceRule,
    Misstatement,
    NumberFunction,
    Pattern,
    QueryRule,
    Relation,
    Rule,
    Theory,
)
from credalog.theory.origins import Origin
from credalog.theory.rules import Lines, Rules, joined

PLAIN_FROM = 1_000_000
"""A text with so many characters, or more, is read all at once where it can be."""

FORMS_FORGOTTEN = 1 << 14
"""After so many questions their forms and words are forgotten, so that they do not fill the memory."""


def read(text: str, *, onto: Theory | None = None, library: Library = NOWHERE) -> Theory:
    """Read a text; `onto` is a theory that the text continues, with its declarations and labels."""
    if onto is None:
        reader = _Reader(library=library)
        reader.read(text, "", Path())
        return reader.theory("")
    file = f"addition {len(onto.texts)}"
    reader = _Reader(
        declarations={declaration.name: declaration for declaration in onto.declarations},
        labels={(file, label) for label in onto.labels()},
    )
    reader.read(text, file, Path())
    return _joined(onto, reader.theory(file))


def _joined(theory: Theory, more: Theory) -> Theory:
    """Return both theories as one; the second has all declarations already."""
    return Theory(
        declarations=more.declarations,
        rules=joined(theory.rules, more.rules),
        independences=theory.independences + more.independences,
        queries=theory.queries + more.queries,
        evidence=theory.evidence + more.evidence,
        texts=theory.texts + more.texts,
        data=theory.data + more.data,
    )


def read_file(path: str | Path, *, library: Library = NOWHERE) -> Theory:
    """Read a file and all files it includes."""
    reader = _Reader(library=library)
    reader.read_file(Path(path))
    return reader.theory(str(Path(path)))


def read_query(text: str) -> AskedRule:
    """Read a question: `P(claim | given)`, a sum such as `P(a) - P(b)`, or a quotient of sums."""
    query: AskedRule = _QUESTIONS.reading().value(Statement(text, inside="the question"), start=QUESTION)
    return replace(query, source=None)


def read_threshold(text: str) -> Threshold:
    """Read a statement to decide, such as `P(claim | given) >= 0.5`."""
    threshold: Threshold = _Reading().value(Statement(text, inside="the statement"), start=THRESHOLD)
    return threshold


def read_formula(text: str) -> Pattern:
    """Read a formula."""
    formula: Pattern = _Reading().value(Statement(text, inside="the formula"), start=FORMULA)
    return formula


class _Reading:
    """From a statement to what it says, or to an error in its place."""

    def __init__(self) -> None:
        self._actions = Actions()
        self._shapes = Shapes(self._actions)

    def value(self, statement: Statement, *, start: str) -> Any:
        self._actions.source = Source(statement.file, statement.line)
        try:
            return self._shapes.value(statement, start=start)
        except UnexpectedInput as error:
            raise explained(error, statement, start) from None
        except Misstatement as error:
            meant = without_probability(statement, start) if isinstance(error, NoProbability) else None
            raise meant or error.at(statement.place_of(error.lexeme)) from None


OTHER_NAMES_OF_P = ("Pr", "Prob", "prob", "p", "Probability", "probability")
"""What others call a probability: `Pr(a) = 0.3` would be a line of the table of a function Pr."""

CAPITAL_P = "Write P(...) with a capital P."


class _Questions(local):
    """How the questions of one thread are read: many have the same form, which is parsed once."""

    def __init__(self) -> None:
        self._reading = _Reading()
        self._read = 0

    def reading(self) -> _Reading:
        """Return what knows the forms of the last questions; all are forgotten now and then."""
        if self._read == FORMS_FORGOTTEN:
            self._reading, self._read = _Reading(), 0
        self._read += 1
        return self._reading


_QUESTIONS = _Questions()


@dataclass(slots=True)
class _Reader:
    """The statements read so far."""

    reading: _Reading = field(default_factory=_Reading)
    library: Library = NOWHERE
    """Where tables are found that the text names."""
    origins: list[Origin] = field(default_factory=list)
    declarations: dict[str, Declaration] = field(default_factory=dict)
    facts: dict[str, list[Fact]] = field(default_factory=dict)
    stated: dict[type, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """Rules, independences, queries and evidence, in the order written."""
    texts: dict[str, str] = field(default_factory=dict)
    labels: set[tuple[str, str]] = field(default_factory=set)
    open_files: list[Path] = field(default_factory=list)
    read_files: set[Path] = field(default_factory=set)
    plain_from: int = PLAIN_FROM

    def theory(self, main_file: str) -> Theory:
        """Return all that was read."""
        return Theory(
            declarations=tuple(_completed(d, self.facts.get(n, [])) for n, d in self.declarations.items()),
            rules=_rules(self.stated[Rule], main_file),
            independences=tuple(self.stated[IndependenceRule]),
            queries=tuple(self.stated[QueryRule]),
            evidence=tuple(self.stated[Evidence]),
            texts=tuple(self.texts.items()),
            data=tuple(self.origins),
        )

    def read_file(self, path: Path) -> None:
        """Read one file; a file that was read already is not read again."""
        self._read(path, self.library.text(path))

    def _read(self, path: Path, text: str) -> None:
        whole = self.library.whole(path)
        if whole in self.read_files:
            return
        self.read_files.add(whole)
        self.open_files.append(whole)
        self.read(text, str(path), path.parent)
        self.open_files.pop()

    def read(self, text: str, file: str, folder: Path) -> None:
        """Read the statements of one text; a byte order mark before it is none of it."""
        text = text.removeprefix("\ufeff")
        self.texts[file] = text
        with uncollected():
            for part in self._parts(text, file):
                if isinstance(part, Lines):
                    self._add_lines(part)
                else:
                    self._add(part, folder)

    def _parts(self, text: str, file: str) -> Iterable[Lines | Statement]:
        """Return the statements of a text; those of a long one all at once, if they are plain."""
        if len(text) >= self.plain_from:
            from credalog.text.plain import plain_statements

            found = plain_statements(text, file, partial(self.reading.value, start=STATEMENT))
            if found is not None:
                return found
        return statements(text, file)

    def _add_lines(self, lines: Lines) -> None:
        known = len(self.labels)
        labels = [(lines.file, label) for label in lines.labels()]
        self.labels.update(labels)
        if len(self.labels) == known + len(labels):
            self.stated[Rule].append(lines)
            return
        # Some label is used twice: the rules are filed away one by one, until that is met.
        self.labels.difference_update(labels)
        for i in range(len(lines)):
            rule = lines.rule(i)
            text = self.texts[lines.file].split("\n")[int(lines.numbers[i]) - 1]
            statement = Statement(text, int(lines.numbers[i]), lines.file)
            try:
                self._file_away(rule, Path())
            except Misstatement as error:
                raise error.at(statement.place_of(error.lexeme)) from None

    def _add(self, statement: Statement, folder: Path) -> None:
        value = self.reading.value(statement, start=STATEMENT)
        try:
            self._file_away(value, folder)
        except Misstatement as error:
            raise error.at(statement.place_of(error.lexeme)) from None

    def _file_away(self, value: Any, folder: Path) -> None:
        match value:
            case QueryRule() | CombinedRule():
                self.stated[QueryRule].append(value)
            case Rule() | IndependenceRule() | Evidence():
                self._check_label(value)
                self.stated[type(value)].append(value)
            case Include(path):
                self._include(folder / path)
            case Fact():
                self._add_fact(value)
            case Tabled():
                for filled in self._filled(value, folder):
                    self._file_away(filled, folder)
            case _ if isinstance(value, Declaration):
                self._declare(value)
            case tuple():
                for part in value:
                    self._file_away(part, folder)
            case _:
                assert_never(value)

    def _check_label(self, stated: Rule | IndependenceRule | Evidence) -> None:
        if isinstance(stated, Rule) and stated.label:
            key = (stated.source.file if stated.source else "", stated.label)
            if key in self.labels:
                raise Misstatement(
                    f"the label {stated.label} is used twice",
                    lexeme=stated.label,
                    advice="Give each sentence of a file its own label, or none.",
                )
            self.labels.add(key)

    def _declare(self, declaration: Declaration) -> None:
        known = self.declarations.setdefault(declaration.name, declaration)
        if known != declaration:
            raise Misstatement(
                f"{declaration.name} is declared twice, in different ways",
                lexeme=declaration.name,
                advice="Declare it once; data can extend a domain, a relation or a function later.",
            )

    def _filled(self, tabled: Tabled, folder: Path) -> Iterator[Declaration | Rule]:
        """Yield what a statement declares or says with the rows of its table."""
        origin = tabled.origin
        try:
            find = self.library.answer if origin.is_query else self.library.sheet
            sheet = find(origin.name, folder)
            for filled in filled_from(sheet, tabled, self.declarations):
                yield filled.value
                self.origins += [] if filled.origin is None else [filled.origin]
        except CredalogError as error:
            if error.place is not None or isinstance(error, Misstatement):
                raise
            advice = error.advice
            raise Misstatement(error.message, lexeme="from", kind=type(error), advice=advice) from None

    def _add_fact(self, fact: Fact) -> None:
        kinds = (Relation,) if fact.value is None else (Function, NumberFunction)
        known = self.declarations.get(fact.name)
        if not isinstance(known, kinds) or (isinstance(known, NumberFunction) and fact.number is None):
            if fact.name in OTHER_NAMES_OF_P:
                raise Misstatement("a probability is written P(...)", lexeme=fact.name, advice=CAPITAL_P)
            word = kinds[0].__name__.lower()
            raise Misstatement(
                f"{fact.name} is not a {word} declared above",
                lexeme=fact.name,
                advice=f"Declare the {word} first; a probability is written P({fact.name}(...)).",
            )
        self.facts.setdefault(fact.name, []).append(fact)

    def _include(self, path: Path) -> None:
        if "\0" not in str(path) and self.library.whole(path) in self.open_files:
            raise Misstatement(
                f"{path} includes itself, directly or through others",
                lexeme=path.name,
                advice="Take one of the include lines out of the circle.",
            )
        try:
            text = self.library.text(path)
        except CredalogError as error:
            advice = error.advice
            raise Misstatement(error.message, lexeme=path.name, advice=advice, kind=type(error)) from None
        self._read(path, text)


def _completed(declaration: Declaration, facts: list[Fact]) -> Declaration:
    """Add the facts that have lines of their own."""
    match declaration:
        case Relation(facts=known) if facts:
            return replace(declaration, facts=(*known, *(fact.arguments for fact in facts)))
        case Function(table=table) if facts:
            entries = ((fact.arguments, fact.value) for fact in facts if fact.value is not None)
            return replace(declaration, table=(*table, *entries))
        case NumberFunction(table=scores) if facts:
            more = ((fact.arguments, fact.number) for fact in facts if fact.number is not None)
            return replace(declaration, table=(*scores, *more))
        case _:
            return declaration


def _rules(stated: list[Rule | Lines], main_file: str) -> Sequence[Rule]:
    """Return rules and lines in order, with labels that tell them apart."""
    files = {part.file for part in stated if isinstance(part, Lines)}
    if not files:
        return tuple(_told_apart(cast("list[Rule]", stated), main_file))
    files |= {rule.source.file for rule in stated if isinstance(rule, Rule) and rule.source is not None}
    if len(files) == 1 or not any(part.has_labels for part in stated if isinstance(part, Lines)):
        return Rules(part if isinstance(part, Lines) else (part,) for part in stated)
    rules = (Rules((part,)) if isinstance(part, Lines) else (part,) for part in stated)
    return tuple(_told_apart([rule for part in rules for rule in part], main_file))


def _told_apart(rules: list[Rule], main_file: str) -> Iterator[Rule]:
    """Put a file's name before those of its labels that another file uses too."""
    counts = Counter(rule.label for rule in rules if rule.label)
    files = {rule.source.file for rule in rules if rule.source is not None} - {main_file}
    names = _short_names(files)
    for rule in rules:
        if counts[rule.label] > 1 and rule.source is not None and rule.source.file in names:
            yield replace(rule, label=f"{names[rule.source.file]}.{rule.label}")
        else:
            yield rule


def _short_names(files: Iterable[str]) -> dict[str, str]:
    """Name each file by its stem, with as many folders before it as tell all of them apart."""
    paths = {file: Path(file).with_suffix("").parts for file in sorted(files)}
    for length in range(1, max(map(len, paths.values()), default=0) + 1):
        names = {file: ".".join(_words(parts[-length:])) for file, parts in paths.items()}
        if len(set(names.values())) == len(names):
            break
    return names if paths else {}


def _words(parts: Iterable[str]) -> Iterator[str]:
    return (re.sub(r"\W", "_", part) for part in parts if part.strip("./\\"))
