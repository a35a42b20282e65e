"""Guards of the questions that are made of probabilities: assignments, decisions, readings in turn."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf

import numpy as np
import pytest
import scipy.sparse as sp

import credalog
from conftest import PROJECT
from credalog.errors import InconsistentNetwork, LanguageError
from credalog.methods import automatic
from credalog.methods.answer import Answer, Options
from credalog.methods.cliques.search import Ending, Finding, Limits
from credalog.methods.intervals.windows import LinearProgram
from credalog.methods.reduction import reduced
from credalog.network.expressions import Linear, Quotient
from credalog.network.formulas import TRUE, Formula, Is
from credalog.network.graph import Markov
from credalog.network.sentences import Query
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Endpoint, Interval, Status, Warrant
from credalog.program.branch import Explored
from credalog.program.program import Claim, Objective, Outcome
from credalog.questions import assignments, combined, decide
from credalog.questions import map as explaining
from credalog.questions.assignments import Assignments
from credalog.questions.bounding import Bounding, Solver, bounding_reading, readings_of, search_in_turn
from credalog.questions.decide import Relation, Verdict
from credalog.questions.products import ROUNDING
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.certify import Checker

AMPLE = Budget.of()

TABLES = "0.2 <= P(a) <= 0.8\nP(b | a) = 0.9\nP(b | !a) = 0.1\n"
STATED = TABLES + "P(b) <= 0.3\n"
"""As P(b) is 0.1 + 0.8 P(a), that of a is at most a quarter."""

CYCLIC = "P(a | b) = 0.5\nP(b | a) = 0.5\n"


def assigned(
    text: str, given: str = "", markov: Markov = Markov.LOCAL, *, is_consistent: bool = True
) -> Assignments:
    """Return the assignments of all variables but those observed, which are true."""
    lcn = credalog.parse(text)
    network = lcn.ground()
    seen: Formula = Is(lcn.variable(given)) if given else TRUE
    chosen = [x for x, v in enumerate(network.variables) if v.name != given]
    engine = automatic.Engine(network, markov)
    return Assignments(engine, chosen, seen, AMPLE, is_consistent=is_consistent)


def names(found: Assignments) -> set[str]:
    return {found.problem.variables[x].name for x in found.entangled}


def test_what_is_said_beyond_single_tables_is_no_product_of_local_choices() -> None:
    assert names(assigned(TABLES)) == set()
    assert names(assigned(STATED)) == {"a", "b"}
    assert names(assigned(CYCLIC)) == {"a", "b"}
    declared = "P(d) = 0.5\n" + "".join(f"0.2 <= P({x} | {d}) <= 0.8\n" for x in "ac" for d in ("d", "!d"))
    assert names(assigned(declared)) == set()
    assert names(assigned(declared + "independent a, c\n")) == {"a", "c", "d"}
    assert names(assigned(TABLES, markov=Markov.NONE)) == {"a", "b"}
    assert names(assigned(TABLES, given="b")) == {"a", "b"}


def test_the_best_assignments_obey_what_is_said_of_a_child() -> None:
    """With p = P(a) between 0.2 and 0.25: 0.9 p, 0.1 p, 0.1 (1 - p) and 0.9 (1 - p)."""
    found = credalog.parse(STATED).map(["a", "b"], top=4)
    truth = {"a, b": "0.225", "a, not b": "0.025", "not a, b": "0.08", "not a, not b": "0.72"}
    assert {str(one) for one in found.ranked} == set(truth)
    for one in found.ranked:
        assert Fraction(truth[str(one)]) <= Fraction(one.interval.upper.bound)
        assert one.interval.upper.bound <= float(truth[str(one)]) + 1e-3


def test_nothing_is_multiplied_where_nothing_is_independent() -> None:
    """Without the Markov condition both may be one coin; in a cycle P(a, b) may be a third."""
    free = assigned("P(a) = 0.5\nP(b) = 0.5\n", markov=Markov.NONE)
    assert free.upper({0: 1, 1: 1}) >= 0.5
    assert Fraction(assigned(CYCLIC).upper({0: 1, 1: 1})) >= Fraction(1, 3)


@pytest.mark.parametrize("share", ["1/3", "2/3", "1/7", "0.1", "0.7"])
def test_the_ends_of_a_table_are_rounded_outwards(share: str) -> None:
    found, exact = assigned(f"P(a) = {share}\n"), Fraction(share)
    assert Fraction(float(found._ends(0, End.UPPER)[1][1])) >= exact
    assert Fraction(float(found._ends(0, End.LOWER)[1][1])) <= exact


def test_what_is_known_of_an_assignment_keeps_its_word_and_says_no_more_than_is_proved() -> None:
    found = assigned(STATED)
    found._remember((((0, 1), (1, 1)), End.UPPER), Endpoint(0.6, 0.2, Warrant.CLAIMED))
    known = found.known_end({0: 1, 1: 1}, end=End.UPPER)
    assert known.warrant is Warrant.CLAIMED and known.bound >= 0.6
    assert found._relaxed[(0, 1), (1, 1)] == 0.6


@pytest.mark.parametrize("is_consistent", [False, True])
def test_nothing_is_attained_where_no_model_is_known(is_consistent: bool) -> None:
    found = assigned(TABLES, is_consistent=is_consistent).known_end({0: 1, 1: 1}, end=End.UPPER)
    assert (found.witnessed is not None) == is_consistent


def test_what_is_too_small_for_a_float_is_not_said_to_be_attained() -> None:
    tiny = assigned("P(a) = 1e-200\nP(b | a) = 1e-200\nP(b | !a) = 0\n")
    assert tiny.known_end({0: 1, 1: 1}, end=End.UPPER).witnessed is None
    assert tiny.known_end({0: 0, 1: 1}, end=End.UPPER).witnessed == 0.0


def test_each_set_of_variables_has_a_table_of_its_own() -> None:
    found = assigned(STATED)
    for prefix, truth in (({0: 1}, "0.25"), ({0: 1, 1: 1}, "0.225")):
        bound = found._bounding(prefix, Reading.LITERAL).relaxed(AMPLE, end=End.UPPER).bound
        assert Fraction(truth) <= Fraction(bound)


RARE = "P(a) = 0.5\nP(b | a) <= 0.9\nP(b | !a) <= 0.9\nP(b) >= 0.26\n"


def test_the_mass_of_evidence_is_bounded_by_its_least_probability() -> None:
    """P(b) is 0.26 in some model: under b the mass is 1 / 0.26 there, and never more."""
    found, most = assigned(RARE, given="b"), 1 / Fraction("0.26")
    assert most <= Fraction(found._most_mass) <= most + Fraction(1, 1000)
    query = Query(Is(found.problem.variables[0]), found.given)
    part = found.engine.part(query)
    encoding, objective = part.encode(query, part.problem.reading)
    assert objective.mass_bounds[0] == np.inf
    whole = Bounding(found.engine, query.scope, part.problem, encoding, objective, Solver(encoding.program))
    bound = whole.with_mass_bounded(found.given, AMPLE).objective.mass_bounds[0]
    assert most <= Fraction(float(bound)) <= most + Fraction(1, 1000)


def test_a_window_has_as_much_mass_as_evidence_may_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows say that the second world has a probability of at least 0.26."""
    seen = list[float]()
    original = LinearProgram._end

    def noted(self: LinearProgram, objective: Objective, end: End) -> float:
        seen.append(float(objective.mass_bounds[0]))
        return original(self, objective, end)

    monkeypatch.setattr(LinearProgram, "_end", noted)
    program = LinearProgram(sp.csr_array(np.array([[0.26, -0.74]])), AMPLE)
    found = program.range(np.array([False, True]), np.array([False, True]))
    assert found[1] == 1.0
    assert Fraction(seen[-1]) >= 1 / Fraction("0.26")


