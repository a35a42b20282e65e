"""Where another way would answer for another network: guards of the automatic choice, their truth by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from credalog import parse
from credalog.errors import InconsistentNetwork
from credalog.methods import automatic
from credalog.methods.answer import Answer, Options, marginal_atoms
from credalog.methods.automatic import Engine
from credalog.methods.cliques import all_marginals, likelihood
from credalog.methods.cliques.ends import Models
from credalog.methods.cliques.engine import Cliques
from credalog.methods.cliques.search import Ending, Finding
from credalog.methods.cliques.summing_out import Summed, sum_out
from credalog.methods.progress import Progress, Telling
from credalog.network.formulas import TRUE, Is
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Query
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import VACUOUS, Endpoint, Interval, Status, Warrant
from test_relevant_part import columnar

SHORT = Options(timeout=5.0)
SLACK = 1e-6


def asked_of(text: str, question: str) -> tuple[Network, Query]:
    model = parse(text)
    return model.ground(), model.question(question)


def require_exact(answer: Answer, low: Fraction | float, high: Fraction | float) -> None:
    """Require the true interval, which bounds include and models attain."""
    assert answer.lower <= low + 1e-12 and high - 1e-12 <= answer.upper
    assert (answer.lower, answer.upper) == pytest.approx((float(low), float(high)), abs=2e-6)
    assert answer.status is Status.EXACT


# --- A frame: the graph that counts is another network's -------------------------------------------------


def test_a_wide_formula_is_asked_under_the_frame() -> None:
    """Eleven coins in a chain: each may copy the one before, or be its contrary. By themselves: 2 ** -11."""
    coins = "".join(f"P(x{i}) = 0.5\n" for i in range(11))
    chain = coins + "".join(f"P(x{i + 1} | x{i}) = 0.5\n" for i in range(10))
    network, asked = asked_of(coins, "P(" + " & ".join(f"x{i}" for i in range(11)) + ")")
    require_exact(Engine(network, frame=parse(chain).ground()).query(asked, SHORT), 0, 0.5)


def test_a_network_in_columns_is_asked_under_the_frame() -> None:
    """Two coins, of which the frame says that one depends on the other; by themselves: 1/4."""
    network, asked = asked_of("P(a) = 0.5\nP(b) = 0.5\n", "P(a & b)")
    frame = parse("P(a) = 0.5\nP(b) = 0.5\nP(b | a) = 0.5\n").ground()
    require_exact(Engine(columnar(network), frame=frame).query(asked, SHORT), 0, 0.5)


# --- Cases of a root -------------------------------------------------------------------------------------


def test_the_posteriors_of_cases_do_not_mix() -> None:
    """P(a | b) is 1 where r is true and 0 where it is not, but b is nine times as likely there."""
    text = "P(r) = 0.5\nP(b | r) = 0.1\nP(a & b | r) = 0.1\nP(b | !r) = 0.9\nP(a & b | !r) = 0\n"
    network, asked = asked_of(text, "P(a | b)")
    assert Engine(network).in_cases is not None
    require_exact(Engine(network).query(asked, SHORT), 0.1, 0.1)


def test_the_root_itself_is_not_asked_in_its_cases() -> None:
    text = "0.2 <= P(r) <= 0.6\nP(a & b | r) = 0.1\nP(a & b | !r) = 0.3\n"
    network, asked = asked_of(text, "P(r & a & b)")
    assert Engine(network).in_cases is not None
    require_exact(Engine(network).query(asked, SHORT), 0.02, 0.06)


def test_cases_in_which_a_variable_loses_a_parent_are_none() -> None:
    """Nothing joint is said of a and x where r is false, but a is a parent of x: P(a & x | !r) is 0 to 1/2.

    What is certain, and asked for too, makes the same variables bear on the query in all cases.
    """
    given = "".join(f"P({x} | {r}) = 0.5\n" for x in "ax" for r in ("r", "!r"))
    given += "P(c & d | r) = 1\nP(c & d | !r) = 1\nP(x | a & r) = 0.5\n"
    network, asked = asked_of("P(r) = 0.5\n" + given, "P(a & x & c & d)")
    require_exact(Engine(network).query(asked, SHORT), 0.125, 0.375)


# --- Known tables summed out -----------------------------------------------------------------------------

TIED_BY_A_CONDITION = """
P(c) = 0.5
P(a | c) = 0.5
P(a | !c) = 0.5
P(b | c) = 0.5
P(b | !c) = 0.5
0 <= P(a & b | c) <= 1 ; tau=False
P(d | a & b) = 1
P(d | a & !b) = 0
P(d | !a & b) = 0
P(d | !a & !b) = 0
P(e | d) = 0.8
P(e | !d) = 0.3
"""
"""The node a & b leads to a and b, and as d's condition it is led to by both: without d they are not tied."""


