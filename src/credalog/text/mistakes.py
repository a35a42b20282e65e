"""From a parser's complaint to a sentence that helps.

Input: a statement that the grammar refused, and where. Output: a `LanguageError` with the place, what
is wrong, and what to write instead. `MISTAKES` is a collection: each entry has the form by which a
mistake is recognised and examples of it, which the tests try one by one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from credalog.errors import Ask, LanguageError, Remedy
from credalog.text.actions import NO_THRESHOLD, THRESHOLD_ADVICE
from credalog.text.statements import BRACKET, QUESTION, STATEMENT, THRESHOLD, Statement


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake that people make: how it looks, what to say, and examples.

    The caret goes under the group `here` of the form, or under its beginning. Where `start` is set, only a
    text of that kind can be mistaken so.
    """

    form: str
    message: str
    advice: str
    examples: tuple[str, ...]
    start: str = ""

    def found_in(self, text: str) -> re.Match[str] | None:
        """Search a statement for the mistake."""
        return re.search(self.form, text, re.VERBOSE)


BEGINNINGS = (
    "domain",
    "evidence",
    "function",
    "include",
    "independent",
    "predicate",
    "proposition",
    "query",
    "relation",
    "variable",
)
"""The words with which statements other than sentences begin."""

MISTAKES = (
    Mistake(
        r"^ \s* (?P<here> // | -- | % | /\* ) | \s (?P<later> // | % \s )",
        "a comment begins with #",
        "Write # and the comment.",
        (
            "// a comment",
            "-- a comment",
            "% a comment",
            "P(a) >= 0.1 // a comment",
            "P(a) >= 0.1 % a comment",
        ),
    ),
    Mistake(
        r"(?P<here> :: | :- ) | ^ \s* (?P<asked> query | evidence ) \s* \( .* \) \s* \. \s* $",
        "this is ProbLog, not the language of credalog",
        "Write P(a) = 0.3 for 0.3::a, P(a | b) = 0.4 for 0.4::a :- b, query P(a), and evidence a.",
        ("0.3::a.", "0.4::a :- b.", "a :- b, c.", "query(a).", "evidence(a, true)."),
    ),
    Mistake(
        r"(?P<here> [“”„‟«»‘’‚‛‹›`] )",
        "a quotation mark is not a plain one",
        'Write names with blanks in plain double quotes: "heavy rain".',
        ("P(“heavy rain”) >= 0.1", "P(‘a’) >= 0.1", "P(`a`) >= 0.1", "“my rule”: P(a) >= 0.1"),
    ),
    Mistake(
        r"^ (?! \s* include ) .*? (?<! [\w'] ) (?P<here> ' )",
        "a single quote stands before a name",
        'Write plain double quotes around a name, as in P("heavy rain"); a prime follows it: x\'.',
        ("P('a') >= 0.1", "P(a | 'heavy rain') >= 0.1"),
    ),
    Mistake(
        r"(?P<here> [–—‒―] )",
        "a dash stands where a minus sign is meant",
        "Write - for minus and -> for implication.",
        ("P(a) – P(b) >= 0.1", "P(a —> b) >= 0.1"),
    ),
    Mistake(
        r"(?P<here> ; ) \s* $",
        "a semicolon stands at the end",
        "Leave it out: each statement has a line of its own, and nothing ends it.",
        ("P(a) >= 0.1;", "domain D = {a, b} ;", "query P(a);"),
    ),
    Mistake(
        r"(?P<here> ; ) \s* (?: \w+ \s* : \s* )? (?: \d | P \s* \( | forall\b | query\b )",
        "two statements stand on one line",
        "Give each a line of its own; only `; tau=False` follows a semicolon.",
        ("P(a) >= 0.1; P(b) >= 0.2", "P(a) >= 0.1; 0.2 <= P(b)", "P(a) >= 0.1 ; s: P(b) >= 0.2"),
    ),
    Mistake(
        r"(?P<here> < \s+ = | > \s+ = )",
        "a comparison is written with a blank inside",
        "Write <= or >= as one symbol.",
        ("0.1 < = P(a)", "P(a) > = 0.3"),
    ),
    Mistake(
        r"^ \s* (?P<here> \d+ , \d+ ) \s* [<>=] | [<>=] \s* (?P<number> \d+ , \d+ ) \s* (; | $)",
        "a decimal comma stands in a number",
        "Write a point: 0.5.",
        ("0,5 <= P(a)", "P(a) <= 0,5", "0.1 <= P(a) <= 0,5 ; True"),
    ),
    Mistake(
        r"(?P<here> && | \|\| )",
        "a connective is doubled",
        "Write & or `and`; for `or`, write `or`, or | inside parentheses.",
        ("P(a && b) >= 0.1", "P((a || b)) >= 0.1"),
    ),
    Mistake(
        r"(?P<here> \b (?: AND | OR | NOT | XOR | NAND | IFF | IMPLIES | FORALL | EXISTS ) \b )",
        "the words of the language are written small",
        "Write and, or, not, xor, nand, implies, iff, forall, exists.",
        ("P(a AND b) >= 0.1", "P(NOT a) >= 0.1", "FORALL x in D: P(Q(x)) >= 0.1"),
    ),
    Mistake(
        r"\b P \s* (?P<here> [\[{] )",
        "the parentheses of P(...) are of another kind",
        "Write P(claim | condition) with round parentheses.",
        ("P[a] >= 0.1", "P{a} >= 0.1"),
    ),
    Mistake(
        r"(?P<here> P \s* \( \s* \) )",
        "P() is empty",
        "Put a formula into it: P(a).",
        ("P() >= 0.1", "0.1 <= P( ) <= 0.2"),
    ),
    Mistake(
        r"(?: ^ | [:<>=\d%+*] ) \s* (?P<here> Pr | Prob | prob | p | Probability | probability ) \s* \(",
        "a probability is written P(...)",
        "Write P(...) with a capital P.",
        ("Pr(a) >= 0.1", "0.1 <= p(a) <= 0.2", "s: 0.1 <= Prob(a | b)"),
    ),
    Mistake(
        r"^ \s* function \s .* \b in \s* (?P<here> [{\d-] )",
        "a function takes its values from a domain that has a name",
        "Declare it first: domain Digit = 0..9, and then function f(Person) in Digit.",
        ("function f(C) in 0..9", "function f(C) in {a, b} = {x: a}"),
    ),
    Mistake(
        r"\) \s* (?P<here> in \b | ∈ | between \b | ~ | ≈ ) \s* [\[(\d.]",
        "an interval is written with two comparisons",
        "Write lower <= P(...) <= upper.",
        (
            "P(a) in [0.1, 0.2]",
            "P(a | b) ∈ [0,1]",
            "P(a) between 0.1 and 0.2",
            "P(a) in 0.1..0.2",
            "P(a) ~ 0.3",
        ),
    ),
    Mistake(
        r"^ \s* query \b \s* (?P<here> (?! P \b | forall \b | ∀ | : ) \S )",
        "a query asks for a probability",
        "Write query P(claim) or query P(claim | condition).",
        ("query a", "query a | b", "query 0.1 <= a", "query(a)", "query (P(a))"),
    ),
    Mistake(
        r"^ \s* query .* \) \s* (?P<here> [<>=≤≥] )",
        "a query has no bounds",
        "Leave the bounds out to ask; leave out the word query to state.",
        ("query P(a) >= 0.1", "query P(a | b) = 1"),
    ),
    Mistake(
        r"""^ \s* include \s+ (?P<here> [^"\s] )""",
        "the name of an included file stands in quotes",
        'Write include "other.lcn".',
        ("include other.lcn", "include 'other.lcn'"),
    ),
    Mistake(
        r"^ \s* domain \s+ \w+ \s* (?P<here> [:({] | in \b )",
        "a domain is introduced by an equals sign",
        "Write domain Person = {Tim, Tom}, or domain Day = 1..7.",
        ("domain Person: {Tim, Tom}", "domain Person {Tim}", "domain Day in 1..7"),
    ),
    Mistake(
        r"^ \s* (?: predicate | proposition ) \s .* [\w)] \s+ (?P<here> (?! symmetric \b ) \w )",
        "two names stand beside each other",
        "Separate them by a comma: predicate Sm(Person), Ca(Person).",
        ("predicate a b", "proposition rain, wind wet", "predicate Q(D) R(D)"),
    ),
    Mistake(
        r"^ \s* variable \s+ [^={]* (?P<here> = ) \s* (?: \{ | -?\d )",
        "a variable's values are introduced by `in`",
        "Write variable Color in {red, green}.",
        ("variable Color = {red, green}", "variable Die = 1..6"),
    ),
    Mistake(
        r"^ \s* variable \s+ \w+ (?: \( [^()]* \) )? \s* (?P<here> $ )",
        "the variable's values are missing",
        "Write variable Color in {red, green}; true or false alone is a proposition: predicate Rain.",
        ("variable Color", "variable Shade(Peg)"),
    ),
    Mistake(
        r"^ \s* (?: relation | function ) \s+ \w+ \s* (?P<here> = | in \b | $ )",
        "the sorts are missing",
        "Write relation Before(Day, Day) = {...} or function mother(Person) in Person = {...}.",
        ("relation Before = {(d1, d2)}", "relation Before", "function mother in Person"),
    ),
    Mistake(
        r"^ \s* function \s+ \w+ \s* \( [^()]* \) \s* (?P<here> = | -> | : | $ )",
        "the domain of the function's values is missing",
        "Write function mother(Person) in Person = {Tim: Ann}.",
        ("function mother(Person) = {Tim: Ann}", "function mother(Person)", "function f(D): E"),
    ),
    Mistake(
        r"P \s* \( \s* (?P<here> [-+]? \d [\d.]* ) \s* [)|]",
        "a number stands where a formula is expected",
        'Write a formula; a name that is a number stands in quotes: P("2024").',
        ("P(2024) >= 0.1", "P(1) = 1", "0.1 <= P(0.3)", "P(7 | a) >= 0.1"),
    ),
    Mistake(
        r"^ \s* independent \b [^,]* (?P<here> $ )",
        "the two sides of an independence are separated by a comma",
        "Write independent a, b | c.",
        ("independent a b", "independent a b | c"),
    ),
    Mistake(
        r"^ (?: \s* \w+ \s* : )? \s* (?P<here> for \s+ (?: all | each | every ) | each | every ) \s+ \w",
        "the quantifier is one word",
        "Write forall x in Person: ...",
        (
            "for all x in D: P(Q(x)) >= 0.1",
            "r: for each x in D: P(Q(x)) >= 0.1",
            "every x in D: P(Q(x)) >= 0.1",
        ),
    ),
    Mistake(
        r"^ (?: \s* \w+ \s* : )? \s*"
        r" (?P<here> (?! forall | query ) \w+ (?: \s* , \s* \w+ )* \s+ (?: in \b | ∈ ) [^:]* : )",
        "the quantifier is missing",
        "Write forall before it: forall x in Person: ...",
        ("x in D: P(Q(x)) >= 0.1", "r: x, y in D: P(Q(x, y)) >= 0.1"),
    ),
    Mistake(
        r"(?: forall | exists | ∀ | ∃ ) \s+ \w+ (?: \s* , \s* \w+ )* \s* (?P<here> [:.] )",
        "the domain of a quantified variable is missing",
        "Write forall x in Person: ...",
        ("forall x: P(Q(x)) >= 0.1", "P(exists x, y: Q(x, y)) >= 0.1"),
    ),
    Mistake(
        r"^ [^()]* (?: forall | ∀ ) \s [^:()]* (?P<here> \b P \s* \( | \d )",
        "a colon is missing after the quantifier",
        "Write forall x in Person: 0.1 <= P(...) <= 0.2.",
        ("forall x in D P(Q(x)) >= 0.1", "r: forall x in D 0.1 <= P(Q(x))"),
    ),
    Mistake(
        r"(?P<here> \b tau \b | τ ) (?! \s* = \s* [TtFf] )"
        r" | (?<! ; ) \s (?P<bare> tau \s* = )"
        r" | ; \s* (?P<other> (?! (?: tau | [Tt]rue | [Ff]alse ) \b ) \S )",
        "the suffix of a sentence is not understood",
        "Write ; tau=False (or ; False) at its end.",
        ("P(a) >= 0.1 ; tau False", "P(a) >= 0.1 tau=False", "P(a) >= 0.1 ; no", "P(a) >= 0.1 ; tau=0"),
    ),
    Mistake(
        r"^ \s* (?! forall | query ) (?P<here> \d\S* | \w+ (?: [\s-]+ [\w-]+ )+ )"
        r" \s* : \s* (?: \d | P | forall )",
        "a label is one word that begins with a letter",
        "Write rule_1: ... instead.",
        ("1: P(a) >= 0.1", "my-rule: P(a) >= 0.1", "my rule: 0.1 <= P(a)"),
    ),
    Mistake(
        r"^ \s* (?: [^\s:]+ \s* : )? \s* (?: forall [^:]* : )? \s* P \s* \( .* \) \s* (?P<here> ;.* | $ )",
        "the sentence has no bounds",
        "Write 0.1 <= P(...) <= 0.2 to state, or query P(...) to ask.",
        ("P(a)", "s: P(a | b)", "forall x in D: P(Q(x))"),
        STATEMENT,
    ),
    Mistake(
        r"\w \s+ (?P<here> is ) \s+ \w",
        "values are compared by an equals sign",
        "Write Color = red.",
        ("P(Color is red) >= 0.1",),
    ),
    Mistake(
        r"(?P<here> \b if ) \s .+ \s then \b | [\w)] \s+ (?P<behind> if ) \s",
        "`if` is not a word of the language",
        "Write P(b | a) for b in the cases in which a, or P(a -> b) for the implication.",
        ("P(if a then b) >= 0.1", "if a then b >= 0.1", "P(b if a) >= 0.1", "P(b) >= 0.1 if a"),
    ),
    Mistake(
        r"\s (?P<here> given ) \s",
        "the condition follows a bar",
        "Write P(a | b).",
        ("P(a given b) >= 0.1",),
    ),
    Mistake(
        r"\b P \s* \( (?: [^()|,] | \( [^()]* \) )* (?: \| (?: [^()|,] | \( [^()]* \) )* )? (?P<here> , )",
        "a comma stands between formulas",
        "Write `and`: P(a and b | c and d).",
        ("P(a, b) >= 0.1", "P(a | b, c) >= 0.1", "P(Q(x, y), a) >= 0.1"),
    ),
    Mistake(
        rf"^ (?! .* \b P \s* \( | \s* (?: {'|'.join(BEGINNINGS)} ) \b )"
        r" \s* (?: \w+ \s* : \s* )? (?P<here> \S )"
        r" (?: .* [<>=≤≥] \s* [\d./]+ %? $ | (?<= [\d.] ) [\d./]* %? \s* [<>=≤≥]"
        r" | [\w\s(!¬~]* (?: $ | -> | → | <-> | [&^∧∨⊕] ) )",
        "a formula stands there without P(...)",
        "Write P(...) around it, and bounds: P(a -> b) >= 0.3.",
        ("a -> b >= 0.3", "0.3 <= a", "s: !a <= 0.5", "forall x in D: Q(x) and R(x) >= 0.1", "a and b", "a"),
        STATEMENT,
    ),
)
"""Recognised by their form, the first that fits; what the brackets tell comes before all of them."""