def test_the_bound_of_a_product_is_rounded_outwards() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        p, r = (Fraction(int(n), 10**7) for n in rng.integers(1, 10**7, 2))
        found = assigned(f"P(a) = {float(p)}\nP(b | a) = {float(r)}\nP(b | !a) = 0.5\nP(b) <= 1\n")
        whole = {found.number[v]: 1 for v in found.engine.network.variables}
        assert Fraction(found._all_upper.bound(whole)) * (1 + Fraction(ROUNDING)) >= p * r
        assert Fraction(found.upper(whole)) >= p * r


def test_a_solvers_word_alone_does_not_empty_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    found = assigned(STATED)
    key = {found.number[v]: 1 for v in found.engine.network.variables}
    for warrant in (Warrant.CLAIMED, Checker.warrant):
        empty = Finding(0.0, None, Ending.EMPTY, warrant, 1, None)
        monkeypatch.setattr(assignments, "search_in_turn", lambda *_, one=empty, **__: one)
        if warrant is Checker.warrant:
            with pytest.raises(InconsistentNetwork):
                found._search(key, Limits(1e-4, AMPLE), End.UPPER)
        else:
            found._search(key, Limits(1e-4, AMPLE), End.UPPER)


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("given", ["c", "c and d", "c or d"])
def test_an_assignment_is_bounded_alike_in_a_table_and_by_itself(
    is_held: bool, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_held:
        monkeypatch.setattr(assignments, "TABLED", 0)
        monkeypatch.setattr(assignments, "QUICKLY_TABLED", 0)
    text = STATED + "0.3 <= P(c | b) <= 0.6\nP(c | !b) = 0.2\n0.1 <= P(d | a) <= 0.4\nP(d | !a) = 0.7\n"
    lcn = credalog.parse(text)
    engine, condition = automatic.Engine(lcn.ground()), lcn.formula(given)
    numbers = {v.name: n for n, v in enumerate(engine.network.variables)}
    found = Assignments(engine, [numbers["a"], numbers["b"]], condition, AMPLE, is_consistent=True)
    for states in ((1, 0), (0, 1)):
        names = " & ".join(("" if s else "!") + name for s, name in zip(states, "ab", strict=True))
        truth = lcn.query(f"P({names} | {given})")
        key = {numbers["a"]: states[0], numbers["b"]: states[1]}
        bounding = found._bounding(key, bounding_reading(found.problem))
        for end, value in ((End.LOWER, truth.lower), (End.UPPER, truth.upper)):
            relaxed = bounding.relaxed(AMPLE, end=end).bound
            assert relaxed <= value + 1e-6 if end is End.LOWER else relaxed >= value - 1e-6
            assert found.end(key, Limits(1e-5, AMPLE), end=end).bound == pytest.approx(value, abs=1e-3)


def test_each_reading_of_an_assignment_has_a_program_of_its_own() -> None:
    lcn = credalog.load(PROJECT / "tests" / "conformance" / "positivity.lcn")
    engine = automatic.Engine(lcn.ground())
    numbers = {v.name: n for n, v in enumerate(engine.network.variables)}
    found = Assignments(engine, [numbers["c"]], lcn.formula("b"), AMPLE, is_consistent=True)
    read = readings_of(found.problem)
    assert len(read) > 1
    for reading in (*read, *read):
        bounding = found._bounding({numbers["c"]: 1}, reading)
        assert bounding.encoding.factorization.reading is reading


FOUR = "variable C in 1..4\n0.2 <= P(c | C = 1) <= 0.5\n"


@pytest.mark.parametrize(
    ("text", "is_summed_out"),
    [
        (FOUR + "0.3 <= P(C = 1) <= 0.6", True),
        (FOUR + "0.3 <= P(C = 1 or C = 2) <= 0.6", False),
        ("P(a) = 1e-100\nP(c | a) = 0.5\nP(c | !a) = 0.2", True),
        ("P(a) = 1e-290\nP(c | a) = 0.5\nP(c | !a) = 0.2", False),
    ],
)
def test_evidence_is_summed_out_by_vertices_only_where_these_are_boxes_without_tiny_numbers(
    text: str, is_summed_out: bool
) -> None:
    assert (assigned(text, "c").evidence is not None) == is_summed_out


# --- Decisions -------------------------------------------------------------------------------------------

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("lower", "upper", "relation", "verdict"),
    [
        (0.5, 0.7, Relation.AT_LEAST, Verdict.CERTAIN),
        (0.4, 0.5, Relation.AT_LEAST, Verdict.UNDECIDED),
        (0.3, 0.4, Relation.AT_LEAST, Verdict.EXCLUDED),
        (0.3, 0.5, Relation.AT_MOST, Verdict.CERTAIN),
        (0.5, 0.7, Relation.AT_MOST, Verdict.UNDECIDED),
        (0.6, 0.7, Relation.AT_MOST, Verdict.EXCLUDED),
    ],
)
def test_a_threshold_that_is_met_is_not_excluded(
    lower: float, upper: float, relation: Relation, verdict: Verdict
) -> None:
    known = Interval(Endpoint(lower, None, Warrant.CHECKED), Endpoint(upper, None, Warrant.CHECKED))
    assert decide._by_bounds(known, relation, HALF) is verdict


