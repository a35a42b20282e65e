"""Colours: the lexer and the grammar for editors know every word, and find no error in any example."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.token import Error, Keyword, Name, Number, Operator, Whitespace, string_to_tokentype
from tools.editors import SCOPES, TARGET, grammar

from conftest import PROJECT
from credalog.show.lexer import LcnLexer
from credalog.theory.patterns import RESERVED, WORDS

EXAMPLES = sorted((PROJECT / "examples").rglob("*.lcn"))
GRAMMAR = (PROJECT / "src/credalog/text/grammar.lark").read_text(encoding="utf-8")
DOCUMENTS = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```lcn\n(.*?)^```$", re.MULTILINE | re.DOTALL)

MIXED = """# all of it
"a label": forall x, y in Person distinct where x != y: 30% <= P(a ∧ ¬b | c_1') ≤ .5e-1 ; tau = false
variable Größe(Person) in {"very large", small}
let trust = 0.3 ± 0.05
number lo(Doc) from sql "select 1" columns a, b
P(Color = red) - 2 * P(x <-> y) / 3 >= -1
query E(Speed | wet)
s1[Tim]: P(a) in [0.2, 1] ; learned 8..9 of 40, wilson 95%
domain Day = 1..7
table C | A = {yes: (0.1, rest), no: ?}
"""


def texts() -> list[str]:
    blocks = [block for page in DOCUMENTS for block in BLOCK.findall(page.read_text(encoding="utf-8"))]
    return [MIXED, *(path.read_text(encoding="utf-8") for path in EXAMPLES), *blocks]


def python_form(form: str) -> str:
    """Return a regular expression of editors as Python reads it."""
    return form.replace(r"[\p{L}\p{N}_]", r"\w").replace(r"[\p{L}_]", r"[^\W\d]")


def coloured(text: str) -> list[tuple[str, str]]:
    """Read a text as editors do, line by line: of all patterns the one that matches first, then next."""
    patterns = json.loads(TARGET.read_text(encoding="utf-8"))["patterns"]
    forms = [(re.compile(python_form(one["match"])), one) for one in patterns]
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        place = 0
        while place < len(line):
            matches = [(m, one) for form, one in forms if (m := form.search(line, place)) and m.end() > place]
            if not matches:
                found.append((line[place:], "error"))
                break
            match, one = min(matches, key=lambda pair: pair[0].start())
            found.append((line[place : match.start()], "error"))
            if "name" in one:
                found.append((match[0], one["name"]))
            else:
                names = {int(group): capture["name"] for group, capture in one["captures"].items()}
                found += [(match[i], names.get(i, "error")) for i in range(1, len(match.groups()) + 1)]
            place = match.end()
    return [(word, scope) for word, scope in found if word.strip()]


# ---- words --------------------------------------------------------------------------------------------


def test_every_word_of_the_grammar_has_a_colour_and_every_coloured_word_is_in_the_grammar():
    rules = re.sub(r"//.*", "", GRAMMAR)
    for short, long in (
        ("[Tt]rue", "true|True"),
        ("[Ff]alse", "false|False"),
        ("columns?", "column|columns"),
    ):
        rules = rules.replace(short, long)
    plain = set(re.findall(r'"([A-Za-z]+)"', rules))
    # Words in regular expressions stand before a border of words, alone or as alternatives.
    forms = [form for form in re.findall(r"/(.*?)/", rules) if r"\b" in form]
    spelt = {word for form in forms for word in re.findall(r"[A-Za-z]{2,}(?=\\b|\||\))", form)} | {"P"}
    known = {word for group in WORDS.values() for word in group}
    assert plain | spelt == known
    assert known == RESERVED


def test_each_word_has_one_colour():
    words = [word for group in WORDS.values() for word in group]
    assert len(words) == len(set(words))
    for word in words:
        kinds = {
            kind
            for kind, value in LcnLexer().get_tokens(f"{word}(" if word == "P" else word)
            if value == word
        }
        assert len(kinds) == 1
        assert Name not in kinds


# ---- the lexer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", texts(), ids=lambda text: text[:30].split("\n")[0])
def test_the_lexer_finds_no_error_and_loses_nothing(text: str):
    tokens = list(LcnLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert not [value for kind, value in tokens if kind in Error]
    assert "".join(value for _, value in tokens) == text


@given(st.text(max_size=200))
def test_the_lexer_survives_any_text(text: str):
    tokens = LcnLexer(stripnl=False, ensurenl=False).get_tokens(text)
    assert "".join(value for _, value in tokens) == text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    ("text", "word", "kind"),
    [
        ("s1: P(a) <= 0.5", "s1", Name.Label),
        ("forall x in Person: P(a) <= 0.5", "Person", Name),
        ("P(nothing) <= 0.5", "nothing", Name),
        ("P(not a) <= 0.5", "not", Operator.Word),
        ("P(a) = 5%", "5%", Number),
        ("domain D = 1..7", "1", Number),
        ("P(Sm(x)) = 1", "Sm", Name.Function),
        ("P(Sm(x)) = 1", "P", Name.Builtin),
        ("P(P) = 1", "domain", None),
        ("domain D = {a}", "domain", Keyword.Declaration),
        ("P(a) = 1 # in", "in", None),
        ('P("in") = 1', "in", None),
    ],
)
def test_a_word_has_its_colour(text: str, word: str, kind):
    found = [one for one, value in LcnLexer().get_tokens(text) if value == word]
    assert next(iter(found), None) == kind


def test_the_lexer_is_found_by_its_name_and_by_that_of_a_file():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = project["project"]["entry-points"]["pygments.lexers"]["credalog"].partition(":")
    assert getattr(import_module(module), name) is LcnLexer
    assert LcnLexer.aliases[0] == "lcn"
    assert LcnLexer.filenames == ["*.lcn"]


def test_coloured_html_escapes_what_the_text_says():
    shown = highlight("P(a) <= 0.5 # <b>", LcnLexer(), HtmlFormatter())
    assert "<b>" not in shown


# ---- editors ------------------------------------------------------------------------------------------


def test_the_grammar_of_editors_is_up_to_date():
    assert json.loads(TARGET.read_text(encoding="utf-8")) == grammar(), "run: python -m tools.editors"


@pytest.mark.parametrize("text", texts(), ids=lambda text: text[:30].split("\n")[0])
def test_editors_colour_everything_as_the_lexer_does(text: str):
    in_editors = coloured(text)
    assert not [word for word, scope in in_editors if scope == "error"]
    tokens = [(value, kind) for kind, value in LcnLexer().get_tokens(text) if kind not in Whitespace]
    assert [word for word, _ in in_editors] == [word for word, _ in tokens]
    scopes: dict[object, set[str]] = {}
    for (_, token), (_, scope) in zip(tokens, in_editors, strict=True):
        scopes.setdefault(token, set()).add(scope.partition(".")[0])
    # Comments, strings and numbers are the same thing in both.
    for kind, scope in (
        ("Comment.Single", "comment"),
        ("Literal.Number", "constant"),
        ("Name.Label", "entity"),
    ):
        assert scopes.get(string_to_tokentype(kind), {scope}) == {scope}


def test_the_extension_names_files_that_are_there():
    folder = TARGET.parent.parent
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    language, grammar_ = package["contributes"]["languages"][0], package["contributes"]["grammars"][0]
    assert (folder / grammar_["path"]).samefile(TARGET)
    assert (folder / language["configuration"]).is_file()
    assert language["extensions"] == [".lcn"]
    assert grammar_["scopeName"] == grammar()["scopeName"]
    json.loads((folder / language["configuration"]).read_text(encoding="utf-8"))
    assert set(SCOPES) >= {kind for kind in WORDS if kind != "probability"}


def test_the_version_of_the_extension_is_that_of_the_project():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    package = json.loads((TARGET.parent.parent / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == project["project"]["version"]
    assert Path(TARGET).is_file()