_WORDS = {
    "COMMA": ",",
    "COLON": ":",
    "LPAR": "(",
    "RPAR": ")",
    "LBRACE": "{",
    "RBRACE": "}",
    "EQUAL": "=",
    "COMPARE": "<= or >=",
    "NAME": "a name",
    "INT": "a number",
    "DECIMAL": "a number",
    "PROB": "P(...)",
    "_AND": "and",
    "_OR": "or",
    "_BAR": "|",
    "_IN": "in",
    "LABEL": "a label",
    "TRUTH": "true",
    "__DOT_DOT": "..",
    "$END": "the end of the line",
}


def explained(error: UnexpectedInput, statement: Statement, start: str) -> LanguageError:
    """Turn the parser's error into one for people: what the first of these recognises, or what was found."""
    told = (
        _unbalanced(statement)
        or _unasked(statement, start)
        or _recognised(statement, start)
        or _no_threshold(error, statement, start)
        or _bar(error, statement)
        or _misspelt(statement, start)
        or _neighbours(error, statement)
        or _unexpected(error, statement)
    )
    place = statement.place(told.offset)
    return LanguageError(told.message, place=place, advice=told.advice, remedies=told.remedies)


class _Told(NamedTuple):
    """What is said of a mistake, and where in the statement the caret goes."""

    offset: int
    message: str
    advice: str = ""
    remedies: tuple[Remedy, ...] = ()


