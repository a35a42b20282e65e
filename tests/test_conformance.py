"""Golden networks: every method and every question agrees with the answer written in the file.

A file of `conformance/` is a network; comments in it say what is to be expected, and why:

    # expect [markov CONDITION] P(claim | given) = [lower, upper]     (or one number for both)
    # expect [markov CONDITION] impossible P(claim | given)
    # expect [markov CONDITION] inconsistent

The numbers come from the paper or from arithmetic on paper, never from our own output. A method is held to
what it may claim, and to no more: a proof, a solver's word, witnesses alone, an outer bound, or an estimate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import cast

import pytest

import credalog
from credalog import LCN, ImpossibleEvidence, InconsistentNetwork, Markov, Status
from credalog.choices import MethodName, VariantName
from credalog.errors import CredalogError
from credalog.methods import registry
from credalog.methods.answer import Answer, Options
from credalog.methods.points import answers as points
from credalog.methods.vertices import sets
from credalog.network.formulas import TRUE, Is, Variable, literals_of, scope
from credalog.network.sentences import Query
from credalog.numbers.interval import Interval, Warrant
from credalog.numbers.tolerances import TOLERANCE
from credalog.questions.decide import Verdict
from credalog.tables.credal import credal_network
from credalog.theory import Theory
from oracle import parents

FOLDER = Path(__file__).parent / "conformance"
FILES = sorted(FOLDER.glob("*.lcn"))
ROUNDING = 1e-9
BEYOND = 1e-7
"""How far a witness may lie outside the truth: it satisfies its sentences to a tolerance."""

SOLVERS_WORD = 1e-6
"""How far a solver's word may be from the truth: its own tolerance."""

EXPECT = re.compile(
    r"# expect (?:markov (?P<markov>\w+) )?"
    r"(?:(?P<wrong>inconsistent|impossible) ?(?P<asked>P\(.*\))?|(?P<query>P\(.*\)) = (?P<value>.*))"
)


# --- What is expected -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a file says of one query: its interval, or the error it ends in."""

    path: Path
    markov: Markov
    query: str
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(1)
    error: type[CredalogError] | None = None

    def __str__(self) -> str:
        return f"{self.path.stem}-{self.query} {self.markov.value}".replace(" ", "-")

    @property
    def lcn(self) -> LCN:
        """Return the network, read once but with nothing remembered from other questions."""
        return LCN(read(self.path))


@cache
def read(path: Path) -> Theory:
    return credalog.load(path).theory


def expectations(path: Path) -> Iterator[Expectation]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# expect"):
            yield expectation(path, line)


def expectation(path: Path, line: str) -> Expectation:
    found = EXPECT.fullmatch(line)
    assert found, f"not an expectation: {line}"
    markov = Markov(found["markov"] or "local")
    if found["wrong"] == "impossible":
        return Expectation(path, markov, found["asked"], error=ImpossibleEvidence)
    if found["wrong"] == "inconsistent":
        return Expectation(path, markov, "", error=InconsistentNetwork)
    ends = found["value"].strip("[]").split(",")
    return Expectation(path, markov, found["query"], Fraction(ends[0].strip()), Fraction(ends[-1].strip()))


EXPECTATIONS = [expected for path in FILES for expected in expectations(path)]
ONE_OF_EACH = list({(one.path, one.markov): one for one in EXPECTATIONS}.values())
ANSWERED = [expected for expected in EXPECTATIONS if expected.error is None]


OPEN = {
    "rarer_than_a_floor-P(a-|-e)-local-joint": "over all worlds nothing is found of evidence that rare",
}
"""Which tests are known to fail as yet, and why."""


def golden(expected: Expectation, *more: Method, question: str = "") -> object:
    """Return the parameters of one test, marked where it is known to fail."""
    name = "-".join([str(expected), *(method.name for method in more)])
    reason = OPEN.get(f"{name}-{question}" if question else name)
    marks = [pytest.mark.xfail(strict=False, reason=reason)] if reason else []
    marks += [pytest.mark.slow] if any(method.name in TIMEOUTS for method in more) else []
    return pytest.param(expected, *more, id=name, marks=marks)


