"""What people write by mistake in Python: each slip works, or is refused with what to write instead."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast, get_args

import numpy as np
import pytest

import credalog
from credalog import (
    LCN,
    Answer,
    CredalogError,
    GroundingTooLarge,
    LanguageError,
    Marginals,
    Markov,
    MissingLibrary,
    P,
    Query,
    Sentence,
    Status,
    UnknownName,
    Variable,
    Warrant,
    batch,
    parse,
    proposition,
    propositions,
)
from credalog.choices import METHODS, CriterionName, MarkovName, MethodName, ScheduleName, VariantName
from credalog.errors import Ask, Option
from credalog.lcn import GivenHere
from credalog.methods.intervals import Schedule, Variant
from credalog.numbers.interval import Endpoint, Interval
from credalog.questions.map import Criterion
from credalog.text.builder import Stated

a, b, c = propositions("a b c")
COLOUR = Variable("Color", ("red", "green", "blue"))
CHAIN = parse("0.2 <= P(a) <= 0.3\nP(b | a) = 0.9\n0.1 <= P(b | !a) <= 0.2")
COLOURED = LCN.of(P(COLOUR.is_("red")) >= 0.2, P(b, given=COLOUR.is_("red")) == 0.7)
DECLARED = parse("domain D = {u, v}\npredicate Q(D)\nvariable C(D) in {low, high}\n0.2 <= P(Q(u)) <= 0.3")


def untyped(value: object) -> Any:
    """Return a value whose type the checker does not know: slips are often of the wrong type."""
    return value


# Formulas.


@pytest.mark.parametrize(
    "slip",
    [lambda: a and b, lambda: a or b, lambda: not a, lambda: bool(a & b), lambda: 1 if a else 0],
    ids=["and", "or", "not", "bool", "if"],
)
def test_formulas_are_neither_true_nor_false(slip: Callable[[], object]):
    with pytest.raises(LanguageError) as caught:
        slip()
    assert all(operator in caught.value.advice for operator in ("a & b", "a | b", "~a"))


def test_a_conjunction_by_and_never_loses_its_first_part():
    with pytest.raises(LanguageError):
        LCN.of(P(a and b) >= 0.9)


@pytest.mark.parametrize(
    ("slip", "advice"),
    [
        (lambda: P(untyped("a & b")), 'parse("P(a & b) >= 0.1")'),
        (lambda: P(untyped("2024")), "propositions"),
        (lambda: P(untyped(COLOUR == "red")), 'variable.is_("red")'),
        (lambda: P(COLOUR), 'Color.is_("red")'),
        (lambda: P(untyped(None)), "P(a)"),
        (lambda: P(untyped(0.3)), "P(a)"),
        (lambda: P(a, given=untyped("b")), "propositions"),
        (lambda: P(a, given=untyped(True)), "is_"),
        (lambda: P(a, given={"Color": "red"}), "false, true"),
        (lambda: a & untyped("b"), 'proposition("a")'),
        (lambda: untyped("b") | a, 'proposition("a")'),
        (lambda: a & untyped(P(b)), 'proposition("a")'),
        (lambda: a >= 0.3, "P(a) >= 0.3"),
        (lambda: a + b, "&, | and ~"),
        (lambda: P(a, given=untyped([b, c])), '{"a": True}'),
        (lambda: Sentence.of(a, 0.7, 0.3), "lower <= upper"),
        (lambda: Sentence.of(a, 0.1, 1.3), "upper <= 1"),
        (lambda: LCN.of(Sentence.of(untyped("a"), 0.1, 0.3)), "propositions"),
        (lambda: (P(a) >= 0.2).named(untyped(3)), ".named("),
        (lambda: Variable(untyped(3)), "Variable("),
        (lambda: Variable("C", untyped(5)), 'Variable("C"'),
        (lambda: parse(untyped(None)), "parse("),
        (lambda: credalog.load(untyped(3)), "load("),
        (lambda: LCN(untyped("P(a) >= 0.1")), "parse("),
        (lambda: COLOUR.is_("pink"), "red, green, blue"),
        (lambda: Variable("Color", untyped("red")), 'Variable("Color"'),
        (lambda: Variable("Color", ("red", "red")), 'Variable("Color"'),
        (lambda: proposition(""), "proposition"),
        (lambda: P(a) < 0.3, "<="),
        (lambda: P(a) > 0.3, ">="),
        (lambda: P(a) != 0.3, "=="),
        (lambda: 0.1 <= P(a) <= 0.3, ".between(0.1, 0.3)"),
        (lambda: bool(P(a)), "P(a & b)"),
        (lambda: P(a) >= 0.1 and P(b) >= 0.1, "one by one"),
        (lambda: P(a) * untyped(P(b)) >= 0.1, "independent"),
        (lambda: P(a) / P(b) >= untyped(P(a)), "0.3"),
        (lambda: P(a).between(float("nan"), 1), "0.3"),
        (lambda: P(a) >= 1e400, "0.3"),
        (lambda: P(a) >= "lots", "0.3"),
        (lambda: P(a) >= "1e-99999999", "0.3"),
        (lambda: P(a) >= "1/0", "0.3"),
        (lambda: P(a) >= True, "0.3"),
        (lambda: P(a).between(0.1, untyped(None)), "0.3"),
        (lambda: LCN.of(untyped([P(a) >= 0.1])), "LCN.of(*sentences)"),
        (lambda: LCN.of(untyped(P(a))), "P(a) >= 0.3"),
        (lambda: LCN.of(untyped(None)), "P(a) >= 0.3"),
        (lambda: LCN.of(untyped(a)), "P(a) >= 0.3"),
        (lambda: P(a) ** 2 >= 0.1, "independent"),
        (lambda: credalog.propositions(untyped(3)), "propositions("),
        (lambda: parse("P(a) >= 0.1", data=untyped(3)), "paths"),
        (lambda: parse("P(a) >= 0.1", data={"D": ["x"]}), "Declare"),
        (lambda: LCN.structure(untyped(3), {"a": [True]}), "parents"),
        (lambda: ~untyped(COLOUR), 'Color.is_("'),
        (lambda: untyped(COLOUR) <= 2, 'Color.is_("'),
        (lambda: Variable("Die", ("1", "2")).is_(untyped(1)), 'write "1"'),
        (lambda: 1 / untyped(P(a)), "divide its bounds"),
    ],
)
def test_a_slip_says_what_to_write(slip: Callable[[], object], advice: str):
    with pytest.raises(CredalogError) as caught:
        slip()
    assert advice in caught.value.advice


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (lambda: P(a) >= "30%", "P(a) >= 0.3"),
        (lambda: P(a) / 2 >= 0.1, "P(a) >= 0.2"),
        (lambda: P(a.variable) >= 0.3, "P(a) >= 0.3"),
        (lambda: P(a, given={"b": True, "c": False}) >= 0.3, "P(a | b and !c) >= 0.3"),
        (lambda: P(a, given=None) >= 0.3, "P(a) >= 0.3"),
        (lambda: P(a & untyped(True)) >= 0.3, "P(a) >= 0.3"),
    ],
)
def test_what_is_obvious_simply_works(written: Callable[[], Stated], meant: str):
    assert str(LCN.of(written()).sentences[0]) == str(parse(meant).sentences[0])


# Questions.


@pytest.mark.parametrize(
    ("slip", "advice"),
    [
        (lambda: CHAIN.query(untyped(None)), "P(a, given=b)"),
        (lambda: CHAIN.query(untyped(3)), "P(a, given=b)"),
        (lambda: CHAIN.query(untyped(P(a) >= 0.1)), "decide"),
        (lambda: CHAIN.query("P(a)", timeout=-1), "positive"),
        (lambda: CHAIN.query("P(a)", timeout=0), "positive"),
        (lambda: CHAIN.query("P(a)", timeout=untyped("30")), "positive"),
        (lambda: CHAIN.query("P(a)", timeout=float("nan")), "positive"),
        (lambda: CHAIN.query("P(a)", tolerance=2), "at most 1"),
        (lambda: CHAIN.query("P(a)", tolerance=float("nan")), "at most 1"),
        (lambda: CHAIN.query("P(a)", method=untyped("exact")), "factorized"),
        (lambda: CHAIN.query("P(a)", markov=untyped("paper")), "local, global, none"),
        (lambda: CHAIN.query("P(a & b)", method="bp"), 'method="auto"'),
        (lambda: CHAIN.marginals(jobs=0), "jobs=1"),
        (lambda: CHAIN.marginals(jobs=untyped(1.5)), "jobs=1"),
        (lambda: CHAIN.marginals(given=untyped(3)), '{"a": True}'),
        (lambda: CHAIN.marginals(given={"a": "maybe"}), "false, true"),
        (lambda: COLOURED.marginals(given={"Color": True}), "red or green or blue"),
        (lambda: CHAIN.map(top=0), "top=1"),
        (lambda: CHAIN.map(alpha=2), "maximax"),
        (lambda: CHAIN.map(criterion=untyped("best")), "maximax"),
        (lambda: CHAIN.explain("P(a)", most=0), "most=1"),
        (lambda: CHAIN.measure("P(b)", "P(a)", within=0), "within=0.01"),
        (lambda: CHAIN.measure("P(b)", "P(a)", within="close"), "0.3"),
        (lambda: CHAIN.propagate(variant=untyped("loopy")), "sound"),
        (lambda: CHAIN.propagate(schedule=untyped("random")), "residual"),
        (lambda: CHAIN.variable("d"), "lcn.variables"),
        (lambda: CHAIN.variable(untyped(None)), "lcn.variables"),
        (lambda: CHAIN.query(Query(untyped("a"))), "propositions"),
        (lambda: CHAIN.decide(untyped(None)), "P(a) >= 0.3"),
        (lambda: CHAIN.decide(P(a).between(0.1, 0.2)), "one by one"),
        (lambda: CHAIN.decide("P(a) >= 1e-400"), "0.3"),
        (lambda: CHAIN.decide("P(a) > 0.5"), "P(a | b) >= 0.5"),
        (lambda: CHAIN.diagnose(weights={"nobody": 2.0}), "by label"),
        (lambda: CHAIN.diagnose(weights=untyped(3)), "by name"),
        (lambda: CHAIN.measure("P(b)", "P(a)", within=2), "within=0.01"),
        (lambda: CHAIN.maxent().probability(untyped("a")), "propositions"),
        (lambda: CHAIN.maxent().probability(c), "no variable c"),
        (lambda: CHAIN.with_evidence(untyped(P(a))), '{"a": True}'),
        (lambda: CHAIN.ground(limit=untyped("5")), "limit=1"),
        (lambda: CHAIN.propagate(window=untyped("2")), "window=1"),
        (lambda: CHAIN.propagate().interval("zz"), "no variable zz"),
        (lambda: CHAIN.propagate().interval("a", "maybe"), "false, true"),
        (lambda: CHAIN.graph.parents(untyped("a")), "lcn.variable(name)"),
        (lambda: CHAIN.map(untyped(5)), '["a", "b"]'),
        (lambda: CHAIN.mended(untyped(None)), "lcn.repairs()"),
        (lambda: CHAIN.mended_text(untyped("x")), "lcn.repairs()"),
        (lambda: CHAIN.with_data(untyped(3)), "paths"),
        (lambda: CHAIN.propagate(start=untyped(3)), "lcn.propagate("),
        (lambda: CHAIN.certificate(untyped("P(a)")), "lcn.query("),
        (lambda: CHAIN.reasons(untyped(3)), "lcn.query("),
        (lambda: CHAIN.hold_together(untyped(["P(a) >= 0.3"])), "lcn.decide("),
        (lambda: CHAIN.verify("no such file"), "Check the name"),
        (lambda: CHAIN.verify(untyped(3)), "lcn.verify("),
        (lambda: CHAIN.decide("0.2 <= P(a) <= 0.5"), "one by one"),
        (lambda: CHAIN.written("xml"), "lcn"),
        (lambda: CHAIN.query("P(a)", report=untyped("yes")), "report=print"),
        (lambda: CHAIN.query("P(a)", client=untyped("tcp://host:8786")), "distributed.Client("),
        (lambda: CHAIN.map(untyped({"a": True})), 'given={"c": True}'),
        (lambda: CHAIN.map(criterion="hurwicz", alpha=untyped("0.5")), "maximax"),
        (lambda: CHAIN.with_data(untyped([("Person", ["Tim"])])), "paths"),
        (lambda: list(batch(CHAIN, untyped(None))), '["P(a)", "P(b | a)"]'),
        (lambda: float(untyped(CHAIN.query("P(a)"))), "answer.lower"),
        (lambda: untyped(CHAIN.query("P(a)"))[0], "answer.lower"),
        (lambda: untyped(CHAIN.query("P(a)")) < 0.3, "lcn.decide("),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(slip: Callable[[], object], advice: str):
    with pytest.raises(CredalogError) as caught:
        slip()
    assert advice in str(caught.value)


def test_a_formula_asks_for_its_probability():
    assert CHAIN.query(a) == CHAIN.query("P(a)")
    assert CHAIN.query(a & b).query == Query(a & b)


@pytest.mark.parametrize(
    "given", ["b and !a", b & ~a, {"b": True, "a": False}, {b.variable: True, "a": np.bool_(False)}]
)
def test_what_is_given_may_be_text_a_formula_or_a_dictionary(given: Any):
    (answer,) = (m for m in CHAIN.marginals(given=given) if m.query.claim == a)
    assert (answer.lower, answer.upper) == (0.0, 0.0)


def test_other_obvious_questions_work():
    assert CHAIN.decide(P(a) <= 0.4).verdict == CHAIN.decide("P(a) <= 0.4").verdict
    assert CHAIN.formula(a) == CHAIN.formula("a") == a
    assert CHAIN.variable(untyped(a)) == a.variable
    assert CHAIN.with_evidence({"b": True}).evidence == CHAIN.with_evidence(b).evidence == b
    assert CHAIN.propagate().interval("a") == CHAIN.propagate().interval(a) == pytest.approx((0.2, 0.3))
    assert propositions(["a", "b"]) == (a, b)


def test_a_value_is_given_by_its_name():
    # P(b | Color = red) = 0.7 is a sentence.
    assert COLOURED.marginals(given={"Color": "red"})["b"].upper == pytest.approx(0.7)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("given", ["Q(v)", {"Q(v)": True}, {"C(u)": "high"}, proposition("Q(v)")])
def test_evidence_may_be_declared_and_mentioned_by_no_sentence(given: GivenHere, jobs: int):
    found = DECLARED.marginals(given=given, jobs=jobs)
    assert [(m.lower, m.upper) for m in found] == [pytest.approx((0.2, 0.3))]


@pytest.mark.parametrize("method", ["sound", "bp", "printed"])
def test_propagation_takes_evidence_that_no_sentence_mentions(method: MethodName):
    found = DECLARED.marginals(given="Q(v)", method=method)
    assert [(m.lower, m.upper) for m in found] == [pytest.approx((0.2, 0.3))]


def test_a_question_with_parameters_that_do_nothing_is_refused():
    with pytest.raises(TypeError):
        untyped(CHAIN).query("P(a)", samples=2)


def test_the_limit_counts_after_the_first_use():
    lcn = parse("P(a) >= 0.1\nP(b) >= 0.1")
    assert len(lcn.ground().sentences) == 2
    with pytest.raises(GroundingTooLarge):
        lcn.ground(limit=1)


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("scip", "ipopt")])
def test_the_method_that_an_answer_names_can_be_asked_for(method: MethodName):
    markov: MarkovName = "none" if method == "nilsson" else "local"
    lcn = parse("P(a) = 0.3\nP(b | a) = 0.5\nP(b | !a) = 0.1") if method == "points" else CHAIN
    answer = lcn.query("P(a)", method=method, markov=markov)
    assert answer.method in METHODS
    assert (
        lcn.query("P(a)", method=cast(MethodName, answer.method), markov=markov).interval == answer.interval
    )
    for marginal in lcn.marginals(method=method, markov=markov):
        assert marginal.method in METHODS


@pytest.mark.parametrize("method", ["sound", "bp", "printed"])
def test_propagation_answers_for_negated_atoms(method: MethodName):
    found = CHAIN.query("P(!a)", method=method)
    assert (found.lower, found.upper) == pytest.approx((0.7, 0.8))


def test_the_names_of_choices_are_those_of_the_enumerations():
    for literal, kind in (
        (MarkovName, Markov),
        (CriterionName, Criterion),
        (VariantName, Variant),
        (ScheduleName, Schedule),
    ):
        assert set(get_args(literal)) == {member.value for member in kind}


def test_map_lists_all_assignments_where_more_are_asked_for():
    found = CHAIN.map(top=100)
    assert len(found.ranked) == 4
    assert found.is_complete


def test_an_interval_is_its_two_bounds():
    answer = CHAIN.query("P(a)")
    low, high = answer.interval
    assert (low, high) == (answer.lower, answer.upper)


def test_map_takes_propositions():
    assert CHAIN.map(a).variables == CHAIN.map("a").variables == CHAIN.map([a]).variables


def test_map_takes_one_variable_by_its_name():
    assert [v.name for v in parse("P(ab) >= 0.2").map("ab").variables] == ["ab"]


# Results.


def results() -> list[Any]:
    answer = CHAIN.query("P(b)")
    return [
        answer,
        answer.interval,
        answer.interval.lower,
        CHAIN.marginals(),
        CHAIN.propagate(),
        CHAIN.map(),
        CHAIN.decide("P(b) >= 0.2"),
        CHAIN.diagnose(),
        parse("P(a) >= 0.6\nP(a) <= 0.4").diagnose(),
        CHAIN.explain("P(b)"),
        CHAIN.measure("P(b)", "P(a)", within=0.01),
        CHAIN.maxent(),
        CHAIN.graph,
        CHAIN.queries,
        CHAIN.sentences,
        CHAIN.variables,
        CHAIN.ground(),
        list(CHAIN.independences()),
        P(a) + 2 * P(b),
        P(a) >= 0.2,
        ~a >> (b ^ c),
    ]


@pytest.mark.parametrize("result", results(), ids=lambda one: type(one).__name__)
def test_nothing_prints_as_a_raw_dataclass(result: object):
    for text in (str(result), repr(result)):
        assert "Is(" not in text
        assert "variable=" not in text
        assert "Endpoint(" not in text


@pytest.mark.parametrize("result", results()[:12], ids=lambda one: type(one).__name__)
def test_results_are_values(result: Any):
    assert result == copy.deepcopy(result)
    assert hash(result) == hash(copy.deepcopy(result))
    assert result != "something else"
    assert result in {result}
    assert "\n" not in str(result) or isinstance(result, Marginals)
    assert result.to_dict()
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize(
    "result",
    [one for one in results()[:12] if not isinstance(one, Endpoint)],
    ids=lambda one: type(one).__name__,
)
def test_results_are_drawn_in_notebooks(result: Any):
    assert result._repr_html_().startswith("<")


def test_an_answer_prints_in_one_line():
    # P(b) = 0.9 p + q (1 - p) with p in [0.2, 0.3], q in [0.1, 0.2]: from 0.26 to 0.41.
    assert str(CHAIN.query("P(b)")).startswith("P(b) in [0.26, 0.41] (exact, ")


def test_rare_numbers_keep_their_digits():
    certain = Interval(Endpoint(1.23456e-9, None, Warrant.CHECKED), Endpoint(2e-9, None, Warrant.CHECKED))
    assert str(certain) == "[1.234e-9, 2.001e-9]"


def test_answers_do_not_differ_by_the_time_they_took():
    assert CHAIN.query("P(b)") == CHAIN.query("P(b)")
    assert CHAIN.query("P(b)") != CHAIN.query("P(a)")


def test_marginals_are_a_table():
    found = COLOURED.marginals()
    assert len(found) == 4
    assert [str(m.query.claim) for m in found] == ["Color = red", "Color = green", "Color = blue", "b"]
    assert found["b"] == found[b] == found[3]
    assert found["Color", "red"] == found["Color = red"] == found[COLOUR.is_("red")]
    assert list(untyped(found["Color"])) == list(found[:3])
    assert "b" in found
    assert "z" not in found
    assert list(found.to_dict()) == ["Color = red", "Color = green", "Color = blue", "b"]
    assert str(found).splitlines()[0].startswith("P(Color = red)    [0.2, 1]")
    with pytest.raises(UnknownName, match="no marginal of z"):
        found["z"]


def test_a_data_frame_has_a_row_for_each_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingLibrary, match="pandas"):
        CHAIN.marginals().to_frame()
    rows: dict[str, dict[str, float]] = {}
    frame = SimpleNamespace(from_dict=lambda found, orient: rows.update(found) or orient)
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=frame))
    assert CHAIN.marginals().to_frame() == "index"
    assert rows["a"]["lower"] == pytest.approx(0.2)


def test_the_graph_is_drawn_in_notebooks():
    drawn = CHAIN.graph._repr_svg_()
    assert drawn is not None and drawn.startswith("<svg")
    assert "a -> b" in str(CHAIN.graph).replace("\n    ", " ")


def test_bounds_that_need_no_proof_are_nobodys_claim():
    claimed = Interval(Endpoint(0.0, None, Warrant.CLAIMED), Endpoint(0.4, None, Warrant.CLAIMED))
    answer = Answer(Query(a), claimed, Status.BOUNDED, "scip", 0.0)
    assert answer.interval.lower.warrant is Warrant.CHECKED
    assert answer.interval.upper.warrant is Warrant.CLAIMED


def test_no_digit_of_maxent_is_shown_that_the_gap_does_not_warrant():
    found = CHAIN.maxent()
    # Pinsker: with a gap of 1e-4 a probability may be off by sqrt(1e-4 / 2) = 0.007.
    wide = type(found)(found.distribution, found.entropy, found.entropy + 1e-4, found.status, 0.0)
    assert wide.digits() == 2
    narrow = type(found)(found.distribution, found.entropy, found.entropy + 1e-9, found.status, 0.0)
    assert narrow.digits() == 4


# Why an answer says nothing.


@pytest.mark.parametrize(
    ("text", "asked", "reason"),
    [
        ("proposition a\nproposition z\nP(a) = 0.5", "P(z)", "no sentence mentions z"),
        ("P(s | d) = 0.9", "P(d)", "d stands in conditions only"),
        ("0.8 <= P(s | d) <= 0.9\nP(d) <= 1", "P(d | s)", "nothing bounds P(d) from below"),
        (
            "0.8 <= P(s | d) <= 0.9\n0.1 <= P(d) <= 0.9\n0 <= P(q | t) <= 1",
            "P(q | t)",
            "t may have probability 0",
        ),
    ],
)
def test_an_answer_that_says_nothing_says_why(text: str, asked: str, reason: str):
    lcn = parse(text)
    answer = lcn.query(asked)
    assert (answer.lower, answer.upper) == (0.0, 1.0)
    assert any(reason in why for why in lcn.reasons(answer))


def test_an_answer_that_says_something_needs_no_reason():
    assert CHAIN.reasons(CHAIN.query("P(a)")) == ()


# Errors.


def test_a_remedy_is_a_flag_or_an_argument():
    with pytest.raises(CredalogError) as caught:
        CHAIN.query("P(a)", method="nilsson")
    assert caught.value.remedies == (Option("markov", "none"),)
    assert 'markov="none"' in str(caught.value)
    assert "--markov none" in caught.value.on_the_command_line
    assert Ask("check FILE", "lcn.diagnose()").in_python == "`lcn.diagnose()`"
    assert Option("limit", 10).in_python == "limit=10"


def test_errors_travel_between_processes():
    error = CredalogError("no", advice="Add {}.", remedies=(Option("markov", "none"),))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# The package.


def test_the_version_is_that_of_the_package():
    assert credalog.__version__[0].isdigit()


def test_every_public_name_can_be_imported_and_is_listed():
    for name in credalog.__all__:
        assert getattr(credalog, name) is not None
        assert name in dir(credalog)
    with pytest.raises(AttributeError):
        credalog.nothing  # noqa: B018 -- looking is what is tested


def test_importing_the_package_imports_no_solver():
    script = "import sys, credalog; assert not {'numpy', 'highspy', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.slow
def test_threads_share_one_lcn():
    text = "0.2 <= P(a) <= 0.3\nP(b | a) = 0.9\nP(b | !a) = 0.1\n0.1 <= P(a xor c) <= 0.4"
    lcn, asked = parse(text), ["P(a | b)", "P(c)", "P(b | c)", "P(a or c)"] * 4
    with ThreadPoolExecutor(8) as pool:
        networks = list(pool.map(lambda _: lcn.ground(), range(64)))
        engines = list(pool.map(lambda _: lcn._engine(Markov.LOCAL, lcn.question("P(b)")), range(64)))
        together = list(pool.map(lcn.query, asked))
    assert all(network is networks[0] for network in networks)
    assert all(engine is engines[0] for engine in engines)
    alone = [parse(text).query(question) for question in asked]
    for one, other in zip(together, alone, strict=True):
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), abs=1e-4)


# ---- what is given, and what is named -------------------------------------------------------------------


@pytest.mark.parametrize("given", [{"a": True}, a, "a"])
def test_a_question_takes_what_is_given_as_marginals_do(given: GivenHere) -> None:
    assert CHAIN.query("P(b)", given=given) == CHAIN.query("P(b | a)")
    assert CHAIN.query(b, given=given).query == CHAIN.question("P(b | a)")


def test_what_is_given_joins_what_the_question_says_and_the_evidence() -> None:
    observed = parse(f"{CHAIN}\nevidence a")
    assert observed.query("P(b)", given={"a": True}).query == CHAIN.question("P(b | a)")
    with pytest.raises(credalog.ImpossibleEvidence):
        observed.query("P(b)", given={"a": False})


def test_an_explicit_model_is_that_of_an_answer() -> None:
    with pytest.raises(CredalogError, match="no answer"):
        CHAIN.explicit_model(untyped("P(a)"))


def test_a_file_that_is_not_there_is_looked_for_beside(tmp_path: Any) -> None:
    (tmp_path / "network.lcn").write_text("P(a) >= 0.2")
    with pytest.raises(UnknownName, match=r"Did you mean .*network\.lcn\?"):
        credalog.load(tmp_path / "netwrok.lcn")
    with pytest.raises(UnknownName, match="named first"):
        credalog.load("P(a | b)")
    with pytest.raises(UnknownName, match="Check the name"):
        credalog.load(tmp_path / "nowhere" / "network.lcn")
