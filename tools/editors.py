"""Write the grammar that editors read: a TextMate grammar from the words and symbols of the lexer.

Input: nothing. Output: `editors/vscode/syntaxes/lcn.tmLanguage.json`; a test says when it is out of date.

    python -m tools.editors
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from credalog.show.lexer import LABEL, SYMBOLS, words_of

TARGET = Path(__file__).parent.parent / "editors" / "vscode" / "syntaxes" / "lcn.tmLanguage.json"

SCOPES = {
    "comment": "comment.line.number-sign.lcn",
    "string": "string.quoted.double.lcn",
    "random": "support.function.probability.lcn",
    "declaration": "storage.type.lcn",
    "statement": "keyword.control.lcn",
    "quantifier": "keyword.other.quantifier.lcn",
    "connective": "keyword.operator.logical.lcn",
    "modifier": "storage.modifier.lcn",
    "truth": "constant.language.boolean.lcn",
    "number": "constant.numeric.lcn",
    "logic": "keyword.operator.logical.lcn",
    "comparison": "keyword.operator.comparison.lcn",
    "arithmetic": "keyword.operator.arithmetic.lcn",
    "punctuation": "punctuation.lcn",
    "predicate": "entity.name.function.lcn",
    "name": "variable.other.lcn",
}
WORD_GROUPS = ("declaration", "statement", "quantifier", "connective", "modifier", "truth")


def grammar() -> dict[str, Any]:
    """Return the grammar, its patterns in the order in which the lexer tries them."""
    label = {
        "match": _oniguruma(LABEL),
        "captures": {
            "2": {"name": "entity.name.tag.label.lcn"},
            "4": {"name": "punctuation.separator.label.lcn"},
        },
    }
    first = [_pattern("comment", SYMBOLS["comment"]), label, _pattern("random", SYMBOLS["random"])]
    words = [_pattern(group, words_of(group)) for group in WORD_GROUPS]
    rest = [_pattern(kind, form) for kind, form in SYMBOLS.items() if kind not in ("comment", "random")]
    return {
        "name": "Logical Credal Network",
        "scopeName": "source.lcn",
        "fileTypes": ["lcn"],
        "patterns": [*first, *words, *rest],
    }


def _pattern(kind: str, form: str) -> dict[str, str]:
    return {"name": SCOPES[kind], "match": _oniguruma(form)}


def _oniguruma(form: str) -> str:
    r"""Return a regular expression of Python as editors read it: in some, \w knows no accents."""
    return form.replace(r"[^\W\d]", r"[\p{L}_]").replace(r"\w", r"[\p{L}\p{N}_]")


def main() -> None:
    """Write the grammar."""
    TARGET.write_text(json.dumps(grammar(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