# --- What a method may claim ------------------------------------------------------------------------------


class Claims(Enum):
    """Say what a method promises of its intervals."""

    PROVED = "both ends are proved and attained"
    CLAIMED = "both ends stand on a solver's word"
    WITNESSES = "models that attain values, and no bound"
    OUTER = "bounds that every model keeps"
    ESTIMATE = "nothing, except on polytrees"


Ask = Callable[[LCN, Expectation, MethodName], Answer]
TIMEOUTS = {"scip": 0.4, "ipopt": 0.2}
"""Those that need not close the interval need not take the time."""


def by_query(lcn: LCN, expected: Expectation, method: MethodName) -> Answer:
    return lcn.query(
        expected.query, method=method, markov=expected.markov, timeout=TIMEOUTS.get(method, 10.0)
    )


def by_propagation(lcn: LCN, expected: Expectation, method: MethodName) -> Answer:
    query = lcn.question(expected.query)
    found = lcn.propagate(variant=cast(VariantName, method), given=query.given, markov=expected.markov)
    (answer,) = [one for one in found.answers() if one.query.claim == query.claim]
    return answer


@dataclass(frozen=True, slots=True)
class Method:
    """A method by its name, what it claims, the Markov conditions it knows, and how it is asked."""

    name: MethodName
    claims: Claims
    conditions: frozenset[Markov] = frozenset(Markov)
    ask: Ask = by_query

    def applies(self, lcn: LCN, expected: Expectation) -> bool:
        """Tell whether the method has anything to say: some know fewer networks than the language does."""
        if expected.markov not in self.conditions:
            return False
        network = lcn.ground()
        if self.name == "nilsson":
            return not network.independences
        if not expected.query:
            return self.ask is by_query and self.name not in ("points", "sets")
        query = lcn.question(expected.query)
        if self.name == "sets":
            return sets.applies(network, query, lcn.graph)
        if self.name == "points":
            credal = credal_network(network, lcn.graph)
            return credal is not None and points.query(credal, query, Options()) is not None
        return self.ask is by_query or _is_of_an_atom(query)


def _is_of_an_atom(query: Query) -> bool:
    return isinstance(query.claim, Is) and (query.given == TRUE or bool(literals_of(query.given)))


def claims_of(method: registry.Method) -> Claims:
    """Read off the registry what a method promises; that IPOPT bounds nothing only its summary says."""
    if method.name == "ipopt":
        return Claims.WITNESSES
    if method.warrant is Warrant.HEURISTIC:
        return Claims.ESTIMATE
    if method.warrant is Warrant.CLAIMED:
        return Claims.CLAIMED
    return Claims.PROVED if method.attains else Claims.OUTER


def in_suite(method: registry.Method) -> Method:
    ask = by_propagation if method.warrant is Warrant.HEURISTIC else by_query
    return Method(method.name, claims_of(method), frozenset(method.markov), ask)


METHODS = tuple(map(in_suite, registry.METHODS))


def cases() -> Iterator[object]:
    for expected in EXPECTATIONS:
        for method in METHODS:
            if method.applies(expected.lcn, expected):
                yield golden(expected, method)


@pytest.mark.parametrize(("expected", "method"), list(cases()))
def test_every_method_gives_the_golden_answer_as_far_as_it_may_claim_one(
    expected: Expectation, method: Method
) -> None:
    if method.name in ("scip", "ipopt"):
        pytest.importorskip({"scip": "pyscipopt", "ipopt": "ipyopt"}[method.name])
    if expected.error is not None:
        _ends_in_the_error(expected, method)
        return
    refusals = (CredalogError,) if method.claims is Claims.ESTIMATE else ()
    with suppress(*refusals):
        answer = method.ask(expected.lcn, expected, method.name)
        JUDGES[method.claims](answer, expected)


