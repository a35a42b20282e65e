"""Parse a statement, once per shape.

Enters: a `Statement`. Leaves: its `Plan`, the actions that build its value, and its tokens.

Large files repeat few sentence forms thousands of times. The parse depends on a token only through its
kind: a name, an integer, another number, a label, or a word or symbol of the language itself. So
statements whose tokens are of the same kinds in the same order share one plan; the LALR parser runs for
the first of them only. This makes reading large files about ten times faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from lark import Lark, Token, Tree

from credalog.language.statements import Statement
from credalog.theory import RESERVED

__all__ = ["FORMULA", "QUESTION", "STATEMENT", "Call", "Plan", "grammar", "plan"]

STATEMENT, QUESTION, FORMULA = STARTS = ("start", "question", "condition")
"""What a text may be: a statement of a theory, a query P(...), or a formula."""

_TOKEN = re.compile(
    r"""(?P<label> [^\W\d]\w*'*(?:\.\w+)*\[[^\]\n]*\] | [^\W\d]\w*'*(?:\.\w+)+ )
      | (?P<name>  [^\W\d]\w*'* | "(?:\\.|[^"\\\n])*" )
      | (?P<number> (?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?%? )
      | (?P<symbol> <->|<=|>=|!=|==|=<|=>|->|\.\.|\S )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Call:
    """Apply the grammar rule's action to the last `arity` values."""

    rule: str
    arity: int


Step: TypeAlias = int | Call | None
Plan: TypeAlias = tuple[Step, ...]
"""Steps in postfix order: the number of a token, an absent option, or the action of a rule."""


class _Bars:
    """Tell the conditioning bar from the connective, by the parenthesis that encloses it."""

    always_accept = ("PIPE",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        enclosing: list[bool] = []
        previous = ""
        for token in stream:
            match token.type:
                case "LPAR":
                    enclosing.append(previous == "PROB")
                case "RPAR" if enclosing:
                    enclosing.pop()
                case "PIPE":
                    token.type = "_BAR" if not enclosing or enclosing[-1] else "_OR"
            previous = token.type
            yield token


@cache
def grammar() -> Lark:
    """Return the parser of one statement."""
    return Lark.open("grammar.lark", rel_to=__file__, start=list(STARTS), parser="lalr", postlex=_Bars())


def plan(statement: Statement, known: dict[str, Plan], *, start: str = STATEMENT) -> tuple[Plan, list[str]]:
    """Return the plan of a statement and its tokens; plans found before are taken from `known`."""
    tokens, kinds = [], []
    for found in _TOKEN.finditer(statement.text):
        lexeme = found[0]
        tokens.append(lexeme)
        kinds.append(_kind(lexeme, found.lastgroup))
    shape = " ".join(kinds)
    if shape not in known:
        known[shape] = _parse(statement, start)
    return known[shape], tokens


def _kind(lexeme: str, group: str | None) -> str:
    if group == "symbol" or lexeme in RESERVED:
        return lexeme
    if group == "number":
        return "1" if lexeme.isdigit() else "0.5"
    return "a" if group == "name" else "a.b"


def _parse(statement: Statement, start: str) -> Plan:
    starts = {found.start(): i for i, found in enumerate(_TOKEN.finditer(statement.text))}
    return tuple(_steps(grammar().parse(statement.text, start=start), starts))


def _steps(tree: Tree[Token], starts: dict[int, int]) -> Iterator[Step]:
    for child in tree.children:
        if isinstance(child, Tree):
            yield from _steps(child, starts)
        else:
            yield None if child is None else starts[child.start_pos or 0]
    yield Call(tree.data, len(tree.children))