def _unbalanced(statement: Statement) -> _Told | None:
    pairs = {")": "(", "}": "{"}
    opened: list[tuple[str, int]] = []
    for found in BRACKET.finditer(statement.text):
        if found[0] in "({":
            opened.append((found[0], found.start()))
        elif found[0] in pairs and (not opened or opened.pop()[0] != pairs[found[0]]):
            return _Told(
                found.start(),
                f"{found[0]} closes nothing that was opened",
                "Take it out, or open it before.",
            )
    if not opened:
        return None
    name, closing = ("parenthesis", ")") if opened[0][0] == "(" else ("brace", "}")
    return _Told(opened[0][1], f"a {name} is opened and not closed", f"Add {closing} where it ends.")


def _unasked(statement: Statement, start: str) -> _Told | None:
    if start != QUESTION:
        return None
    if not re.match(r"\s*P\s*\(", statement.text):
        return _Told(0, "a question begins with P(", "Write P(claim) or P(claim | condition).")
    if bounds := re.search(r"\)\s*([<>=≤≥])[^()]*$", statement.text):
        asked = statement.text.strip()
        return _Told(
            bounds.start(1),
            "a question has no bounds",
            "Leave them out to ask how low and how high it can be; to test whether they hold, ask {}.",
            (Ask(f"decide FILE '{asked}'", f'lcn.decide("{asked}")'),),
        )
    return None