KEPT = ("appendix", "barren", "common_cause", "credal_chain", "dilation", "explaining_away", "many_values")
"""Networks on which IPOPT finds both ends of every interval, if its points are kept."""


@pytest.mark.slow
@pytest.mark.parametrize("expected", [one for one in ANSWERED if one.path.stem in KEPT], ids=str)
def test_ipopt_keeps_the_points_it_finds(expected: Expectation) -> None:
    pytest.importorskip("ipyopt")
    answer = expected.lcn.query(expected.query, method="ipopt", markov=expected.markov, timeout=20.0)
    assert answer.lower_witnessed == pytest.approx(float(expected.lower), abs=TOLERANCE)
    assert answer.upper_witnessed == pytest.approx(float(expected.upper), abs=TOLERANCE)


def _ends_in_the_error(expected: Expectation, method: Method) -> None:
    """Demand the error of what proves, of marginals far from a contradiction too; of others, no witness."""
    lcn = expected.lcn
    asked = [expected.query] if expected.query else [f"P({variable.name})" for variable in lcn.variables]
    for query in asked:
        one = Expectation(expected.path, expected.markov, query, error=expected.error)
        if method.claims is Claims.PROVED:
            with pytest.raises(expected.error or CredalogError):
                method.ask(lcn, one, method.name)
            continue
        with suppress(CredalogError):
            answer = method.ask(lcn, one, method.name)
            assert answer.status is not Status.EXACT
            assert answer.lower_witnessed is None and answer.upper_witnessed is None


def _is_proved(answer: Answer, expected: Expectation) -> None:
    lower, upper = float(expected.lower), float(expected.upper)
    assert answer.status is Status.EXACT
    assert answer.lower_witnessed is not None and answer.upper_witnessed is not None
    _contains(answer.interval, expected)
    _attains_nothing_beyond(answer, expected, ROUNDING)
    assert (answer.lower, answer.upper) == pytest.approx((lower, upper), abs=TOLERANCE)
    witnessed = answer.lower_witnessed, answer.upper_witnessed
    assert witnessed == pytest.approx((lower, upper), abs=TOLERANCE)
    assert Warrant.HEURISTIC not in (answer.interval.lower.warrant, answer.interval.upper.warrant)


def _is_claimed(answer: Answer, expected: Expectation) -> None:
    _contains(answer.interval, expected, SOLVERS_WORD)
    _attains_nothing_beyond(answer, expected)
    for end, sure in ((answer.interval.lower, 0.0), (answer.interval.upper, 1.0)):
        assert end.warrant is Warrant.CLAIMED or end.bound == sure
    if answer.status is Status.EXACT:
        ends = float(expected.lower), float(expected.upper)
        assert (answer.lower, answer.upper) == pytest.approx(ends, abs=TOLERANCE)


def _is_witnessed(answer: Answer, expected: Expectation) -> None:
    assert (answer.lower, answer.upper) == (0.0, 1.0)
    _attains_nothing_beyond(answer, expected)
    if answer.status is Status.EXACT:
        assert (expected.lower, expected.upper) == pytest.approx((0, 1), abs=TOLERANCE)


def _is_outer(answer: Answer, expected: Expectation) -> None:
    _contains(answer.interval, expected)
    _attains_nothing_beyond(answer, expected)
    assert answer.status in (Status.BOUNDED, Status.UNDECIDED) or answer.lower_witnessed is not None


def _is_an_estimate(answer: Answer, expected: Expectation) -> None:
    assert answer.status in (Status.APPROXIMATE, Status.UNDECIDED)
    assert answer.lower_witnessed is None and answer.upper_witnessed is None
    is_exact = answer.method == "bp" and _is_a_credal_polytree(expected)
    if is_exact:
        ends = float(expected.lower), float(expected.upper)
        assert (answer.lower, answer.upper) == pytest.approx(ends, abs=SOLVERS_WORD)


