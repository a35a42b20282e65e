"""Read a text, and the files it includes, into a theory.

Enters: text in the `.lcn` language, or the path of a file. Leaves: a `Theory`. What needs the
declarations as a whole (unknown names, sorts, arities) is checked when the theory is grounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lark.exceptions import UnexpectedInput

from credalog.errors import LanguageError, UnknownName
from credalog.language.actions import Actions, Fact, Include
from credalog.language.mistakes import explained
from credalog.language.shapes import Call, Plan, plan
from credalog.language.statements import Statement, statements
from credalog.model import Source
from credalog.theory import (
    Declaration,
    Domain,
    Evidence,
    Function,
    IndependenceRule,
    Misstatement,
    QueryRule,
    Relation,
    Rule,
    Theory,
)

__all__ = ["read", "read_file"]


def read(text: str, *, file: str = "", folder: Path | None = None) -> Theory:
    """Read a text; files it includes are looked for in the folder, by default the current one."""
    reader = _Reader()
    reader.read(text, file, folder or Path())
    return reader.theory(file)


def read_file(path: str | Path) -> Theory:
    """Read a file and all files it includes."""
    reader = _Reader()
    reader.read_file(Path(path))
    return reader.theory(str(path))


@dataclass(slots=True)
class _Reader:
    """The statements read so far."""

    actions: Actions = field(default_factory=Actions)
    plans: dict[str, Plan] = field(default_factory=dict)
    declarations: dict[str, Declaration] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    independences: list[IndependenceRule] = field(default_factory=list)
    queries: list[QueryRule] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    labels: dict[str, set[str]] = field(default_factory=dict)
    open_files: list[Path] = field(default_factory=list)
    read_files: set[Path] = field(default_factory=set)

    def theory(self, main_file: str) -> Theory:
        """Return all that was read."""
        return Theory(
            tuple(self.declarations.values()),
            tuple(_told_apart(self.rules, main_file)),
            (),
            tuple(self.independences),
            tuple(self.queries),
            tuple(self.evidence),
            tuple(self.texts.items()),
        )

    def read_file(self, path: Path) -> None:
        """Read one file; a file that was read already is not read again."""
        whole = path.resolve()
        if whole in self.read_files:
            return
        self.read_files.add(whole)
        self.open_files.append(whole)
        self.read(_text_of(path), str(path), path.parent)
        self.open_files.pop()

    def read(self, text: str, file: str, folder: Path) -> None:
        """Read the statements of one text."""
        self.texts[file] = text
        self.labels[file] = set()
        for statement in statements(text, file):
            self._add(statement, folder)

    def _add(self, statement: Statement, folder: Path) -> None:
        value = self._value(statement)
        try:
            self._file_away(value, statement, folder)
        except Misstatement as error:
            raise error.at(statement.place_of(error.lexeme)) from None

    def _value(self, statement: Statement) -> Any:
        self.actions.source = Source(statement.file, statement.line)
        try:
            steps, tokens = plan(statement, self.plans)
            return _carried_out(steps, tokens, self.actions)
        except UnexpectedInput as error:
            raise explained(error, statement) from None
        except Misstatement as error:
            raise error.at(statement.place_of(error.lexeme)) from None

    def _file_away(self, value: Any, statement: Statement, folder: Path) -> None:
        match value:
            case Rule():
                self._label(value, statement)
                self.rules.append(value)
            case IndependenceRule():
                self.independences.append(value)
            case QueryRule():
                self.queries.append(value)
            case Include(path):
                self._include(folder / path, statement)
            case Fact():
                self._add_fact(value)
            case Domain() | Relation() | Function():
                self._declare(value)
            case tuple():
                for part in value:
                    if isinstance(part, Evidence):
                        self.evidence.append(part)
                    else:
                        self._declare(part)

    def _label(self, rule: Rule, statement: Statement) -> None:
        used = self.labels[statement.file]
        if rule.label in used:
            raise Misstatement(
                f"The label {rule.label} is used twice.",
                lexeme=rule.label,
                advice="Give each sentence of a file its own label, or none.",
            )
        if rule.label:
            used.add(rule.label)

    def _declare(self, declaration: Declaration) -> None:
        known = self.declarations.setdefault(declaration.name, declaration)
        if known != declaration:
            raise Misstatement(
                f"{declaration.name} is declared twice, in different ways.",
                lexeme=declaration.name,
                advice="Declare it once; data can extend a domain, a relation or a function later.",
            )

    def _add_fact(self, fact: Fact) -> None:
        match self.declarations.get(fact.name):
            case Relation(facts=facts) as relation if fact.value is None:
                extended: Declaration = replace(relation, facts=(*facts, fact.arguments))
            case Function(table=table) as function if fact.value is not None:
                extended = replace(function, table=(*table, (fact.arguments, fact.value)))
            case _:
                kind = "relation" if fact.value is None else "function"
                raise Misstatement(
                    f"{fact.name} is not a {kind} declared above.",
                    lexeme=fact.name,
                    advice=f"Declare the {kind} first; a probability is written P({fact.name}(...)).",
                )
        self.declarations[fact.name] = extended

    def _include(self, path: Path, statement: Statement) -> None:
        if path.resolve() in self.open_files:
            raise LanguageError(
                f"{path} includes itself, directly or through others.",
                place=statement.place(),
                advice="Take one of the include lines out of the circle.",
            )
        try:
            self.read_file(path)
        except UnknownName as error:
            raise UnknownName(error.message, place=error.place or statement.place()) from None


def _carried_out(steps: Plan, tokens: list[str], actions: Actions) -> Any:
    values: list[Any] = []
    for step in steps:
        if isinstance(step, Call):
            first = len(values) - step.arity
            arguments = values[first:]
            del values[first:]
            values.append(getattr(actions, step.rule)(*arguments))
        else:
            values.append(None if step is None else tokens[step])
    return values[-1]


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UnknownName(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise LanguageError(f"{path} cannot be read: {error}.") from None


def _told_apart(rules: list[Rule], main_file: str) -> Iterable[Rule]:
    """Put the file's name before a label that another file uses too."""
    counts = Counter(rule.label for rule in rules if rule.label)
    for rule in rules:
        shared = counts[rule.label] > 1 and rule.source is not None and rule.source.file != main_file
        yield replace(rule, label=f"{Path(rule.source.file).stem}.{rule.label}") if shared else rule