@pytest.mark.parametrize("relation", Relation)
def test_a_threshold_is_the_decimal_that_was_typed(relation: Relation) -> None:
    """The float 0.1 is a little more than a tenth; P(a) is a tenth, at least and at most."""
    lcn = credalog.parse("P(a) = 0.1")
    engine, asked = automatic.Engine(lcn.ground()), Query(Is(lcn.variable("a")))
    assert decide.decide(engine, asked, 0.1, relation=relation).verdict is Verdict.CERTAIN


def comparison(text: str, asked: str, relation: Relation = Relation.AT_LEAST) -> decide._Comparison:
    """Return a comparison of a probability with one half that has not begun."""
    lcn = credalog.parse(text)
    return decide._Comparison(
        automatic.Engine(lcn.ground()), lcn.question(asked), HALF, relation, Options(timeout=10.0)
    )


def half_witnessed(lcn_text: str, value: float) -> Distribution:
    (a,) = credalog.parse(lcn_text).ground().variables
    return Distribution((Factor((a,), (), np.array([1.0 - value, value])),))


@pytest.mark.parametrize(("value", "is_met"), [(0.3, False), (0.5, True), (0.6, True)])
def test_a_bound_at_the_threshold_is_met_only_where_a_model_comes_near(value: float, is_met: bool) -> None:
    text = "P(a) <= 0.5" if value <= 0.5 else "P(a) <= 0.7"
    asked = comparison(text, "P(a)")
    bound = 0.5 if value <= 0.5 else 0.7
    upper = Endpoint(bound, value, Warrant.CHECKED, model=half_witnessed(text, value))
    asked.interval = Interval(Endpoint(0.0, None, Warrant.CHECKED), upper)
    assert asked._is_met == is_met