JUDGES: dict[Claims, Callable[[Answer, Expectation], None]] = {
    Claims.PROVED: _is_proved,
    Claims.CLAIMED: _is_claimed,
    Claims.WITNESSES: _is_witnessed,
    Claims.OUTER: _is_outer,
    Claims.ESTIMATE: _is_an_estimate,
}


def _contains(interval: Interval, expected: Expectation, tolerance: float = ROUNDING) -> None:
    assert interval.lower.bound <= float(expected.lower) + tolerance
    assert interval.upper.bound >= float(expected.upper) - tolerance


def _attains_nothing_beyond(answer: Answer, expected: Expectation, tolerance: float = BEYOND) -> None:
    """Demand that no witness lie outside the truth."""
    for value in (answer.lower_witnessed, answer.upper_witnessed):
        if value is not None:
            assert float(expected.lower) - tolerance <= value <= float(expected.upper) + tolerance


def _is_a_credal_polytree(expected: Expectation) -> bool:
    """Tell whether propagation should be exact: propositions, unique assessments, no undirected cycle."""
    network = expected.lcn.ground()
    if not all(v.is_proposition for v in network.variables) or not all(
        s.is_atomic for s in network.sentences
    ):
        return False
    families = {x: parents(network, x) for x in network.variables}
    assessed = [(s.claim_scope, s.given) for s in network.sentences]
    unique = len(set(assessed)) == len(assessed) and all(
        set(s.given_scope) == families[s.claim_scope[0]] for s in network.sentences
    )
    edges = {frozenset((x, y)) for x, above in families.items() for y in above}
    return unique and len(edges) == sum(map(len, families.values())) and _is_a_forest(edges)


def _is_a_forest(edges: set[frozenset[Variable]]) -> bool:
    group = {x: x for edge in edges for x in edge}

    def root(x: Variable) -> Variable:
        return x if group[x] is x else root(group[x])

    for first, second in edges:
        if root(first) is root(second):
            return False
        group[root(first)] = root(second)
    return True


# --- Every question ---------------------------------------------------------------------------------------

STEP = Fraction(1, 100)


def verdicts(expected: Expectation) -> Iterator[tuple[str, set[Verdict]]]:
    """Yield statements with thresholds beside both ends, and the verdict that each must have."""
    lower, upper = expected.lower, expected.upper
    between = {Verdict.UNDETERMINED if lower < upper else Verdict.CERTAIN}
    statements = (
        (">=", lower - STEP, {Verdict.CERTAIN}),
        ("<=", lower + STEP, between),
        (">=", upper - STEP, between),
        (">=", upper + STEP, {Verdict.EXCLUDED}),
    )
    for relation, threshold, verdict in statements:
        if 0 <= threshold <= 1 and (lower == upper or upper - lower > STEP):
            yield _statement(expected, relation, threshold), verdict


def verdicts_at_the_ends(expected: Expectation) -> Iterator[tuple[str, set[Verdict]]]:
    """Yield statements with thresholds on both ends: never false, if not always decided.

    An end need not be attained: what no model passes may also be excluded, but nothing else.
    """
    lower, upper = expected.lower, expected.upper
    if lower in (0, 1) or lower.denominator < 10**6:
        yield _statement(expected, ">=", lower), {Verdict.CERTAIN, Verdict.UNDECIDED}
    if upper in (0, 1) or upper.denominator < 10**6:
        yield _statement(expected, "<=", upper), {Verdict.CERTAIN, Verdict.UNDECIDED}
    if lower < upper:
        beyond = {Verdict.UNDETERMINED, Verdict.UNDECIDED, Verdict.EXCLUDED}
        yield _statement(expected, ">=", upper), beyond
        yield _statement(expected, "<=", lower), beyond


def _statement(expected: Expectation, relation: str, threshold: Fraction) -> str:
    return f"{expected.query} {relation} {threshold.numerator}/{threshold.denominator}"