def summed_of(network: Network, asked: Query) -> Summed:
    found = sum_out(network, Engine(network).problem, asked)
    assert found is not None
    return found


def test_nothing_is_summed_out_that_takes_an_arrow_along() -> None:
    """P(d) = P(a & b) is 0 to 1/2, so P(d | e) ends at 0.4 / 0.55; were a and b apart, it were 8/17."""
    network, asked = asked_of(TIED_BY_A_CONDITION, "P(d | e)")
    require_exact(Engine(network).query(asked, SHORT), 0, Fraction(8, 11))


def test_what_is_summed_out_keeps_the_parents_of_all_others() -> None:
    network, asked = asked_of(TIED_BY_A_CONDITION, "P(d | e)")
    found = summed_of(network, asked)
    assert not found.keeps(dependency_graph(network), dependency_graph(found.network))


def test_what_stands_for_a_part_has_the_parents_of_the_part() -> None:
    text = "0.2 <= P(a) <= 0.8\n0.2 <= P(b) <= 0.8\nP(a & b) <= 0.5\nP(d | a) = 0.9\nP(d | !a) = 0.1\n"
    network, asked = asked_of(text + "P(e | d) = 0.7\nP(e | !d) = 0.4\n", "P(a | e)")
    found = summed_of(network, asked)
    after = dependency_graph(found.network)
    assert found.keeps(dependency_graph(network), after)
    others = dict.fromkeys(found.outside, frozenset(v for v in network.variables if v.name == "b"))
    assert not replace(found, outside=others).keeps(dependency_graph(network), after)


def test_a_variable_of_which_more_is_said_is_not_summed_out() -> None:
    """P(d) = 1/2 leaves P(a) = 1/2 alone, so P(a | e) = 0.335 / 0.55."""
    text = (
        "0.2 <= P(a) <= 0.8\nP(d | a) = 0.9\nP(d | !a) = 0.1\nP(d) = 0.5\nP(e | d) = 0.7\nP(e | !d) = 0.4\n"
    )
    network, asked = asked_of(text, "P(a | e)")
    require_exact(Engine(network).query(asked, SHORT), Fraction(67, 110), Fraction(67, 110))


def test_a_variable_that_is_compared_across_conditions_is_not_summed_out() -> None:
    """P(e | d) = 0.1 + 0.8 P(a) is no less than P(e | !d) = 0.5 where P(a) is no less than 1/2."""
    text = """
    0.2 <= P(a) <= 0.8
    P(d | a) = 0.5
    P(d | !a) = 0.5
    P(e | d & a) = 0.9
    P(e | d & !a) = 0.1
    P(e | !d & a) = 0.5
    P(e | !d & !a) = 0.5
    P(e | d) >= P(e | !d)
    """
    network, asked = asked_of(text, "P(a | e)")
    assert sum_out(network, Engine(network).problem, asked) is None
    answer = Engine(network).query(asked, SHORT)
    # P(a | e) = 0.7 p / (0.7 p + 0.3 (1 - p)), with p from 1/2 to 0.8.
    assert answer.lower <= 0.7 and answer.upper + 1e-12 >= 28 / 31
    attained = [end.witnessed for end in (answer.interval.lower, answer.interval.upper)]
    assert all(value is None or 0.7 - SLACK <= value <= 28 / 31 + SLACK for value in attained)


def test_a_variable_with_a_child_that_is_not_known_is_not_summed_out() -> None:
    """Let P(a) = x, which P(a) P(b) >= 0.2 keeps from 1/3 on, and P(y | d) = t.

    The likelihoods of a and !a are 0.63 t + 0.004 and 0.07 t + 0.036: the ends are at x = 1/3, t = 0.6 and at
    x = 0.7, t = 0.8.
    """
    text = """
    0.3 <= P(a) <= 0.7
    0.2 <= P(b) <= 0.6
    0.2 <= P(a and b) <= 0.3 ; tau=False
    P(d | a) = 0.9
    P(d | !a) = 0.1
    P(e | d) = 0.7
    P(e | !d) = 0.4
    0.6 <= P(y | d) <= 0.8
    P(y | !d) = 0.1
    """
    network, asked = asked_of(text, "P(a | e & y)")
    assert sum_out(network, Engine(network).problem, asked) is None
    require_exact(Engine(network).query(asked, SHORT), Fraction(382, 538), Fraction(3556, 3832))