def test_a_violation_counts_for_more_where_the_condition_is_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = comparison("0.2 <= P(a | b) <= 0.9\n0.001 <= P(b) <= 0.002", "P(a | b)")
    monkeypatch.setattr(asked, "_missed", lambda model: 1e-9)
    found = Endpoint(0.9, 0.6, Warrant.CHECKED, model=half_witnessed("P(a) <= 1", 0.5))
    # Both P(a & b) and P(b) may be off by a violation: the quotient by twice as much, divided by P(b).
    assert asked._measured_accuracy(found, 1e-3) >= 2e-6


def test_a_contradiction_elsewhere_is_named_where_a_model_would_settle_it() -> None:
    with pytest.raises(InconsistentNetwork):
        credalog.parse("0.2 <= P(a) <= 0.8\nP(b) >= 0.6\nP(b) <= 0.4").decide("P(a) >= 0.5")


def test_a_sentence_about_a_multiple_states_no_bound_of_the_probability() -> None:
    network = credalog.parse("0.1 <= P(a) <= 0.9").ground()
    twice = replace(network.sentences[0], claims=((Fraction(2), Is(network.variables[0])),))
    network = replace(network, sentences=(*network.sentences, replace(twice, lower=Fraction(6, 5))))
    asked = Query(Is(network.variables[0]))
    found = decide._Comparison(automatic.Engine(network), asked, HALF, Relation.AT_LEAST, Options())
    assert found._stated(End.LOWER) == [Fraction(1, 10)] and found._stated(End.UPPER) == [Fraction(9, 10)]


def test_each_reading_has_a_program_of_its_own() -> None:
    lcn = credalog.load(PROJECT / "tests" / "conformance" / "positivity.lcn")
    engine, asked = automatic.Engine(lcn.ground()), lcn.question("P(c | b)")
    found = decide._Comparison(engine, asked, HALF, Relation.AT_LEAST, Options(timeout=10.0))
    read = readings_of(found.part.problem)
    programs = [found._program(reading) for reading in read]
    assert len(read) > 1 and len(set(map(id, programs))) == len(read)
    assert [program.encoding.factorization.reading for program in programs] == list(read)
    assert all(found._program(reading) is one for reading, one in zip(read, programs, strict=True))