@pytest.mark.parametrize("expected", [golden(one) for one in ANSWERED])
def test_decide_is_right_beside_every_golden_end(expected: Expectation) -> None:
    lcn = expected.lcn
    for statement, allowed in verdicts(expected):
        assert lcn.decide(statement, markov=expected.markov, timeout=10.0).verdict in allowed, statement


@pytest.mark.slow
@pytest.mark.parametrize("expected", [golden(one) for one in ANSWERED])
def test_decide_is_not_wrong_on_any_golden_end(expected: Expectation) -> None:
    lcn = expected.lcn
    for statement, allowed in verdicts_at_the_ends(expected):
        assert lcn.decide(statement, markov=expected.markov, timeout=0.25).verdict in allowed, statement


OF_ATOMS = [one for one in ANSWERED if _is_of_an_atom(one.lcn.question(one.query))]


@pytest.mark.parametrize("expected", [golden(one) for one in OF_ATOMS])
def test_marginals_contain_the_golden_answer(expected: Expectation) -> None:
    lcn = expected.lcn
    query = lcn.question(expected.query)
    answers = lcn.marginals(given=query.given, markov=expected.markov)
    (answer,) = [one for one in answers if one.query.claim == query.claim]
    _is_proved(answer, expected)


@pytest.mark.slow
@pytest.mark.parametrize("expected", [golden(one) for one in OF_ATOMS])
def test_the_best_value_of_a_variable_has_the_golden_answer(expected: Expectation) -> None:
    """Of a proposition, the other value has the complement: between them they have the best score."""
    lcn = expected.lcn
    query = lcn.question(expected.query)
    atom = query.claim
    assert isinstance(atom, Is)
    values = len(atom.variable.values)
    found = lcn.map([atom.variable], given=query.given, markov=expected.markov, top=values, timeout=5.0)
    (ranked,) = [one for one in found.ranked if one.values[atom.variable] == atom.value]
    _contains(ranked.interval, expected)
    if atom.variable.is_proposition:
        best = float(max(expected.upper, 1 - expected.lower))
        assert found.bound >= best - ROUNDING
        assert not found.is_proved or found.bound == pytest.approx(best, abs=2 * TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("expected", [golden(one, question="explain") for one in ANSWERED])
def test_no_sentence_that_is_dropped_narrows_the_golden_answer(expected: Expectation) -> None:
    found = expected.lcn.explain(expected.query, markov=expected.markov, timeout=1.0, most=2)
    _contains(found.answer.interval, expected)
    for influence in found.influences:
        _contains(influence.answer.interval, expected)
        assert influence.lower_move >= 0.0 and influence.upper_move >= 0.0


@pytest.mark.slow
@pytest.mark.parametrize("expected", [golden(one) for one in ONE_OF_EACH])
def test_check_finds_a_model_just_where_one_is(expected: Expectation) -> None:
    verdict = expected.lcn.diagnose(markov=expected.markov, timeout=3.0).verdict.name
    assert verdict == ("INCONSISTENT" if expected.error is InconsistentNetwork else "CONSISTENT")


@pytest.mark.parametrize("expected", [golden(one) for one in EXPECTATIONS if one.error is not None])
def test_every_question_ends_in_the_golden_error(expected: Expectation) -> None:
    lcn, markov = expected.lcn, expected.markov
    asked = expected.query or f"P({lcn.variables[0].name})"
    given = lcn.question(asked).given
    free = next(variable for variable in lcn.variables if variable not in scope(given))
    questions: list[Callable[[], object]] = [
        lambda: lcn.decide(f"{asked} >= 0.5", markov=markov),
        lambda: lcn.explain(asked, markov=markov),
        lambda: lcn.marginals(given=given, markov=markov),
        lambda: lcn.map([free], given=given, markov=markov),
    ]
    for question in questions:
        with pytest.raises(expected.error or CredalogError):
            question()


def test_every_golden_network_expects_something() -> None:
    assert len(FILES) >= 20
    assert all(any(expectations(path)) for path in FILES)