# --- All marginals at once -------------------------------------------------------------------------------

RING = "0.2 <= P(x0) <= 0.4\n" + "".join(f"P(x{i} xor x{(i + 1) % 8}) <= 0.05\n" for i in range(8))
"""Neighbours differ with probability 0.05 at most: k steps from x0, 0.05 k is all that P may differ by."""
CONTRARY = "P(y) = 0.5\nP(z | y) = 0.9\nP(z | !y) = 0.1\nindependent y, z\n"
"""No distribution, though every sentence is local."""


def test_tied_variables_are_answered_at_once() -> None:
    network = parse(RING).ground()
    found = Engine(network).at_once(marginal_atoms(network), TRUE, SHORT)
    for k in range(5):
        require_exact(found[Is(network.variables[k])], 0.2 - 0.05 * k, 0.4 + 0.05 * k)


def test_marginals_given_something_are_not_those_given_nothing() -> None:
    network = parse(RING).ground()
    atoms = marginal_atoms(network)
    assert not Engine(network).at_once(atoms, atoms[0], SHORT)


def test_marginals_of_a_network_without_models_are_not_answered_at_once() -> None:
    network = parse(RING + CONTRARY).ground()
    assert not Engine(network).at_once(marginal_atoms(network), TRUE, SHORT)


def test_models_prove_no_bound() -> None:
    """Bounds that say nothing stay so, whatever the models of the ring attain."""
    network = parse(RING).ground()
    engine = Engine(network)
    atoms = marginal_atoms(network)
    found = all_marginals.closed_together(engine.cliques, dict.fromkeys(atoms, VACUOUS), 1e-6, Budget.of(5.0))
    assert not found


def test_an_interval_is_closed_together_where_both_of_its_ends_are() -> None:
    """The lower ends are the true ones; of the upper ends nothing is known, and nothing attains one."""
    network = parse(RING).ground()
    lower = Endpoint(0.2, None, Warrant.CHECKED)
    bounds = {Is(network.variables[0]): Interval(lower, VACUOUS.upper)}
    assert not all_marginals.closed_together(Engine(network).cliques, bounds, 1e-6, Budget.of(5.0))


def test_a_distribution_that_is_not_admitted_attains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cliques, "admits", lambda *_: False)
    network = parse(RING).ground()
    assert not Engine(network).at_once(marginal_atoms(network), TRUE, SHORT)


# --- What was found on the way ---------------------------------------------------------------------------


def test_a_large_network_tells_of_no_model_before_the_rest_is_known_to_have_one() -> None:
    told = list[Progress]()
    network, asked = asked_of("0.2 <= P(a) <= 0.4\n" + CONTRARY, "P(a)")
    with pytest.raises(InconsistentNetwork):
        Engine(columnar(network)).query(asked, replace(SHORT, report=told.append))
    assert all(one.witnessed is None for one in told)


ATTAINED = Interval(Endpoint(0.2, 0.2, Warrant.CHECKED), Endpoint(0.4, 0.4, Warrant.CHECKED))