def _recognised(statement: Statement, start: str) -> _Told | None:
    # What stands in quotes is a name, whatever it looks like.
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', lambda quoted: f'"{"_" * (len(quoted[0]) - 2)}"', statement.text)
    for mistake in MISTAKES:
        if mistake.start in ("", start) and (found := mistake.found_in(text)):
            offset = next(found.start(name) for name, text in found.groupdict().items() if text is not None)
            return _Told(offset, mistake.message, mistake.advice)
    return None


def _no_threshold(error: UnexpectedInput, statement: Statement, start: str) -> _Told | None:
    return _Told(_offset(error, statement), NO_THRESHOLD, THRESHOLD_ADVICE) if start == THRESHOLD else None


def _offset(error: UnexpectedInput, statement: Statement) -> int:
    """Return where the parser stopped."""
    is_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    return len(statement.text) if is_end else min(error.pos_in_stream or 0, len(statement.text))


def _bar(error: UnexpectedInput, statement: Statement) -> _Told | None:
    if not isinstance(error, UnexpectedToken) or error.token.type != "_BAR":
        return None
    offset = error.token.start_pos or 0
    if re.search(r"P\s*\(", statement.text):
        return _Told(
            offset,
            "a second bar stands in one P(...)",
            "The first bar conditions; write `or`, or a bar in parentheses: P((a | b) | c).",
        )
    return _Told(
        offset,
        "the bar conditions, and there is nothing to condition here",
        "Write `or`, or put the | inside parentheses: (a | b).",
    )


