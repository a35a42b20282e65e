"""A variable with one value has it for certain, in the language as in files of other formats.

What a model says then holds given that value, too, so that a network in which a variable of one value stands
in every condition has the same answers as without it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import credalog
from credalog import LCN, InconsistentNetwork, LanguageError, Variable, parse
from credalog.choices import MethodName
from credalog.network.formulas import conjunction

GOLDEN = Path(__file__).parent / "conformance"
ONLY = Variable("Only", ("it",))

BIF = """network n {}
variable A { type discrete [1] { only }; }
variable B { type discrete [2] { t, f }; }
probability ( A ) { table 1.0; }
probability ( B | A ) { (only) 0.3, 0.7; }
"""


def test_what_is_written_of_a_file_with_a_single_value_is_read_again(tmp_path: Path):
    path = tmp_path / "one.bif"
    path.write_text(BIF)
    widened = credalog.load(path).widen(by="0.1")
    assert parse(widened.unparse()).query("P(B = t)") == widened.query("P(B = t)")
    assert parse(widened.unparse()).query("P(B = t)").upper == pytest.approx(0.4)


@pytest.mark.parametrize("method", ["auto", "factorized", "joint", "sound", "bp", "scip"])
def test_a_single_value_is_certain_for_every_method(method: MethodName):
    network = parse("variable A in {only}\n0.2 <= P(b | A = only) <= 0.4\n0.1 <= P(b or c) <= 0.6")
    answer = network.query("P(A = only)", method=method)
    assert answer.lower >= 1 - 1e-5
    assert answer.upper >= 1 - 1e-9
    head = parse("variable A in {only}\nP(A = only) >= 0.5\nP(b | A = only) = 0.25")
    assert head.query("P(A = only)", method=method).lower >= 1 - 1e-5
    assert head.query("P(b)", method=method).lower == pytest.approx(0.25, abs=1e-5)


@pytest.mark.parametrize("method", ["sound", "bp"])
def test_the_marginals_of_a_file_with_a_single_value_have_it_for_certain(method: MethodName, tmp_path: Path):
    path = tmp_path / "one.bif"
    path.write_text(BIF)
    assert credalog.load(path).marginals(method=method)["A = only"].lower == pytest.approx(1)


@pytest.mark.parametrize("said", ["P(A = only) <= 0.5", "P(!(A = only)) >= 0.5"])
@pytest.mark.parametrize("method", ["auto", "sound"])
def test_a_single_value_cannot_be_less_than_certain(said: str, method: MethodName):
    network = parse(f"variable A in {{only}}\nP(b) >= 0.5\n{said}")
    with pytest.raises(InconsistentNetwork):
        network.query("P(A = only)", method=method)


def test_a_range_and_a_domain_may_have_one_element():
    assert parse("variable A in 3..3\nP(A = 3 and b) = 0.25").query("E(A)").lower == pytest.approx(3)
    text = "domain D = {x}\ndomain V = {v}\npredicate B(D)\nvariable A(D) in V\n"
    network = parse(f"{text}forall d in D: 0.1 <= P(B(d) | A(d) = v) <= 0.2")
    assert network.query("P(B(x))").upper == pytest.approx(0.2)


@pytest.mark.parametrize("values", ["{}", "D"])
def test_a_variable_without_any_value_is_refused(values: str):
    with pytest.raises(LanguageError, match="A has no value"):
        parse(f"domain D = {{}}\nvariable A in {values}\nP(b) >= 0.1").query("P(b)")


@pytest.mark.parametrize("method", ["auto", "factorized", "joint", "sets", "sound", "lifted"])
def test_what_is_certain_may_be_observed(method: MethodName):
    network = parse("variable A in {only}\n0.2 <= P(b) <= 0.4\n0.5 <= P(A = only | b) <= 1")
    answer = network.query("P(b | A = only)", method=method)
    assert answer.lower == pytest.approx(0.2)
    assert answer.upper == pytest.approx(0.4)


def test_a_block_of_certain_variables_has_no_log_linear_terms():
    # Given d, a and b are independent: c(1-e)/((1-c)e), with c = P(b | a) and e = P(b | !a), would have to be
    # 0.4 * 0.45 / (0.28 * 0.59) where d holds, and 0.6 * 0.55 / (0.72 * 0.41) where not.
    text = """variable Z in {only}
P(a) = 0.84
P(b) = 0.42
P(Z = only | a and b) = 1
P(d | a and b and Z = only) = 0.28
P(d | a and !b and Z = only) = 0.4
P(d | !a and b and Z = only) = 0.45
P(d | !a and !b and Z = only) = 0.59
P(d and b and Z = only) <= 0.9"""
    for method in ("auto", "lifted"):
        with pytest.raises(InconsistentNetwork):
            parse(text).query("P(d | Z = only)", method=method)


NETWORKS = ("appendix", "common_cause", "dilation", "linear_tied", "many_values", "two_sources")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_condition_that_always_holds_changes_no_answer(name: str):
    path = GOLDEN / f"{name}.lcn"
    sentences = credalog.load(path).sentences
    padded = LCN.of(*(replace(s, given=conjunction((s.given, ONLY.is_("it")))) for s in sentences))
    for asked, lower, upper in expected(path):
        answer = padded.query(asked)
        assert answer.lower == pytest.approx(lower, abs=1e-6)
        assert answer.upper == pytest.approx(upper, abs=1e-6)
        sound = padded.query(asked, method="sound")
        assert sound.lower <= lower + 1e-9
        assert sound.upper >= upper - 1e-9


def expected(path: Path) -> Iterator[tuple[str, float, float]]:
    """Yield the questions that a golden network answers in its comments, and the answers."""
    text = path.read_text()
    for found in re.finditer(r"^# expect (P\(.*\)) = \[?([\d./]+)(?:, ([\d./]+)\])?$", text, re.M):
        yield found[1], float(Fraction(found[2])), float(Fraction(found[3] or found[2]))


def test_what_is_certain_may_be_observed_of_the_best_assignment():
    # P(M = r) may be 0.78, and leaves at most 0.5 for another value.
    network = parse("""variable M in {r, s, t}
variable Z in {only}
0 <= P(M = s | a) <= 0.29 ; tau=False
0.37 <= P(b | Z = only and !c) <= 0.88
0.5 <= P(M = r) <= 0.78
0.15 <= P(!b) <= 0.58""")
    best = network.map(["M"], given="Z = only").best
    assert best is not None
    assert [atom.value for atom in best.assignment] == ["r"]
    assert best.score_upper == pytest.approx(0.78, abs=1e-4)