@pytest.mark.parametrize("relation", Relation)
def test_a_bound_at_the_threshold_settles_that_a_statement_holds_and_not_that_it_fails(
    relation: Relation,
) -> None:
    asked = comparison("0.1 <= P(a) <= 0.9", "P(a)", relation)
    holding = asked.holding
    assert asked._answers(holding)(0.5, None)
    assert not asked._answers(holding.opposite)(0.5, None)
    assert asked._answers(holding.opposite)(0.5 - 0.01 * holding.sign, None)


@pytest.mark.parametrize(("statement", "is_one"), [("0.1 <= P(a) <= 0.3", False), ("P(a) <= 0.3", True)])
def test_a_statement_with_two_bounds_is_no_comparison_with_one_number(statement: str, is_one: bool) -> None:
    (stated,) = credalog.parse(statement).ground().sentences
    if is_one:
        asked, relation, number = decide.statement_of(stated)
        assert (str(asked), relation, number) == ("P(a)", Relation.AT_MOST, Fraction(3, 10))
    else:
        with pytest.raises(LanguageError, match="one number"):
            decide.statement_of(stated)


# --- Best assignments ------------------------------------------------------------------------------------


def test_the_true_end_lies_between_what_is_proved_and_what_is_attained() -> None:
    lower, upper = Endpoint(0.2, 0.3, Warrant.CHECKED), Endpoint(0.6, 0.5, Warrant.CHECKED)
    assert explaining._range(lower, End.LOWER) == (0.2, 0.3)
    assert explaining._range(upper, End.UPPER) == (0.5, 0.6)
    assert explaining._range(replace(lower, witnessed=None), End.LOWER) == (0.2, 1.0)
    assert explaining._range(replace(upper, witnessed=None), End.UPPER) == (0.0, 0.6)


def searching(top: int = 1) -> explaining._BestFirst:
    return explaining._BestFirst(assigned(TABLES), Options(), AMPLE, alpha=1.0, top=top)


def found_of(*scores: tuple[float, float]) -> dict[tuple[int, ...], explaining._Candidate]:
    return {(i,): explaining._Candidate((i,), low, high) for i, (low, high) in enumerate(scores)}


def test_nothing_is_proved_to_be_the_best_while_something_is_open() -> None:
    search = searching()
    search.candidates = found_of((0.5, 0.5))
    assert search.bound == 1.0
    assert not search.is_proved and not search.is_complete
    search.tree.run(lambda *_: Explored(), until=lambda: False, enough=lambda: inf)
    assert search.bound == 0.5
    assert search.is_proved and search.is_complete


def test_what_may_be_as_good_is_listed_and_leaves_the_best_unproved() -> None:
    search = searching()
    search.tree.run(lambda *_: Explored(), until=lambda: False, enough=lambda: inf)
    search.candidates = found_of((0.2, 0.6), (0.5, 0.5), (0.1, 0.3))
    assert search.bound == 0.6
    assert not search.is_proved and search.is_complete
    assert [c.states for c in search.ranked()] == [(1,), (0,)]


def test_only_what_is_certainly_below_another_is_dominated(monkeypatch: pytest.MonkeyPatch) -> None:
    def ran(search: explaining._BestFirst) -> None:
        search.candidates = found_of((0.2, 0.5), (0.1, 0.4))

    monkeypatch.setattr(explaining._BestFirst, "run", ran)
    found = explaining._undominated(assigned(TABLES), Options(), AMPLE, 1)
    assert found.floor == 0.2
    assert len(found.ranked()) == 2


# --- Readings --------------------------------------------------------------------------------------------


def positivity(reading: Reading) -> Bounding:
    """Return P(c | b) in one reading of a network in which c and d may copy b, or its opposite."""
    lcn = credalog.load(PROJECT / "tests" / "conformance" / "positivity.lcn")
    query, engine = lcn.question("P(c | b)"), automatic.Engine(lcn.ground())
    part = engine.part(query)
    assert bounding_reading(part.problem) is not Reading.CHAIN
    encoding, objective = part.encode(query, reading)
    return Bounding(engine, query.scope, part.problem, encoding, objective, Solver(encoding.program))