def _misspelt(statement: Statement, start: str) -> _Told | None:
    """Recognise the first word of a statement by its likeness to one of the language."""
    found = re.match(r"\s*(\w+)\s+[\w\"]", statement.text)
    near = get_close_matches(found[1], BEGINNINGS, n=1, cutoff=0.75) if found and start == STATEMENT else []
    if not found or not near or found[1] == near[0]:
        return None
    return _Told(found.start(1), f"no statement begins with {found[1]}", f"Did you mean {near[0]}?")


def _neighbours(error: UnexpectedInput, statement: Statement) -> _Told | None:
    if not isinstance(error, UnexpectedToken) or error.token.type not in ("NAME", "STRING", "_NOT"):
        return None
    offset = error.token.start_pos or 0
    if not re.search(r"[\w)]\s+$", statement.text[:offset]):
        return None
    return _Told(
        offset, f"{error.token} follows a formula without a connective", "Join them: a and b, a or b."
    )


def _unexpected(error: UnexpectedInput, statement: Statement) -> _Told:
    offset = _offset(error, statement)
    if isinstance(error, UnexpectedCharacters):
        return _Told(offset, f"the character {statement.text[offset]} has no meaning here")
    expected = sorted({_WORDS[name] for name in getattr(error, "accepts", None) or () if name in _WORDS})
    advice = f"Expected here: {'  '.join(expected)}." if expected else ""
    if not isinstance(error, UnexpectedToken) or error.token.type == "$END":
        return _Told(offset, "the statement ends too early", advice)
    return _Told(offset, f"{error.token} is not expected here", advice)
