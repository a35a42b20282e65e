"""What matters: every interval without a sentence judged by brute force, measurements by closed forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import count
from time import monotonic, sleep

import pytest

import credalog
from contradictory_networks import silenced
from credalog.errors import CredalogError
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.network.formulas import Is
from credalog.network.graph import Markov
from credalog.network.sentences import Network, Query
from credalog.numbers.interval import VACUOUS, End, Interval
from credalog.numbers.tolerances import TOLERANCE
from credalog.questions.explain import explain, measure
from oracle import interval
from random_networks import random_case

pytestmark = pytest.mark.slow

OPTIONS = Options(timeout=5.0)
CLOSE = 2.0 * TOLERANCE

CHAIN = """
s1: 0.2 <= P(a) <= 0.4
s2: 0.5 <= P(b | a) <= 0.7
s3: 0.1 <= P(b | !a) <= 0.2
s4: P(c) >= 0.3
s5: 0.4 <= P(d | c) <= 0.6
"""


def asked(model: credalog.LCN, text: str) -> tuple[Network, Query]:
    return model.ground(), model.question(text)


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have the user stop the search for one answer, counted from 0."""

    def at(number: int) -> None:
        finished, numbers = Engine.query, count()

        def query(self: Engine, asked: Query, options: Options = Options()) -> Answer:
            now = next(numbers)
            assert now <= number, "a search began after the interruption"
            return replace(finished(self, asked, options), interrupted=now == number)

        monkeypatch.setattr(Engine, "query", query)

    return at


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_interrupted_explanation_keeps_what_was_tried(interrupt: Callable[[int], None], number: int):
    network, query = asked(credalog.parse(CHAIN), "P(b)")
    whole = explain(network, query, OPTIONS)
    interrupt(number)
    found = explain(network, query, OPTIONS)
    tried = max(0, number - 1)
    assert found.is_interrupted and not whole.is_interrupted
    assert len(found.influences) == tried
    assert {one.sentence for one in found.influences} <= {one.sentence for one in whole.influences}
    assert {*found.untried, *found.silent} == {*network.sentences} - {
        one.sentence for one in found.influences
    }


@pytest.mark.parametrize("number", [0, 1, 5])
def test_an_interrupted_measurement_is_none(interrupt: Callable[[int], None], number: int):
    model = credalog.parse(CHAIN)
    interrupt(number)
    with pytest.raises(KeyboardInterrupt):
        measure(model.ground(), model.question("P(b)"), model.question("P(a)"), Fraction(1, 100), OPTIONS)


@pytest.mark.parametrize("kind", ["free", "tight", "credal", "cyclic", "multivalued"])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_interval_without_a_sentence_is_that_of_brute_force(kind: str, seed: int):
    case = random_case(kind, seed, largest=3)
    found = explain(case.network, case.query, OPTIONS)
    numbers = {id(s): n for n, s in enumerate(case.network.sentences)}
    for one in found.influences:
        rest = set(numbers.values()) - {numbers[id(one.sentence)]}
        truth = interval(silenced(case.network, rest), case.query, seconds=3.0)
        assert one.answer.lower <= (truth.lower.attained or 1.0) + 1e-6
        assert one.answer.upper >= (truth.upper.attained or 0.0) - 1e-6
        assert one.answer.lower >= truth.lower.proved - CLOSE or one.answer.lower_witnessed is None
        assert one.answer.upper <= truth.upper.proved + CLOSE or one.answer.upper_witnessed is None


