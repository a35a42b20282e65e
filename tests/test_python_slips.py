"""What Python would have accepted in silence, or refused in words about something else."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import credalog
from credalog import LCN, CredalogError, LanguageError, P, Status, Variable, parse, proposition, propositions

a, b = propositions("a b")
COLOR = Variable("C", ("red", "green"))
CHAIN = parse("0.2 <= P(a) <= 0.3\nP(b | a) = 0.9\n0.1 <= P(b | !a) <= 0.2")


def untyped(value: object) -> Any:
    """Return a value whose type the checker does not know: slips are often of the wrong type."""
    return value


def test_two_formulas_are_neither_a_joint_nor_a_conditional_probability():
    with pytest.raises(LanguageError) as caught:
        untyped(P)(a, b)
    assert "P(a & b)" in caught.value.advice
    assert "P(a, given=b)" in caught.value.advice


@pytest.mark.parametrize("names", ["a, b", "a,b", "a b", " a , b "])
def test_names_are_separated_by_blanks_or_commas(names: str):
    assert propositions(names) == (a, b)


def test_a_comma_inside_an_atom_separates_nothing():
    assert propositions("Fr(Tim,Tom), b") == (proposition("Fr(Tim,Tom)"), b)


def test_the_values_of_a_variable_are_no_set_which_has_no_order():
    with pytest.raises(LanguageError):
        Variable("Color", untyped({"red", "green"}))


@pytest.mark.parametrize("given", [0, P(b), [b], {"b"}, pd.Series({"b": True}), pd.DataFrame({"b": [True]})])
def test_what_is_no_condition_is_told_what_one_is(given: object):
    for ask in (lambda: CHAIN.query(P(a), given=untyped(given)), lambda: P(a, given=untyped(given))):
        with pytest.raises(LanguageError) as caught:
            ask()
        assert "is no condition" in caught.value.message
        assert '{"a": True}' in caught.value.advice


def test_a_row_of_a_frame_is_given_as_a_dict_as_advised():
    row = pd.DataFrame({"b": [True]}).iloc[0]
    with pytest.raises(LanguageError, match="to_dict"):
        CHAIN.query(P(a), given=untyped(row))
    assert CHAIN.query(P(a), given=row.to_dict()) == CHAIN.query("P(a | b)")


@pytest.mark.parametrize(
    "sentences",
    [[P(a) >= 0.3], (one for one in [P(a) >= 0.3]), np.array([P(a) >= 0.3], dtype=object)],
    ids=["list", "generator", "array"],
)
def test_many_sentences_at_once_are_given_with_a_star(sentences: object):
    with pytest.raises(LanguageError) as caught:
        LCN.of(untyped(sentences))
    assert "LCN.of(*sentences)" in caught.value.advice


def test_a_frame_is_not_taken_for_a_list_of_files():
    with pytest.raises(LanguageError) as caught:
        parse("domain D\npredicate Q(D)", data=untyped(pd.DataFrame({"D": ["u"]})))
    assert 'data={"Near": frame}' in caught.value.advice


@pytest.mark.parametrize(
    ("slip", "told"),
    [
        (lambda: untyped(P(a)) | P(b), "P(a, given=b)"),
        (lambda: ~untyped(P(a)), "P(~a)"),
        (lambda: -untyped(a), "&, | and ~"),
        (lambda: P(a) <= 10**5000, '"1/3"'),
        (lambda: P(a) == P(a), "two different probabilities"),
        (lambda: f"{CHAIN.query(P(a)):.2f}", "answer.lower"),
        (lambda: CHAIN.query(P(a), jobs=untyped("2")), "jobs=1"),
    ],
)
def test_what_python_would_complain_of_is_told_what_to_write(slip: Callable[[], object], told: str):
    with pytest.raises(CredalogError) as caught:
        slip()
    assert told in caught.value.advice


def test_a_count_that_is_a_text_is_shown_as_one():
    with pytest.raises(CredalogError, match="jobs='2'"):
        CHAIN.query(P(a), jobs=untyped("2"))


def test_a_frame_is_not_asked_by_its_headings():
    with pytest.raises(LanguageError) as caught:
        list(credalog.batch(CHAIN, untyped(pd.DataFrame({"query": ["P(a)"]}))))
    assert 'frame["query"]' in caught.value.advice
    assert len(list(credalog.batch(CHAIN, pd.Series(["P(a)"])))) == 1


def test_headings_are_given_by_name():
    with pytest.raises(CredalogError) as caught:
        parse("P(a | b) = ?").learn({"A?": [1], "b": [1]}, columns=untyped(["A?"]))
    assert 'columns={"smoker": "Smokes?"}' in caught.value.advice


def test_a_limit_may_be_any_real_number():
    answer = CHAIN.query(P(a), timeout=untyped(Fraction(9)), tolerance=untyped(np.float32(0.01)))
    assert answer.status is Status.EXACT


def test_a_truth_value_of_numpy_is_joined_on_either_side():
    assert str(a & untyped(np.True_)) == str(untyped(np.True_) & a)


def test_a_number_is_looked_for_between_the_ends_of_an_interval():
    interval = CHAIN.query(P(a)).interval
    assert 0.25 in interval
    assert 0.1 not in interval


def test_an_answer_is_written_into_as_many_columns_as_are_wanted():
    answer = CHAIN.query(P(a))
    assert f"{answer:>80}" == str(answer).rjust(80)


def test_a_sentence_in_the_place_of_a_file_is_told_to_be_parsed():
    with pytest.raises(credalog.UnknownName) as caught:
        credalog.load("P(a) = 0.3")
    assert "parse it" in caught.value.advice


def test_a_quotient_is_compared_like_a_probability():
    # P(a) / P(b) = 1/2 with P(b) = 1/2 is P(a) = 1/4; Python would have compared two objects.
    network = LCN.of(untyped(P(a) / P(b) == 0.5), P(b) == 0.5)
    assert network.query(P(a)).lower == pytest.approx(0.25)
    assert network.query(P(a)).upper == pytest.approx(0.25)


@pytest.mark.parametrize(
    "compared",
    [
        lambda: untyped(P(a) / P(b)) < 0.3,
        lambda: untyped(P(a) / P(b)) > 0.3,
        lambda: untyped(P(a) / P(b)) != 0.3,
        lambda: bool(P(a) / P(b)),
        lambda: (P(a) / P(b)).between(0.1, 0.2),
        lambda: abs(P(a) - P(b)),
        lambda: 1 - untyped(a),
        lambda: np.array([0.3]) <= untyped(P(a)),
        lambda: np.array([True]) & untyped(a),
        lambda: pd.Series([0.3]) <= untyped(P(a)),
        lambda: untyped(P(a)) >= pd.Series([0.3]),
    ],
)
def test_what_a_probability_cannot_do_is_said(compared: Callable[[], object]):
    with pytest.raises(LanguageError) as caught:
        compared()
    assert caught.value.advice
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", [1, None, ("b",)])
def test_what_is_observed_goes_by_names(name: object):
    for ask in (
        lambda: CHAIN.query(P(a), given=untyped({name: True})),
        lambda: P(a, given=untyped({name: True})),
    ):
        with pytest.raises(LanguageError, match="is no name of a variable"):
            ask()


def test_a_count_may_come_from_numpy():
    assert CHAIN.query(P(a), jobs=untyped(np.int64(1))) == CHAIN.query(P(a))
    for count in (np.bool_(True), np.float64(1), "2", 0):
        with pytest.raises(CredalogError, match="is no count"):
            CHAIN.query(P(a), jobs=untyped(count))


def test_a_column_alone_is_no_table():
    with pytest.raises(LanguageError, match="a Series is no table"):
        parse("P(a) = ?").learn(untyped(pd.Series([True, False], name="a")))


def test_data_extend_what_they_name():
    with pytest.raises(LanguageError, match="1 is no name of a domain"):
        CHAIN.with_data(untyped({1: [2]}))


def test_what_cannot_be_written_says_where(tmp_path: Path):
    answer = CHAIN.query(P(a))
    nowhere = tmp_path / "nowhere" / "answer.svg"
    for write in (answer.plot().save, CHAIN.certificate(answer).write):
        with pytest.raises(LanguageError, match="cannot be written") as caught:
            write(nowhere)
        assert str(nowhere.parent) in caught.value.advice
        with pytest.raises(LanguageError, match="None is no path"):
            write(untyped(None))
    assert not nowhere.parent.exists()


@pytest.mark.parametrize(
    ("slip", "told"),
    [
        (lambda: CHAIN.propagate(report=untyped(1)), "report=print"),
        (lambda: CHAIN.statement(untyped(None)), "P(a | b) >= 0.5"),
        (lambda: untyped(P)("P(a)"), 'lcn.query("P(a)")'),
        (lambda: LCN.of(untyped(a)), "state P(a) >= 0.3"),
        (lambda: CHAIN.decide_together(untyped(["P(a) >= 0.1"])), "with a star before them"),
        (lambda: CHAIN.certificate(untyped([CHAIN.query(P(a))])), "lcn.certificate(*answers)"),
        (lambda: CHAIN.certificate(untyped(CHAIN.marginals())), "lcn.certificate(*answers)"),
        (lambda: LCN.of(P(COLOR.is_("red")) >= 0.3, P(proposition("C")) >= 0.2), "red, green"),
        (lambda: credalog.load("https://example.org/net.lcn"), "fetch it first"),
        (lambda: credalog.load("-"), "save it in a file"),
    ],
)
def test_what_to_write_instead_is_said(slip: Callable[[], object], told: str):
    with pytest.raises(CredalogError) as caught:
        slip()
    assert told in caught.value.advice


def test_a_variable_with_other_values_than_the_network_knows_is_refused():
    # Neither red nor green: possible for a colour that may be blue, and not for the one that is asked about.
    network = LCN.of(P(Variable("C", ("red", "green", "blue")).is_("red")) >= 0.3)
    with pytest.raises(LanguageError, match="has the values red, green, blue, and not red, green"):
        network.query(P(~COLOR.is_("red") & ~COLOR.is_("green")))
    order = Variable("C", ("blue", "green", "red"))
    assert network.query(P(order.is_("red"))).lower == pytest.approx(0.3)


def test_a_verdict_is_not_read_off_the_truth_of_an_object():
    # `if lcn.decide(...)` would hold whatever the verdict.
    for found in (CHAIN.decide("P(a) >= 0.9"), CHAIN.decide_together("P(a) >= 0.9"), CHAIN.diagnose()):
        with pytest.raises(CredalogError, match="is neither true nor false") as caught:
            bool(found)
        assert "verdict" in caught.value.advice


def test_marginals_contain_what_they_answer():
    found = CHAIN.marginals()
    for known in ("a", a, a.variable, ("a", "true"), found[0]):
        assert known in found
    for unknown in ("zz", proposition("zz"), ("a", "false"), 0, 7):
        assert unknown not in found


@pytest.mark.parametrize(
    "joined",
    [
        lambda: untyped(P(a) >= 0.3) & (P(b) >= 0.2),
        lambda: ~untyped(P(a) >= 0.3),
        lambda: untyped(P(a) >= 0.3) <= 0.5,
        lambda: untyped(P(a) >= 0.3) + 1,
    ],
)
def test_sentences_are_stated_one_by_one(joined: Callable[[], object]):
    with pytest.raises(LanguageError, match="is no formula, and no number"):
        joined()


def test_a_model_says_what_it_can_be_asked():
    model = CHAIN.query(P(b)).upper_witness
    assert model is not None
    assert model.probability(a) == pytest.approx(0.3)
    for claim in ("a", P(a)):
        with pytest.raises(LanguageError, match="is no formula"):
            model.probability(untyped(claim))
    with pytest.raises(CredalogError, match="says nothing of zz"):
        model.probability(proposition("zz"))