class Narrow:
    """A solver that proves a narrow interval of whatever program it is given."""

    def bound(self, *_: object, end: End) -> tuple[Endpoint, Claim]:
        proved = Endpoint(0.4 if end is End.LOWER else 0.6, None, Warrant.CHECKED)
        return proved, Claim(Outcome.STOPPED, 0.5, np.zeros(0), np.zeros(0))


@pytest.mark.parametrize("end", End)
def test_a_glance_at_the_chain_graph_reading_bounds_nothing(end: End) -> None:
    """There P(c | b) is one half; in the network it is anything from 0 to 1."""
    for reading in (Reading.CHAIN, Reading.OUTER):
        glanced = replace(positivity(reading), solver=Narrow())  # type: ignore[arg-type]
        bound, _ = glanced.glance(AMPLE, end=end)
        assert (bound.bound == end.trivial) == (reading is Reading.CHAIN)


def test_nobody_is_told_of_a_search_among_some_models() -> None:
    told = dict[Reading, bool]()

    class Program:
        def __init__(self, reading: Reading) -> None:
            self.reading, self.is_outer = reading, reading is not Reading.CHAIN

        def search(self, limits: Limits, **_: object) -> Finding:
            told[self.reading] = limits.report is not None
            return Finding(0.5, None, Ending.STOPPED, Warrant.CHECKED, 1, None)

    readings, limits = (Reading.CHAIN, Reading.OUTER), Limits(1e-4, AMPLE, report=lambda _: None)
    search_in_turn(readings, Program, limits, end=End.UPPER)  # type: ignore[arg-type]
    assert told == {Reading.CHAIN: False, Reading.OUTER: True}


# --- Sums and quotients ----------------------------------------------------------------------------------

ACROSS = "0.2 <= P(a) <= 0.8\n0.3 <= P(c | a) <= 0.6\n0.2 <= P(b) <= 0.7\n0.1 <= P(c | b) <= 0.9"


@pytest.mark.parametrize("warrant", [Warrant.CHECKED, Warrant.CLAIMED])
def test_what_is_claimed_of_parts_is_not_stated_of_the_whole(
    warrant: Warrant, monkeypatch: pytest.MonkeyPatch
) -> None:
    lcn = credalog.parse(ACROSS)
    asked = lcn.asked("P(c | a) - P(c | b)")
    assert isinstance(asked, Linear)
    stated = []

    def noted(*_: object, ranges: dict[object, object], possible: object, **__: object) -> None:
        stated.append((ranges, possible))

    def of_part(*_: object) -> Answer:
        known = Interval(Endpoint(0.1, None, warrant), Endpoint(0.9, None, warrant))
        return Answer(asked, known, Status.BOUNDED, "factorized", 0.0, False, ())

    engine = automatic.Engine(lcn.ground())
    monkeypatch.setattr(combined, "reduced", noted)
    monkeypatch.setattr(combined, "answer", of_part)
    monkeypatch.setattr(automatic.Engine, "query", of_part)
    combined._Combination(engine, asked, Options(timeout=10.0)).answer()
    ((ranges, possible),) = stated
    is_checked = warrant is Warrant.CHECKED
    assert bool(ranges) == bool(possible) == is_checked


def test_a_condition_that_may_be_impossible_is_not_said_to_be_possible() -> None:
    lcn = credalog.parse(ACROSS.replace("0.2 <= P(a)", "0 <= P(a)"))
    asked = lcn.asked("P(c | a) - P(c | b)")
    assert isinstance(asked, Linear)
    found = combined._Combination(automatic.Engine(lcn.ground()), asked, Options(timeout=10.0))
    assert [str(condition) for condition in found._possible()] == ["b"]


def test_the_value_at_a_bound_is_rounded_outwards() -> None:
    lcn = credalog.parse(ACROSS)
    asked, engine = lcn.asked("P(c | a) - P(c | b)"), automatic.Engine(lcn.ground())
    assert isinstance(asked, Linear)
    work = combined._Combination(engine, asked, Options(timeout=10.0))
    found = reduced(engine.network, asked, engine.markov, possible=(), ranges={})
    assert found is not None
    apart = 0
    for p in np.linspace(0.05, 0.95, 40):
        ends = (Endpoint(float(p), None, Warrant.CHECKED), Endpoint(float(p), None, Warrant.CHECKED))
        got = Answer(found.query, Interval(*ends), Status.BOUNDED, "factorized", 0.0, False, ())
        values = [found.way.value(float(p), down=down) for down in (True, False)]
        assert work._translated(found, got, End.LOWER).bound == min(values)
        assert work._translated(found, got, End.UPPER).bound == max(values)
        apart += values[0] < values[1]
    assert apart


