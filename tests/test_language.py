"""The language: what can be said, that it reads back as the same, and what mistakes get."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credalog
from conftest import PROJECT
from credalog.errors import CredalogError, LanguageError, UnknownName
from credalog.network.formulas import TRUE, And, Iff, Implies, Not, Or, Variable, Xor, canonical, propositions
from credalog.network.sentences import Network, Sentence
from credalog.text.mistakes import Mistake, known_mistakes
from credalog.text.parse import read, read_formula, read_query, read_threshold
from credalog.text.statements import FORMULA, QUESTION, THRESHOLD
from credalog.text.unparse import unparse, unparse_network, unparse_sentence
from strategies import networks, theories

a, b, c = propositions("a b c")


def only(text: str) -> Sentence:
    """Ground a text that has one sentence."""
    (sentence,) = credalog.parse(text).sentences
    return sentence


def bounds(text: str) -> tuple[Fraction, Fraction]:
    sentence = only(text)
    return sentence.lower, sentence.upper


# ---- sentences ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("0.2 <= P(a) <= 0.3", "1/5", "3/10"),
        ("P(a) >= 0.3", "3/10", "1"),
        ("P(a) <= 0.3", "0", "3/10"),
        ("0.3 <= P(a)", "3/10", "1"),
        ("0.9 >= P(a) >= 0.1", "1/10", "9/10"),
        ("P(a) = 0.7", "7/10", "7/10"),
        ("P(a) == 0.7", "7/10", "7/10"),
        ("0 <= P(a) <= 1", "0", "1"),
        ("P(a) = 1/3", "1/3", "1/3"),
        ("5% <= P(a) <= 12.5%", "1/20", "1/8"),
        ("P(a) ≥ .25", "1/4", "1"),
        ("0.1 ⩽ P(a) ⩽ 0.2", "1/10", "1/5"),
        ("P(a) <= 1e-3", "0", "1/1000"),
        ("2 P(a) <= 1", "0", "1/2"),
        ("1 - P(a) <= 0.3", "7/10", "1"),
        ("P(a) + P(a) >= 1", "1/2", "1"),
    ],
)
def test_bounds_are_exact(text: str, lower: str, upper: str) -> None:
    assert bounds(text) == (Fraction(lower), Fraction(upper))


def test_a_float_would_not_be_exact_but_the_decimal_is() -> None:
    assert only("P(a) = 0.1").lower == Fraction(1, 10) != Fraction(0.1)


@pytest.mark.parametrize(
    ("suffix", "tau"),
    [
        ("", True),
        ("; tau=False", False),
        ("; tau = true", True),
        ("; True", True),
        (";False", False),
    ],
)
def test_tau_is_true_unless_a_suffix_says_otherwise(suffix: str, tau: bool) -> None:
    assert only(f"s1: 0.1 <= P(a) <= 0.2 {suffix}").tau is tau


def test_a_label_is_optional_and_remembered_with_file_and_line() -> None:
    first, second = credalog.parse("\n# nothing\nP(a) >= 0.1\nrule_2: P(b) >= 0.1").sentences
    assert (first.label, second.label) == ("", "rule_2")
    assert second.source is not None
    assert second.source.line == 4


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("not a", Not(a)),
        ("!a", Not(a)),
        ("¬a", Not(a)),
        ("~a", Not(a)),
        ("a and b", And((a, b))),
        ("a & b ∧ c", And((a, b, c))),
        ("a or b", Or((a, b))),
        ("a ∨ b", Or((a, b))),
        ("(a | b)", Or((a, b))),
        ("a xor b", Xor((a, b))),
        ("a ^ b", Xor((a, b))),
        ("a ⊕ b", Xor((a, b))),
        ("a nand b", Not(And((a, b)))),
        ("a implies b", Implies(a, b)),
        ("a -> b", Implies(a, b)),
        ("a → b", Implies(a, b)),
        ("a ⇒ b", Implies(a, b)),
        ("a ⇔ b", Iff(a, b)),
        ("a iff b", Iff(a, b)),
        ("a <-> b", Iff(a, b)),
        ("a ↔ b", Iff(a, b)),
        ("!a & b", And((Not(a), b))),
        ("a & b or c", Or((And((a, b)), c))),
        ("a or b & c", Or((a, And((b, c))))),
        ("a xor b & c", Xor((a, And((b, c))))),
        ("a or b xor c", Or((a, Xor((b, c))))),
        ("a -> b -> c", Implies(a, Implies(b, c))),
        ("a <-> b -> c", Iff(a, Implies(b, c))),
        ("a and true", a),
        ("a -> false", Not(a)),
        ("not (a or b)", Not(Or((a, b)))),
    ],
)
def test_connectives_and_their_precedence(text: str, formula: object) -> None:
    lcn = credalog.parse("P(a) >= 0\nP(b) >= 0\nP(c) >= 0")
    assert lcn.formula(text) == formula


def test_the_bar_conditions_at_the_top_and_means_or_inside_parentheses() -> None:
    sentence = only("P((a | b) | (b | c)) >= 0.1")
    assert (sentence.claim, sentence.given) == (Or((a, b)), Or((b, c)))
    assert only("P(a|b and c) >= 0.1").given == And((b, c))


def test_linear_sentences_share_one_condition() -> None:
    comparative = only("P(a | c) >= 2 P(b | c)")
    assert comparative.claims == ((1, a), (-2, b))
    assert (comparative.given, comparative.lower, comparative.upper) == (c, 0, 1)
    difference = only("0.1 <= P(a) - P(b) <= 0.3")
    assert (difference.lower, difference.upper) == (Fraction(1, 10), Fraction(3, 10))
    total = only("P(a) + 1/2*P(b) <= 0.7")
    assert total.claims == ((1, a), (Fraction(1, 2), b))
    assert (total.lower, total.upper) == (0, Fraction(7, 10))
    shifted = only("P(a) <= P(b) + 0.1")
    assert (shifted.claims, shifted.lower, shifted.upper) == (((1, a), (-1, b)), -1, Fraction(1, 10))


def test_names_may_be_anything_in_quotes() -> None:
    sentence = only('P("New York" and x\') >= 0.1')
    assert [v.name for v in sentence.scope] == ["New York", "x'"]


def test_words_of_the_language_may_begin_names() -> None:
    names = ["nothing", "android", "order", "inside", "iffy", "trueish", "forallx", "Pa", "domainx"]
    text = "\n".join(f"P({name}) >= 0.1" for name in names)
    assert [v.name for v in credalog.parse(text).variables] == names


@pytest.mark.parametrize("word", ["in", "query", "domain", "where", "variable"])
def test_words_of_the_language_may_be_names_where_nothing_else_can_be_meant(word: str) -> None:
    assert only(f"P({word} | out) >= 0.5").claim == Variable(word).is_("true")


@pytest.mark.parametrize("word", ["and", "or", "xor", "nand", "not", "implies", "iff", "forall", "exists"])
def test_a_connective_is_a_name_only_in_quotes(word: str) -> None:
    for text in (f"P({word}) >= 0.5", f"P(a and {word}) >= 0.5", f"P({word} | a) >= 0.5"):
        with pytest.raises(LanguageError):
            credalog.parse(text)
    assert credalog.parse(f'P("{word}") >= 0.5').variables == (Variable(word),)


def test_words_of_the_language_may_be_labels() -> None:
    words = ["query", "domain", "forall", "P", "independent"]
    text = "\n".join(f"{word}: P(a{i}) >= 0.1" for i, word in enumerate(words))
    assert [s.label for s in credalog.parse(text).sentences] == words


def test_a_statement_continues_while_a_bracket_is_open() -> None:
    sentence = only("s: P(a and # the first\n   b |\n c) >= 0.1")
    assert (sentence.claim, sentence.given) == (And((a, b)), c)


def test_blanks_line_ends_and_a_missing_final_newline_do_not_matter() -> None:
    text = "  s1 :0.1<=P( a|b and c )<=0.2  ;True  \r\n\r\n\ts2: 0 <= P(b) <= 1"
    assert [s.label for s in credalog.parse(text).sentences] == ["s1", "s2"]


# ---- queries, evidence, independences -----------------------------------------------------------------


def test_queries_and_evidence_stand_in_the_text() -> None:
    lcn = credalog.parse(
        "P(a) >= 0.1\nP(b | a) >= 0.2\nevidence b, !c\nP(c) <= 0.4\nquery P(a | b)\nquery P(a)"
    )
    assert [(q.claim, q.given) for q in lcn.queries] == [(a, b), (a, TRUE)]
    assert lcn.evidence == And((b, Not(c)))
    assert lcn.question("P(a | c)").given == And((c, b, Not(c)))


def test_declared_independences_have_blocks() -> None:
    (found,) = credalog.parse("P(a & b & c & d) >= 0.1\nindependent a, b c | d").ground().independences
    names = [[v.name for v in block] for block in (found.left, found.right, found.given)]
    assert names == [["a"], ["b", "c"], ["d"]]


# ---- files --------------------------------------------------------------------------------------------


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.lcn").write_text(text, encoding="utf-8")
    return folder / "main.lcn"


def test_included_files_are_read_once_and_remembered(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main='include "left.lcn"\ninclude "right.lcn"\nm: P(a) >= 0.1',
        left='include "base.lcn"\nl: P(b) >= 0.1',
        right='include "base.lcn"\nr: P(c) >= 0.1',
        base="x: P(d) >= 0.1",
    )
    sentences = credalog.load(main).sentences
    assert [s.label for s in sentences] == ["x", "l", "r", "m"]
    assert [Path(s.source.file).name for s in sentences if s.source] == [
        "base.lcn",
        "left.lcn",
        "right.lcn",
        "main.lcn",
    ]


def test_the_same_label_in_two_files_is_told_apart_by_the_file(tmp_path: Path) -> None:
    main = write(tmp_path, main='include "expert.lcn"\ns1: P(a) >= 0.1', expert="s1: P(b) >= 0.1")
    lcn = credalog.load(main)
    assert [s.label for s in lcn.sentences] == ["expert.s1", "s1"]
    assert credalog.parse(str(lcn)).ground() == lcn.ground()


def test_files_that_include_each_other_are_an_error(tmp_path: Path) -> None:
    main = write(tmp_path, main='\ninclude "other.lcn"', other='include "main.lcn"')
    with pytest.raises(LanguageError, match="includes itself") as caught:
        credalog.load(main)
    assert caught.value.place is not None
    assert caught.value.place.file.endswith("other.lcn")


def test_a_missing_file_is_named_where_it_is_included(tmp_path: Path) -> None:
    main = write(tmp_path, main='P(a) >= 0.1\ninclude "gone.lcn"')
    with pytest.raises(UnknownName, match=r"gone\.lcn") as caught:
        credalog.load(main)
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (2, 10)


# ---- reading back -------------------------------------------------------------------------------------


@pytest.mark.slow
@given(theories())
@settings(max_examples=100)
def test_a_theory_reads_back_as_itself(theory: Any) -> None:
    assert read(unparse(theory)) == theory


def comparable(network: Network) -> tuple[object, ...]:
    """Return what a network says, without the order of variables and of commutative operands."""
    said = [
        (
            Counter((w, canonical(q)) for w, q in s.claims),
            canonical(s.given),
            s.lower,
            s.upper,
            s.tau,
            s.label,
        )
        for s in network.sentences
    ]
    return frozenset(network.variables), said, network.independences


@pytest.mark.slow
@given(networks())
@settings(max_examples=100)
def test_a_network_reads_back_as_itself(network: Network) -> None:
    lcn = credalog.LCN.from_network(network)
    again = credalog.parse(unparse_network(network))
    assert comparable(again.ground()) == comparable(lcn.ground())


@pytest.mark.slow
@given(networks(), networks())
@settings(max_examples=50)
def test_statements_read_together_are_those_read_one_by_one(network: Network, other: Network) -> None:
    lines = [unparse_sentence(s) for n in (network, other) for s in n.sentences]
    unlabelled = [line.partition(": ")[2] for line in lines]
    alone = [rule for line in unlabelled for rule in read(line).rules]
    assert list(read("\n".join(unlabelled)).rules) == alone


def test_any_label_reads_back() -> None:
    labels = ["my rule", 'the "second"', "r[Ann Lee]", "expert.s1", "1st", "in"]
    lcn = credalog.LCN.of(*((credalog.P(a) >= f"1/{i + 2}").named(label) for i, label in enumerate(labels)))
    assert [s.label for s in credalog.parse(str(lcn)).sentences] == labels


def test_an_unmentioned_variable_survives(tmp_path: Path) -> None:
    network = Network((Variable("x"), Variable("Color", ("red", "green"))), (Sentence.of(a, 0, 1),))
    again = credalog.parse(unparse_network(network)).ground()
    assert {v.name for v in again.variables} == {"x", "Color", "a"}


def test_ground_atoms_read_back_without_declarations() -> None:
    text = 'domain D = {Tim, "Ann Lee"}\npredicate Fr(D, D)\nf: forall x, y in D: P(Fr(x,y)) >= 0.5'
    network = credalog.parse(text).ground()
    assert network.variables[1].name == 'Fr(Tim,"Ann Lee")'
    assert credalog.parse(unparse_network(network)).ground() == network


@pytest.mark.parametrize(
    "text",
    [
        'P("2024" | "01" & "-3") >= 0.3\nindependent "2024", "01"',
        'domain D = {01, 1, 007, -0, "true"}\npredicate A(D)\nforall x in D: P(A(x)) >= 0.1\nquery P(A(007))',
        'predicate "2024", "in"\nP("2024") >= 0.1',
        "variable Try in {true, false}\nP(Try = true | !Try) = 0\nP(a != False) >= 0.1",
        'P("two\\nlines") >= 0.1',
        'variable "2" in {3, 4}\nP("2" = 3) >= 0.1',
        "forall: P(a) >= 0.1",
    ],
)
def test_unusual_names_read_back(text: str) -> None:
    lcn = credalog.parse(text)
    assert credalog.parse(str(lcn)) == lcn
    assert credalog.parse(unparse_network(lcn.ground(), queries=lcn.queries)).variables == lcn.variables


def test_elements_are_what_was_written() -> None:
    text = "domain D = {01, 1}\npredicate A(D)\nr: forall x in D: P(A(x)) >= 0.1"
    assert [v.name for v in credalog.parse(text).variables] == ["A(01)", "A(1)"]


def test_a_proposition_is_compared_with_true_and_false() -> None:
    assert only("P(a = true) >= 0.1").claim == only("P(a != false) >= 0.1").claim == a
    assert only("P(a = false) >= 0.1").claim == only("P(true != a) >= 0.1").claim == Not(a)
    assert only("P(a | b = False) >= 0.1").given == Not(b)


# ---- mistakes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("example", "mistake"), [(e, m) for m in known_mistakes() for e in m.examples])
def test_every_collected_mistake_is_recognised_for_what_it_is(example: str, mistake: Mistake) -> None:
    readers = {FORMULA: read_formula, QUESTION: read_query, THRESHOLD: read_threshold}
    reader = readers.get(mistake.start, read)
    with pytest.raises(LanguageError) as caught:
        reader(example)
    assert caught.value.message == mistake.message
    assert caught.value.advice == mistake.advice
    assert caught.value.place is not None
    assert caught.value.place.text == example


DECLARED = """domain Person = {Tim, Tom, Tam}
domain Day = 1..3
predicate Fr(Person, Person) symmetric, Sm(Person), rain
variable Color in {red, green}
variable Shade(Person) in {dark, light}
relation Near(Person, Person) = {(Tim, Tom)}
function boss(Person) in Person = {Tim: Tom}
"""


@pytest.mark.parametrize(
    ("text", "message", "advice", "column"),
    [
        ("P(a | (b & c) <= 0.3", "opened and not closed", "Add )", 2),
        ("P(a)) <= 0.3", ") closes nothing", "Take it out", 5),
        ("P(a | b | c) <= 0.3", "a second bar", "P((a | b) | c)", 9),
        ("evidence a | b", "nothing to condition", "(a | b)", 12),
        ("0.3 = P(a) <= 0.5", "an equality stands", "l <= P(...) <= u", 5),
        ("0.3 <= P(a) = 0.5", "an equality stands", "l <= P(...) <= u", 13),
        ("0.3 <= P(a) >= 0.1", "different directions", "lower <= P(...) <= upper", 13),
        ("P(a) < 0.3", "stated with <", "Bounds are closed", 6),
        ("P(a) != 0.3", "stated with !=", "Bounds are closed", 6),
        ("P(a) <= 20", "20 is not a probability", "write 20%", 9),
        ("P(a) >= 1.3", "1.3 is not a probability", "between 0 and 1", 9),
        ("P(a) <= 80", "80 is not a probability", "80%", 9),
        ("-0.1 <= P(a)", "-0.1 is not a probability", "between 0 and 1", 1),
        ("-0.3 >= P(a) - P(b) >= 0.2", "the lower bound 0.2 exceeds the upper bound -0.3", "Exchange", 24),
        ("0.7 <= P(a) <= 0.3", "the lower bound 0.7 exceeds the upper bound 0.3", "Exchange", 1),
        ("P(a) + P(b) >= 3", "the sum lies between 0 and 2", "Correct", 1),
        ("P(a) - P(a) >= 0", "cancel", "", 1),
        ("0.1 <= 0.2", "no probability", "P(...)", 1),
        ("P(a) <= P(b) <= P(c)", "only the middle", "two sentences", 1),
        ("P(a) = 1/0", "divided by zero", "", 10),
        ("P(a b) >= 0.1", "b follows a formula without a connective", "a and b", 5),
        ("P(a => b) >= 0.1", "=> is not a comparison", "->", 5),
        ("P(P(a)) >= 0.1", "inside", "formula", 1),
        ("P(a and) >= 0.1", ") is not expected", "a name", 8),
        ("P(a) >=", "ends too early", "a number", 8),
        ("P(a @ b) >= 0.1", "the character @", "", 5),
        ("s: P(a) >= 0.1\ns: P(b) >= 0.1", "the label s is used twice", "own label", 1),
        ("forall x, x in Person: P(Sm(x)) >= 0.1", "x is bound twice", "another name", 8),
        ("domain D = {a, b, a}", "a is listed twice", "List it once", 13),
        ("Near2(Tim, Tom)", "Near2 is not a relation declared above", "Declare the relation", 1),
        ("mother(Tim) = Tom", "mother is not a function declared above", "Declare the function", 1),
        ("domain Person = {Tim}", "Person is declared twice", "Declare it once", 8),
        ("forall x in Person: P(Smo(x)) >= 0.1", "there is no predicate Smo", "Did you mean Sm", 23),
        ("P(rian) >= 0.1", "there is no proposition rian", "rain", 3),
        ("P(Sm(Tim, Tom)) >= 0.1", "Sm is used with 2 arguments and declared with 1", "Sm(Person)", 3),
        ("P(rain(Tim)) >= 0.1", "rain is used with 1 argument and declared with 0", "without arguments", 3),
        ("P(Sm) >= 0.1", "Sm is used with 0 arguments", "Sm(Person)", 3),
        ("P(Sm(Tomm)) >= 0.1", "Tomm is neither bound", "Did you mean Tom", 6),
        ("P(Sm(x)) >= 0.1", "x is neither bound by a quantifier nor", "forall x in Person", 6),
        ("P(Sm(2)) >= 0.1", "2 is not in Person", "order of the arguments", 6),
        ("forall d in Day: P(Sm(d)) >= 0.1", "d ranges over Day, but Person is wanted", "arguments", 8),
        ("forall x in Persn: P(Sm(x)) >= 0.1", "there is no domain Persn", "Did you mean Person", 13),
        ("forall Tim in Person: P(Sm(Tim)) >= 0.1", "Tim is bound here", "another name", 8),
        ("forall x in Person: P(x) >= 0.1", "x is a logical variable", "Apply a predicate", 8),
        ("forall x in Person, Sm(x): P(rain) >= 0.1", "Sm is random; a guard", "condition", 21),
        ("forall x in Person, Nea(x, x): P(rain) >= 0.1", "there is no relation Nea", "Near", 21),
        ("P(Color = rde) >= 0.1", "Color has no value rde", "Did you mean red", 11),
        ("P(Color) >= 0.1", "Color is not true or false", "Color = red", 3),
        ("P(Shade(Tim) = Sm(Tim)) >= 0.1", "Sm is true or false", "<->", 16),
        ("P(Sm(Shade(Tim))) >= 0.1", "Shade is random", "", 6),
        ("P(Colour = red) >= 0.1", "Colour is neither bound", "Did you mean Color", 3),
        ("P(Shade(Tim)) >= 0.1", "Shade is not true or false", "Shade(...) = ", 3),
        ("P(RAIN) >= 0.1", "there is no proposition RAIN", "Did you mean rain", 3),
        ("P(Sm(boss(Tom))) >= 0.1", "its table does not give", "guard", 3),
        ("P(boss(Tim)) >= 0.1", "boss is not a predicate", "", 3),
        ("query P(Sm(Tin))", "Tin is neither bound", "Did you mean Tim", 12),
        ("evidence Color = rd", "Color has no value rd", "red", 18),
        ("independent rain, rain", "rain cannot be independent of itself", "one side of the comma", 13),
        ("independent Color, rain | rain", "rain cannot be independent", "after the bar", 20),
        ("independent Color, rain | Color", "Color cannot be independent", "after the bar", 13),
        ("P(rain) >= 0.1\0", "a character that cannot be seen, U+0000", "plain text in UTF-8", 15),
        ("P(true) = 0.3", "no distribution satisfies line 8", "P(true) is 1", 1),
        ("P(false) >= 0.1", "no distribution satisfies line 8", "Correct the bounds", 1),
        ("relation R(Person) = {Tum}", "Tum is not in Person", "Did you mean", 23),
        ("relation R(Person) = {(Tim, Tom)}", "R is used with 2 arguments", "R(Person)", 10),
        ("predicate M(Person, Day) symmetric", "M cannot be symmetric", "", 11),
        ("function f(Day) in Day = {1: 2, 1: 3}", "f(1) is given two values", "", 10),
        ("domain D = 5..3", "the range 5..3 is empty", "1..6", 12),
        ("variable D in 6..1", "the range 6..1 is empty", "1..6", 15),
        ("variable V in {red, red}", "red is listed twice", "List it once", 16),
        ("P(rain) <= 1e400", "1e400 is no number", "0.3", 12),
        ("P(rain) <= 1e-99999999", "1e-99999999 is no number", "0.3", 12),
        (f"P(rain) <= 0.{'3' * 5000}", "is no number", "0.3", 12),
        (f"domain D = 1..{'9' * 5000}", "an integer is too long", "shorter", 15),
        ("forall d in Day, d + 1234567890123456789 = 2: P(rain) >= 0.1", "too long", "shorter", 22),
        ("P(Color > true) >= 0.1", "Color has no value true", "red", 11),
        ("P(rain > true) >= 0.1", "true and false have no order", "=", 1),
        ('include "a\0b"', "NUL", "", 10),
        ("evidence rain, !rain", "contradicts itself about rain", "Take one", 10),
        ("evidence Color = red and Color = green", "contradicts itself about Color", "Take one", 10),
    ],
)
def test_a_mistake_is_explained_in_its_place(text: str, message: str, advice: str, column: int) -> None:
    with pytest.raises(CredalogError) as caught:
        credalog.parse(DECLARED + text).ground()
    assert message in caught.value.message
    assert advice in caught.value.advice
    place = caught.value.place
    assert place is not None
    assert place.text == text.splitlines()[-1]
    assert (place.line, place.column) == (len(DECLARED.splitlines()) + len(text.splitlines()), column)


def test_a_byte_order_mark_before_a_text_is_skipped() -> None:
    marked = credalog.parse("\ufeff# a comment\nP(a) >= 0.1\n")
    assert marked == credalog.parse("# a comment\nP(a) >= 0.1\n")
    with pytest.raises(LanguageError) as caught:
        credalog.parse("\ufeffP(a >= 0.1")
    assert caught.value.place is not None
    assert (caught.value.place.text, caught.value.place.column) == ("P(a >= 0.1", 2)


def test_a_nul_byte_in_an_included_file_is_named_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "main.lcn").write_text('include "part.lcn"\n')
    (tmp_path / "part.lcn").write_bytes(b"P(a) >= 0.1\nP(b\x00) >= 0.1\n")
    with pytest.raises(LanguageError, match=r"U\+0000") as caught:
        credalog.load(tmp_path / "main.lcn")
    place = caught.value.place
    assert place is not None
    assert (Path(place.file).name, place.line, place.column) == ("part.lcn", 2, 4)
    assert "UTF-8" in caught.value.advice


def test_a_statement_that_an_instance_cannot_meet_names_the_instance() -> None:
    text = "domain D = {x, y}\nrelation R(D) = {x}\nr: forall d in D: P(R(d)) >= 0.3"
    with pytest.raises(LanguageError, match=r"no distribution satisfies r\[y\]") as caught:
        credalog.parse(text).ground()
    assert "facts are certain" in caught.value.advice


def test_an_unknown_atom_in_a_query_names_the_nearest() -> None:
    lcn = credalog.parse("P(smokes) >= 0.1\nP(cancer | smokes) >= 0.2")
    with pytest.raises(UnknownName, match="there is no smoks") as caught:
        lcn.query("P(cancer | smoks)")
    assert "smokes" in caught.value.advice
    assert caught.value.place is not None
    assert caught.value.place.column == 12


@pytest.mark.parametrize(
    ("question", "message", "advice", "column"),
    [
        ("P(a|b|a)", "a second bar", "P((a | b) | c)", 6),
        ("P(a) >= 0.5", "a question has no bounds", """`lcn.decide("P(a) >= 0.5")`""", 6),
        ("P(a | b) ≤ 0.5", "a question has no bounds", "lcn.decide(", 10),
        ("P(a) = 0.3", "a question has no bounds", """`lcn.decide("P(a) >= 0.5")`""", 6),
        ("P(a) = ?", "a question has no bounds", """`lcn.decide("P(a) >= 0.5")`""", 6),
        ("0.2 < P(a)", "a question has no bounds", "lcn.decide(", 5),
        ("0.2 <= P(a) <= 0.3", "a question has no bounds", "lcn.decide(", 5),
        ("P(a -> b) < 0.5", "a question has no bounds", """`lcn.decide("P(a -> b) <= 0.5")`""", 11),
        ("P(a", "a parenthesis is opened and not closed", "Add )", 2),
        ("P(a);", "a semicolon", "Leave it out", 5),
        ("P(a, b)", "a comma", "P(a and b", 4),
        ("P(Sm(Bob))", "there is no Bob in Person", "Person: Tim, Tom.", 6),
        ("P(light = red)", "there is no variable and no element light", "Did you mean Light?", 3),
        ("P(sky = red)", "there is no variable and no element sky", "Variables: Light.", 3),
        ("P(Sm(Tam))", "there is no Tam in Person", "Did you mean", 6),
        ("P(Sm(Tim,Tom))", "Sm is used with 2 arguments", "Sm(Person)", 3),
    ],
)
def test_a_mistake_in_a_question_is_placed_there(
    question: str, message: str, advice: str, column: int
) -> None:
    declared = "domain Person = {Tim, Tom}\npredicate Sm(Person), a, b\nvariable Light in {red, green}\n"
    lcn = credalog.parse(f"{declared}P(a | b) >= 0.1")
    with pytest.raises(CredalogError) as caught:
        lcn.query(question)
    assert message in caught.value.message
    assert advice in str(caught.value)
    assert f"\n  in the question, column {column}\n    {question}\n" in str(caught.value)


def test_a_question_about_nothing_is_told_what_there_is() -> None:
    with pytest.raises(UnknownName, match="The sentences speak of rain, wet"):
        credalog.parse("P(rain | wet) >= 0.1").query("P(zebra)")


def test_a_mistake_in_evidence_is_placed_in_the_formula() -> None:
    for observed, column in (("zebra", 1), ("a and", 6)):
        with pytest.raises(CredalogError, match=f"in the formula, column {column}\n"):
            credalog.parse("P(a) >= 0.1").map(given=observed)


RULES = """domain Person
domain Town = {Bath}
predicate Sm(Person)
relation Near(Person, Person)
function home(Person) in Town
near: forall x, y in Person, Near(x, y): P(Sm(x) <-> Sm(y)) >= 0.8
"""


@pytest.mark.parametrize(
    ("files", "message", "place"),
    [
        (
            {"Person.csv": "Tim\n", "Near.csv": "Tim,Tim\nTim,Tam\n"},
            "Tam is not in Person",
            (2, 5, "Tim,Tam"),
        ),
        ({"Near.csv": "Person,Person\nTim,Tam\nTim\n"}, "a row of 1, not 2", (3, 1, "Tim")),
        (
            {"Person.csv": "Tim\nTom\n", "Near.csv": "a,b\nTim,Tom\n\nTom,Tim\nTim, Tm\n"},
            "Tm is not in Person",
            (5, 6, "Tim, Tm"),
        ),
        (
            {"Person.csv": "Tim\n", "home.csv": "home,id,Person\nBath,1,Tim\n,2,Tim\n"},
            "an empty element",
            (3, 1, ",2,Tim"),
        ),
        (
            {"Person.csv": "Tim\n", "home.csv": 'home,"id",Person\nBath,"1",Tim\nBath,"2","Tam"\n'},
            "Tam is not in Person",
            (3, 11, 'Bath,"2","Tam"'),
        ),
        (
            {"Person.csv": "Tim\n", "home.csv": "home,id,Person\nBath,1,Tim\nBath,2\n"},
            "a row of 2, not 3",
            (3, 1, "Bath,2"),
        ),
        ({"Sm.csv": "Tim\n"}, "Sm, which is random", (1, 1, "Tim")),
        ({"Nea.csv": "Tim,Tim\n"}, "Nea, which is not declared", (1, 1, "Tim,Tim")),
        (
            {"all.json": '{"Person": ["Tim"],\n "Near": [["Tim", "Tam"]]}'},
            "Tam is not in Person",
            (2, 20, ' "Near": [["Tim", "Tam"]]}'),
        ),
        (
            {"all.json": '{"Person": ["Tim"],\n "home": {"Tim": "Bth"}}'},
            "Bth is not in Town",
            (2, 19, ' "home": {"Tim": "Bth"}}'),
        ),
        (
            {"all.json": '{"Person": ["Tim"],\n"Near": [["Tim", "Tim"],\n["Tim"]]}'},
            "a row of 1, not 2: Tim",
            (3, 3, '["Tim"]]}'),
        ),
        ({"all.json": '{"Person":\n["Tim", 0.5]}'}, "contain 0.5", (2, 9, '["Tim", 0.5]}')),
        ({"all.json": '{"Near":\n5}'}, "not a list", (1, 1, '{"Near":')),
        ({"all.json": '{\n"Persn": ["Tim"]}'}, "Persn, which is not declared", (2, 1, '"Persn": ["Tim"]}')),
        ({"all.json": '{"Person": [\n"Tim",]}'}, "is not JSON", (2, 7, '"Tim",]}')),
    ],
)
def test_a_mistake_in_data_is_placed_in_the_data(
    files: dict[str, str], message: str, place: tuple[int, int, str], tmp_path: Path
) -> None:
    (tmp_path / "rules.lcn").write_text(RULES)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(CredalogError) as caught:
        credalog.load(tmp_path / "rules.lcn", data=[tmp_path / name for name in files])
    assert message in caught.value.message
    found = caught.value.place
    assert found is not None
    assert Path(found.file).name == list(files)[-1]
    assert (found.line, found.column, found.text) == place


def test_a_wrong_row_from_python_is_shown() -> None:
    with pytest.raises(UnknownName, match=r"Tam is not in Person, in Near\(Tim, Tam\)"):
        credalog.parse(RULES, data={"Person": ["Tim"], "Near": [("Tim", "Tim"), ("Tim", "Tam")]})


def test_a_wrong_fact_of_the_text_is_not_blamed_on_the_data(tmp_path: Path) -> None:
    (tmp_path / "Near.csv").write_text("Tim,Tim\n")
    text = RULES.replace("domain Person\n", "domain Person = {Tim}\n") + "Near(Tim, Tam)\n"
    with pytest.raises(UnknownName, match="Tam is not in Person") as caught:
        credalog.parse(text, data=tmp_path / "Near.csv")
    assert caught.value.place is not None
    assert (caught.value.place.file, caught.value.place.line) == ("", 7)


@pytest.mark.parametrize(
    ("text", "advice"),
    [("domian D = {a, b}", "domain"), ("Query P(a)", "query"), ("varible C in {a, b}", "variable")],
)
def test_a_misspelt_first_word_is_recognised(text: str, advice: str) -> None:
    with pytest.raises(LanguageError, match=f"Did you mean {advice}?"):
        credalog.parse(text)


def test_a_mark_inside_quotes_is_not_taken_for_a_mistake() -> None:
    with pytest.raises(LanguageError, match="a second bar"):
        credalog.parse('P("it’s // a; b," | c | d) >= 0.1')


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "nothing is asked"), (" ", "nothing is asked"), ("forall x in D: P(Q(x))", "a line of the file")],
)
def test_what_is_no_question_is_told_what_it_is(text: str, message: str) -> None:
    with pytest.raises(LanguageError, match=message):
        read_query(text)


@pytest.mark.parametrize("text", ["a", "0.1 a", "a, b"])
def test_a_question_begins_with_p(text: str) -> None:
    with pytest.raises(LanguageError, match="a question begins"):
        credalog.parse("P(a) >= 0.1").query(text)


def test_a_formula_nested_without_end_is_refused() -> None:
    deep = "(" * 2000 + "a" + ")" * 2000
    assert len(credalog.parse(f"P({deep}) >= 0.1").sentences) == 1
    with pytest.raises(LanguageError, match="nested too deeply"):
        credalog.parse(f"P({'!(' * 2000}a{')' * 2000}) >= 0.1")


def test_the_caret_stands_under_the_mistake() -> None:
    with pytest.raises(LanguageError) as caught:
        credalog.parse("P(a) >= 0.1\nbad: 0.7 <= P(a) <= 0.3")
    assert str(caught.value).splitlines()[2:4] == ["    bad: 0.7 <= P(a) <= 0.3", "         ^"]


STATEMENTS = [
    "s1: 0.1 <= P(a xor b | (c | d) & !e) <= 0.2 ; tau=False",
    "forall x, y in Person distinct where Near(x, boss(y)): P(Fr(x,y) | Sm(x)) >= 2 P(Sm(y) | Sm(x))",
    "query forall x in Person: P(Shade(x) = dark | exists y in Person: Fr(x,y))",
    "independent rain, Color Sm(Tim) | Fr(Tim,Tom)",
    "evidence Color = red, !rain",
    "domain Place = {hill, town}",
    "relation Below(Day, Day) = {(1, 2), (2, 3)}",
]
PIECES = [*'(){|=,:;"-!@', "P", "forall", "x", "in", "<=", "0.5", "1/0", "..", "\n"]
DAMAGE = st.lists(st.tuples(st.integers(0, 40), st.sampled_from(PIECES)), max_size=3)


@pytest.mark.slow
@given(st.sampled_from(STATEMENTS), DAMAGE)
@settings(max_examples=200)
def test_a_damaged_statement_is_read_or_refused_and_nothing_worse(
    statement: str, damage: list[tuple[int, str]]
) -> None:
    words = re.findall(r"\w+|\s+|[^\w\s]", statement)
    for position, piece in damage:
        words[position % len(words)] = piece
    try:
        lcn = credalog.parse(DECLARED + "".join(words))
    except CredalogError as error:
        assert error.message
    else:
        assert credalog.parse(str(lcn)) == lcn


# ---- the documentation --------------------------------------------------------------------------------

GUIDE = (PROJECT / "docs" / "language.md").read_text(encoding="utf-8")


def blocks(section: str, language: str = "") -> list[str]:
    """Return the code blocks of a section of the guide."""
    whole = GUIDE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", whole, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("section", ["Sentences", "Formulas", "Variables with several values"])
def test_the_guide_s_examples_are_in_the_language(section: str) -> None:
    for block in blocks(section):
        network = credalog.parse(block).ground()
        assert network.sentences or network.contrasts


def test_the_guide_s_theories_and_questions_are_in_the_language() -> None:
    theory = "\n".join(blocks("First-order theories"))
    lcn = credalog.parse(theory + "\n".join(blocks("Questions, evidence, independence")))
    labels = {sentence.label.partition("[")[0] for sentence in lcn.sentences}
    assert {"friends", "alike", "smoke", "clean", "next", "rest", "down", "flow"} <= labels
    assert len(lcn.queries) == 5
    assert len(lcn.ground().independences) == 8


def test_the_guide_s_rules_for_data_are_those_shipped() -> None:
    (rules, *_) = [block for block in blocks("Several files") if block.startswith("domain")]
    shipped = PROJECT / "examples" / "neighbours" / "rules.lcn"
    assert credalog.parse(rules) == credalog.load(shipped)


def test_the_guide_s_mistake_is_what_one_sees(tmp_path: Path) -> None:
    (shown,) = blocks("Mistakes")
    message = shown.partition("error: ")[2].rstrip()
    sentence = message.splitlines()[2].strip()
    lines = [*blocks("First-order theories")[0].splitlines()[:5], "", sentence]
    path = tmp_path / "misspelt.lcn"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UnknownName) as caught:
        credalog.load(path)
    assert str(caught.value).replace(str(path), "misspelt.lcn") == message