@pytest.mark.parametrize("kind", ["free", "tight", "credal", "cyclic"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_silent_sentence_does_not_matter_to_brute_force(kind: str, seed: int):
    case = random_case(kind, seed, largest=3)
    found = explain(case.network, case.query, OPTIONS)
    everything = range(len(case.network.sentences))
    for number in everything:
        if any(case.network.sentences[number] is s for s in found.silent):
            truth = interval(silenced(case.network, set(everything) - {number}), case.query, seconds=3.0)
            assert found.answer.lower <= (truth.lower.attained or 1.0) + CLOSE
            assert found.answer.upper >= (truth.upper.attained or 0.0) - CLOSE


def test_the_ends_of_a_chain_are_held_as_computed_by_hand():
    # P(b) is at least 0.5 p + 0.1 (1 - p) and at most 0.7 p + 0.2 (1 - p), with p = P(a) in [0.2, 0.4].
    found = explain(*asked(credalog.parse(CHAIN), "P(b)"), OPTIONS)
    assert (found.answer.lower, found.answer.upper) == pytest.approx((0.18, 0.40), abs=TOLERANCE)
    lower = {one.sentence.label: one.lower_move for one in found.holding_lower}
    upper = {one.sentence.label: one.upper_move for one in found.holding_upper}
    # Without s1 p is anything; without s2 theta(b | a) is; without s3 theta(b | not a) is.
    assert lower == pytest.approx({"s1": 0.18 - 0.1, "s2": 0.18 - 0.06, "s3": 0.18 - 0.1}, abs=CLOSE)
    assert upper == pytest.approx({"s1": 0.7 - 0.4, "s2": 0.52 - 0.4, "s3": 0.94 - 0.4}, abs=CLOSE)
    assert found.holding_lower[0].sentence.label == "s2"
    assert [one.sentence.label for one in found.holding_upper] == ["s3", "s1", "s2"]


def test_what_shares_nothing_with_the_query_is_silent():
    found = explain(*asked(credalog.parse(CHAIN), "P(b)"), OPTIONS)
    assert [s.label for s in found.silent] == ["s4", "s5"]
    assert found.untried == ()


def test_only_the_most_promising_are_tried():
    found = explain(*asked(credalog.parse(CHAIN), "P(b)"), OPTIONS, most=1)
    assert len(found.influences) == 1
    assert len(found.untried) == 2


def test_dropping_a_bound_keeps_the_arrow():
    # Without s3 and s4 a and b are independent; with their bounds dropped, only given c.
    model = credalog.parse(
        "s1: P(a) = 0.5\ns2: P(b) = 0.5\ns3: P(a | c) = 0.5\ns4: P(b | c) = 0.5\ns5: P(c) = 0.5"
    )
    found = explain(*asked(model, "P(a and b)"), OPTIONS)
    without = {one.sentence.label: one.answer for one in found.influences}
    assert (found.answer.lower, found.answer.upper) == pytest.approx((0.25, 0.25), abs=TOLERANCE)
    # s3 dropped: P(a | c) is anything, but P(b | c) = P(b | not c) = 0.5 still, so nothing moves.
    assert without.get("s3", found.answer).upper == pytest.approx(0.25, abs=CLOSE)


def test_a_measurement_narrows_as_computed_by_hand():
    # P(b) lies in [0.1 + 0.4 p, 0.2 + 0.5 p], so its width at p +- w is 0.1 + 0.1 p + 0.9 w.
    model = credalog.parse(CHAIN)
    network, query = asked(model, "P(b)")
    found = measure(network, query, model.question("P(a)"), Fraction(1, 100), OPTIONS, positions=5)
    assert [s.value for s in found.scenarios] == pytest.approx([0.2, 0.25, 0.3, 0.35, 0.4], abs=TOLERANCE)
    inside = [0.1 + 0.1 * p + 0.9 * 0.01 for p in (0.25, 0.3, 0.35)]
    # At the ends half of the window is cut off by s1.
    ends = [0.1 + 0.5 * 0.21 - 0.4 * 0.2, 0.1 + 0.5 * 0.4 - 0.4 * 0.39]
    expected = [ends[0], *inside, ends[1]]
    assert found.widths == pytest.approx(expected, abs=CLOSE)
    assert found.best == pytest.approx(min(expected), abs=CLOSE)
    assert found.worst <= found.at_most <= found.before.upper - found.before.lower


def test_no_place_between_those_tried_is_worse_than_promised():
    model = credalog.parse(CHAIN)
    network, query = asked(model, "P(b)")
    coarse = measure(network, query, model.question("P(a)"), Fraction(1, 50), OPTIONS, positions=3)
    fine = measure(network, query, model.question("P(a)"), Fraction(1, 50), OPTIONS, positions=8)
    assert fine.worst <= coarse.at_most + CLOSE


def test_no_place_beyond_those_that_are_attained_is_worse_than_promised(monkeypatch: pytest.MonkeyPatch):
    model, query = credalog.parse(CHAIN), Engine.query

    def bounded(engine: Engine, asked: Query, options: Options) -> Answer:
        answer = query(engine, asked, options)
        ends = (replace(answer.interval[end], witnessed=0.3, model=None) for end in End)
        return replace(answer, interval=Interval(*ends)) if str(asked) == "P(a)" else answer

    monkeypatch.setattr(Engine, "query", bounded)
    found = measure(*asked(model, "P(b)"), model.question("P(a)"), Fraction(1, 100), OPTIONS)
    # At P(a) = 0.4, of which the search did not know, see above.
    assert {s.value for s in found.scenarios} == {0.3}
    assert found.at_most >= 0.1 + 0.5 * 0.4 - 0.4 * 0.39


def test_a_rare_event_is_measured_where_it_may_fall():
    model = credalog.parse("1e-10 <= P(a) <= 3e-10\n0 <= P(b | a) <= 1\nP(b | !a) = 0")
    network, query = asked(model, "P(a | b)")
    found = measure(network, query, model.question("P(a)"), Fraction(1, 10**11), OPTIONS, positions=3)
    # Whatever is measured, b needs a.
    assert [s.value for s in found.scenarios] == [1e-10, 2e-10, 3e-10]
    assert all(s.answer is not None and s.answer.lower == pytest.approx(1.0) for s in found.scenarios)


def test_a_place_that_no_model_allows_is_said_to_be_none():
    # P(a) P(b) = 0.2 and P(a) + P(b) = 1 have two solutions, (1 - r) / 2 and (1 + r) / 2 with r^2 = 0.2.
    model = credalog.parse(
        "P(c | a and b) = 1\nP(c | !a or !b) = 0\nP(d | a or b) = 1\nP(d | !a and !b) = 0\n"
        "P(c) = 0.2\nP(d) = 0.8"
    )
    network, query = asked(model, "P(b)")
    patient = Options(timeout=30.0)
    found = measure(network, query, model.question("P(a)"), Fraction(1, 10), patient, positions=3)
    first, middle, last = (scenario.answer for scenario in found.scenarios)
    assert middle is None
    assert first is not None and first.upper == pytest.approx((1 + 0.2**0.5) / 2, abs=CLOSE)
    assert last is not None and last.upper == pytest.approx((1 - 0.2**0.5) / 2, abs=CLOSE)


def test_a_measurement_needs_sense():
    model = credalog.parse(CHAIN)
    network, query = asked(model, "P(b)")
    with pytest.raises(CredalogError):
        measure(network, query, query, Fraction(-1), OPTIONS)


def test_without_independences_the_same_questions_can_be_asked():
    options = Options(timeout=5.0, markov=Markov.NONE)
    network = credalog.parse("s1: P(a) >= 0.7\ns2: P(b) >= 0.6\ns3: P(c) >= 0.5").ground()
    a, b = (Is(network.variables[i]) for i in (0, 1))
    found = explain(network, Query(a & b), options)
    assert found.answer.lower == pytest.approx(0.3, abs=TOLERANCE)
    assert {one.sentence.label: one.lower_move for one in found.holding_lower} == pytest.approx(
        {"s1": 0.3, "s2": 0.3}, abs=CLOSE
    )


def test_the_model_asks_in_its_own_words():
    model = credalog.parse(CHAIN)
    assert model.explain("P(b)").answer.query == model.question("P(b)")
    assert model.measure("P(b)", "P(a)", within=0.01).within == Fraction(1, 100)


def test_a_notebook_shows_the_interval_without_each_sentence_that_matters() -> None:
    shown = credalog.parse("s1: 0.2 <= P(a) <= 0.3\ns2: 0.1 <= P(c) <= 0.9").explain("P(a)")._repr_html_()
    assert "without s1" in shown
    assert "without s2" not in shown


# --- Answers that are not exact ---------------------------------------------------------------------------

POLYTREE = """
p1: 0.2 <= P(a) <= 0.4
p2: 0.5 <= P(e | a) <= 0.7
p3: 0.1 <= P(e | !a) <= 0.2
p4: 0.6 <= P(b | e) <= 0.9
p5: 0.1 <= P(b | !e) <= 0.3
p6: 0.3 <= P(c | b) <= 0.5
p7: 0.2 <= P(c | !b) <= 0.4
"""


@pytest.fixture
def timed_out(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let all answers but the first few know nothing, as where the time ran out."""

    def after(exact: int) -> None:
        finished, numbers = Engine.query, count()

        def query(self: Engine, asked: Query, options: Options = Options()) -> Answer:
            found = finished(self, asked, options)
            if next(numbers) < exact:
                return found
            return Answer(asked, VACUOUS, VACUOUS.status(), found.method, found.seconds)

        monkeypatch.setattr(Engine, "query", query)

    return after


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every answer take all the time that it is given."""
    finished = Engine.query

    def query(self: Engine, asked: Query, options: Options = Options()) -> Answer:
        sleep(options.timeout)
        return finished(self, asked, options)

    monkeypatch.setattr(Engine, "query", query)


def test_what_is_d_separated_from_the_question_is_silent():
    found = explain(*asked(credalog.parse(POLYTREE), "P(c | e)"), OPTIONS)
    assert [s.label for s in found.silent] == ["p1", "p2", "p3", "p5"]
    # At the least P(c | e) = 0.2 + 0.1 P(b | e) = 0.26. Without p4 it is 0.2, without p6 0.2 * 0.1, without
    # p7 0.3 * 0.6.
    assert {one.sentence.label: one.lower_move for one in found.holding_lower} == pytest.approx(
        {"p4": 0.06, "p6": 0.24, "p7": 0.08}, abs=CLOSE
    )


def test_an_interval_that_timed_out_holds_nothing(timed_out: Callable[[int], None]):
    timed_out(1)
    found = explain(*asked(credalog.parse(CHAIN), "P(b)"), OPTIONS)
    assert len(found.influences) == 3 and all(one.is_bounded for one in found.influences)
    assert found.holding_lower == found.holding_upper == ()
    assert "s1" in found.doubt and "only bounded" in found.doubt


def test_exact_explanations_have_no_doubt():
    found = explain(*asked(credalog.parse(CHAIN), "P(b)"), OPTIONS)
    assert found.doubt == "" and not any(one.is_bounded for one in found.influences)


def test_a_bounded_answer_lies_within_what_it_is_without_a_sentence(monkeypatch: pytest.MonkeyPatch):
    finished, numbers = Engine.query, count()

    def query(self: Engine, asked: Query, options: Options = Options()) -> Answer:
        found = finished(self, asked, options)
        return found if next(numbers) else replace(found, interval=VACUOUS, status=VACUOUS.status())

    monkeypatch.setattr(Engine, "query", query)
    found = explain(*asked(credalog.parse(CHAIN), "P(b)"), OPTIONS)
    # Without s2 alone, or s1 alone: [0.06, 0.52] and [0.1, 0.7].
    assert (found.answer.lower, found.answer.upper) == pytest.approx((0.1, 0.52), abs=CLOSE)


def test_a_measurement_never_widens(timed_out: Callable[[int], None]):
    model = credalog.parse(CHAIN)
    timed_out(2)
    found = model.measure("P(b)", "P(a)", within=0.01)
    assert all(scenario.is_bounded for scenario in found.scenarios)
    now = found.before.upper - found.before.lower
    assert found.best == found.worst == found.at_most == now
    assert "only bounded" in found.doubt


def test_a_measurement_where_there_is_no_model_is_refused():
    # P(a) P(b) = 0.3 and P(a) + P(b) = 1 have no solution: the product is at most a quarter.
    model = credalog.parse(
        "P(c | a and b) = 1\nP(c | !a or !b) = 0\nP(d | a or b) = 1\nP(d | !a and !b) = 0\n"
        "P(c) = 0.3\nP(d) = 0.7\nP(z) >= 0.2"
    )
    with pytest.raises(CredalogError):
        model.measure("P(z)", "P(a)", within=0.01, timeout=5.0)


def test_an_exact_measurement_of_what_is_known_is_possible():
    model = credalog.parse("P(a) = 0.1\n0.2 <= P(b | a) <= 0.3")
    found = measure(*asked(model, "P(b)"), model.question("P(a)"), Fraction(0), OPTIONS)
    assert all(scenario.answer is not None for scenario in found.scenarios)


@pytest.mark.parametrize("question", ["explain", "measure"])
def test_the_time_is_for_the_whole_question(slow: None, question: str):
    model, start = credalog.parse(CHAIN), monotonic()
    if question == "explain":
        found = model.explain("P(b)", timeout=1.0)
        # On a busy machine the last may not be tried any more.
        assert len(found.influences) >= 2
        assert len(found.influences) + len(found.untried) == 3
    else:
        model.measure("P(b)", "P(a)", within=0.01, timeout=1.0)
    assert monotonic() - start <= 1.1 + 1.0