def test_what_is_no_model_attains_no_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    lcn = credalog.parse("0.2 <= P(a) <= 0.8")
    asked = lcn.asked("2 P(a) + 1")
    work = combined._Combination(automatic.Engine(lcn.ground()), asked, Options())  # type: ignore[arg-type]
    for is_model in (False, True):
        monkeypatch.setattr(work, "_is_model", lambda model, known=is_model: known)
        work._attain([half_witnessed("P(a) <= 1", 0.5)])
        assert (work.interval[End.LOWER].witnessed is not None) == is_model


def known_between(low: float, high: float, *warrants: Warrant) -> Interval:
    first, last = warrants or (Warrant.CHECKED, Warrant.CHECKED)
    return Interval(Endpoint(low, None, first), Endpoint(high, None, last))


def test_a_quotient_of_intervals_holds_every_quotient_and_ends_at_some() -> None:
    numbers = [Fraction(n, 4) for n in (-3, -1, 0, 2, 5)]
    pairs = [(low, high) for low in numbers for high in numbers if low <= high]
    for (low, high), (least, most) in product(pairs, pairs):
        over, under = known_between(float(low), float(high)), known_between(float(least), float(most))
        found = combined._quotients(over, under)
        divisors = [u for u in (least, most, most / 1000, (least + most) / 2) if u and least <= u <= most]
        values = [o / u for o in (low, high) for u in divisors]
        assert all(found[0] <= value <= found[1] for value in values)
        if least > 0:
            assert found == pytest.approx((float(min(values)), float(max(values))))
        elif least < 0 or most <= 0:
            assert found == (-inf, inf)


@pytest.mark.parametrize("place", range(4))
def test_what_is_worked_out_of_parts_stands_on_the_weakest_word(place: int) -> None:
    words = [Warrant.CLAIMED if n == place else Warrant.CHECKED for n in range(4)]
    lcn = credalog.parse(ACROSS)
    sums = known_between(0.2, 0.3, *words[:2]), known_between(0.4, 0.5, *words[2:])
    total = combined._total(sums, Fraction(0), sums[0].scale)
    assert [total[end].warrant for end in End] == [
        Warrant.weakest((words[n], words[n + 2])) for n in range(2)
    ]
    asked = lcn.asked("P(c & a) / P(c & b)")
    assert isinstance(asked, Quotient)
    (over,), (under,) = asked.over.parts()[0], asked.under.parts()[0]
    found = combined._divided(asked, {over: sums[0], under: sums[1]})
    assert {found[end].warrant for end in End} == {Warrant.CLAIMED}


def test_a_sum_of_bounds_is_rounded_outwards() -> None:
    rng, apart = np.random.default_rng(6), 0
    for _ in range(40):
        parts = [known_between(*sorted(rng.uniform(0.0, 0.3, 2))) for _ in range(3)]
        found = combined._total(parts, Fraction(1, 10), parts[0].scale)
        exact = [Fraction(1, 10) + sum(Fraction(one[end].bound) for one in parts) for end in End]
        assert Fraction(found.lower.bound) <= exact[0] and exact[1] <= Fraction(found.upper.bound)
        apart += Fraction(float(exact[0])) > exact[0]
    assert apart


def test_the_frame_of_a_network_grows_with_it() -> None:
    lcn = credalog.parse(ACROSS)
    whole = lcn.ground()
    asked = lcn.asked("P(c | a) - P(c | b)")
    assert isinstance(asked, Linear)
    part = replace(whole, sentences=whole.sentences[:-1])
    engine = automatic.Engine(part, Markov.LOCAL, frame=whole)
    found = reduced(part, asked, engine.markov, possible=(), ranges={})
    assert found is not None
    larger = combined.reduced_engine(engine, found)
    assert larger.frame is not None
    added = found.network.sentences[len(part.sentences) :]
    assert set(larger.frame.sentences) == {*whole.sentences, *added}
    assert lcn.variable("b") in larger.graph.parents(lcn.variable("c"))