def test_what_was_told_on_the_way_attains_nothing_where_the_time_ran_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever tells has no model to show, and whether one extends was not asked yet."""

    def run_out(engine: Engine, asked: Query, options: Options, models: object) -> Answer:
        assert isinstance(options.report, Telling)
        options.report.tell_both(ATTAINED)
        raise OutOfTime

    monkeypatch.setattr(Engine, "_asked", run_out)
    network, asked = asked_of("0.2 <= P(a) <= 0.4\n", "P(a)")
    answer = Engine(network).query(asked, SHORT)
    assert (answer.lower, answer.upper) == (0.2, 0.4)
    assert answer.status is Status.BOUNDED
    assert answer.interval.lower.witnessed is answer.interval.upper.witnessed is None


def test_bounds_told_on_the_way_are_kept_without_what_attained_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(engine: Engine, asked: Query, options: Options, models: object) -> Answer:
        assert isinstance(options.report, Telling)
        options.report.tell_both(ATTAINED)
        return Answer(asked, VACUOUS, Status.UNDECIDED, "auto", 0.0)

    monkeypatch.setattr(Engine, "_asked", lose)
    network, asked = asked_of("0.2 <= P(a) <= 0.4\n", "P(a)")
    answer = Engine(network).query(asked, SHORT)
    assert (answer.lower, answer.upper) == (0.2, 0.4)
    assert answer.status is Status.BOUNDED


def test_the_second_way_keeps_what_the_first_one_found() -> None:
    network, asked = asked_of("0.2 <= P(a) <= 0.4\n", "P(a)")
    ends = [(0.1, 0.5), (0.2, 0.6)]
    found = [
        Answer(
            asked, Interval(*(Endpoint(e, None, Warrant.CHECKED) for e in one)), Status.BOUNDED, "auto", 0.0
        )
        for one in ends
    ]
    ways: list[Callable[[float], Answer]] = [lambda _, one=one: one for one in found]  # type: ignore[misc]
    answer = automatic._Asked(Engine(network), asked, SHORT, Models())._in_turn(ways, (0.5, 1.0))
    assert (answer.lower, answer.upper) == (0.2, 0.5)


# --- Corners of likelihoods ------------------------------------------------------------------------------

FEATURES = """
0.2 <= P(x) <= 0.5
0.4 <= P(f | x) <= 0.8
P(f | !x) = 0.2
P(g | x) = 0.5
P(g | !x) = 0.25
"""


def corners_of(network: Network, asked: Query) -> tuple[likelihood.Folded, tuple[likelihood.Corner, ...]]:
    folded = likelihood.fold(network, asked)
    assert folded is not None
    return folded, tuple(folded.corners())


def at_corners(options: Options) -> Answer:
    """Ask P(x | f & g) at both corners, after nothing was found."""
    network, asked = asked_of(FEATURES, "P(x | f & g)")
    folded, corners = corners_of(network, asked)
    assert len(corners) == 2
    way = automatic._Asked(Engine(folded.network), folded.query, options, Models())
    nothing = Answer(folded.query, VACUOUS, Status.UNDECIDED, "factorized", 0.0)
    return way._at_corners(corners, folded.query, nothing)


def test_corners_bound_together_and_tell_no_bound_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likelihoods are 0.2 to 0.4 and 0.05: from 1/2 at P(x) = 0.2 to 8/9 at P(x) = 0.5."""
    ask, telling = automatic._Asked.factorized, Telling(None)

    def aloud(way: automatic._Asked) -> Answer:
        # A short search has nothing to tell before its end.
        answer = ask(way)
        way.options.telling(way.asked).tell_both(answer.interval)
        return answer

    monkeypatch.setattr(automatic._Asked, "factorized", aloud)
    answer = at_corners(replace(SHORT, report=telling))
    require_exact(answer, Fraction(1, 2), Fraction(8, 9))
    assert telling.interval.lower.bound <= 0.5 and telling.interval.upper.bound >= 8 / 9


def test_corners_bound_nothing_where_the_time_runs_out_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ask, asked = automatic._Asked.factorized, list[object]()

    def once(way: automatic._Asked) -> Answer:
        asked.append(way)
        if len(asked) > 1:
            raise OutOfTime
        return ask(way)

    monkeypatch.setattr(automatic._Asked, "factorized", once)
    with pytest.raises(OutOfTime):
        at_corners(SHORT)


# --- Parts that may have no model ------------------------------------------------------------------------


def test_declared_independences_alone_may_leave_no_model() -> None:
    network, asked = asked_of("P(w) = 0.3\n" + CONTRARY, "P(w)")
    with pytest.raises(InconsistentNetwork):
        Engine(network).query(asked, SHORT)


STATED = "P(a) = 0.5\nP(b | a) = 0.9\nP(b) = 0.5\nP(w) = 0.3\n"


def test_a_model_of_some_variables_is_none_of_a_larger_part() -> None:
    cliques = Engine(parse(STATED).ground()).cliques
    cliques.learn_of_model([0])
    assert cliques.known_to_extend(()) is None
    cliques.learn_of_model([0, 1])
    assert cliques.known_to_extend(()) is True


def test_what_is_not_decided_of_a_part_is_not_known_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def undecided(*_: Any) -> Finding:
        return Finding(0.0, None, Ending.STOPPED, Warrant.CHECKED, 1, None)

    cliques = Engine(parse(STATED).ground()).cliques
    monkeypatch.setattr(Cliques, "_any_model", undecided)
    assert cliques.extends((), SHORT, Budget.of(5.0)) is None
    assert cliques.models_beside((), SHORT, Budget.of(5.0)) is None
