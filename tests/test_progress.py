"""Reports of work under way: nothing in them gets worse, and the last one is the answer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from credalog.choices import METHODS
from credalog.errors import CredalogError
from credalog.lcn import LCN, load, parse
from credalog.methods.answer import Answer, Options, Progress
from credalog.methods.automatic import Engine
from credalog.methods.progress import Telling, bounds_alone
from credalog.numbers.interval import End, Endpoint, Interval, Warrant
from credalog.numbers.tolerances import FEASIBILITY
from random_networks import KINDS, random_case

EXAMPLES = Path(__file__).parent.parent / "examples"
CHAIN = "\n".join(
    [
        "0.2 <= P(a0) <= 0.4",
        *(f"0.6 <= P(a{i} | a{i - 1}) <= 0.9\n0.1 <= P(a{i} | !a{i - 1}) <= 0.3" for i in range(1, 5)),
    ]
)
LOOPY = CHAIN + "\n0.3 <= P(b | a1 & a4) <= 0.5\n0.1 <= P(b | a1 & !a4) <= 0.2\n"
LOOPY += "0.6 <= P(b | !a1 & a4) <= 0.8\n0.2 <= P(b | !a1 & !a4) <= 0.4"
STATED = LOOPY + "\n0.3 <= P(a4) <= 0.5"
NILSSON = "0.7 <= P(a | b) <= 0.9\n0.5 <= P(b) <= 0.6\n0.4 <= P(c | a) <= 0.8\n0.3 <= P(a & c) <= 0.6"


def assert_monotone(heard: list[Progress]) -> None:
    """Check that of each end of each question nothing gets worse, nor does the count of leaves."""
    told = defaultdict[tuple[str, End | None], list[Progress]](list)
    for one in heard:
        told[one.question, one.end].append(one)
    for (_, end), reports in told.items():
        assert end is not None
        for before, after in pairwise(reports):
            assert not end.is_tighter(before.bound, after.bound)
            assert after.leaves >= before.leaves and after.seconds >= before.seconds
            if before.witnessed is not None:
                # A model satisfies its sentences up to a tolerance, and may pass a bound by as much.
                assert after.witnessed is not None
                assert end.sign * (after.witnessed - before.witnessed) <= 2 * FEASIBILITY


def assert_last_is(heard: list[Progress], answer: Answer) -> None:
    for end in End:
        last = [one for one in heard if one.end is end and one.question == str(answer.query)][-1]
        assert (last.bound, last.witnessed) == (
            answer.interval[end].bound,
            answer.interval[end].witnessed,
        )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("text", "asked"),
    [(CHAIN, "P(a0 | a4)"), (LOOPY, "P(a0 | b)"), (STATED, "P(a0 | b)")],
)
def test_reports_of_every_method_get_better_until_they_are_the_answer(
    method: str, text: str, asked: str
) -> None:
    heard: list[Progress] = []
    try:
        answer = parse(text).query(asked, method=method, timeout=0.5, report=heard.append)  # type: ignore[arg-type]
    except CredalogError:
        # Each of these needs a network of its own kind.
        assert method in ("points", "nilsson", "sets", "bp", "printed")
        return
    assert_monotone(heard)
    assert_last_is(heard, answer)


@pytest.mark.parametrize("text", [CHAIN, LOOPY])
def test_the_answer_does_not_depend_on_who_hears_of_it(text: str) -> None:
    alone = parse(text).query("P(a0 | a4)")
    assert parse(text).query("P(a0 | a4)", report=lambda _: None) == alone


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_reports_hold_on_random_networks(kind: str) -> None:
    for seed in range(2):
        case, heard = random_case(kind, seed), list[Progress]()
        try:
            answer = Engine(case.network).query(case.query, Options(timeout=0.5, report=heard.append))
        except CredalogError:
            continue
        assert_monotone(heard)
        assert_last_is(heard, answer)
        for end in End:
            truth = answer.interval[end].witnessed
            for one in heard:
                if one.end is end and truth is not None:
                    assert end.sign * (one.bound - truth) <= FEASIBILITY


def test_nilsson_is_reported_column_by_column() -> None:
    heard: list[Progress] = []
    answer = parse(NILSSON).query("P(c | b)", method="nilsson", markov="none", report=heard.append)
    assert_monotone(heard)
    assert_last_is(heard, answer)
    assert "column generation" in {one.stage for one in heard}


@pytest.mark.slow
def test_a_search_says_what_is_at_work_and_how_many_leaves_it_has_explored() -> None:
    heard: list[Progress] = []
    parse(STATED).query("P(a0 | b)", tolerance=1e-7, timeout=1.0, report=heard.append)
    assert heard[-1].leaves > 2
    assert "cliques" in {one.stage for one in heard}


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["P(a0) + 2 P(b)", "P(a0 | b) - P(a0 | !b)", "P(a0) / P(b)"])
def test_sums_and_quotients_are_reported_on_their_own_scale(asked: str) -> None:
    heard: list[Progress] = []
    answer = parse(STATED).query(asked, timeout=1.0, report=heard.append)
    assert_monotone(heard)
    assert_last_is(heard, answer)


def test_decisions_are_reported_end_by_end() -> None:
    heard: list[Progress] = []
    found = parse(STATED).decide("P(a0 | b) >= 0.3", timeout=2.0, report=heard.append)
    assert_monotone(heard)
    assert heard[-1].stage == found.stage
    for end in End:
        last = [one for one in heard if one.end is end][-1]
        assert (last.bound, last.witnessed) == (found.interval[end].bound, found.interval[end].witnessed)


@pytest.mark.slow
def test_marginals_are_reported_by_their_questions() -> None:
    heard: list[Progress] = []
    answers = parse(STATED).marginals(report=heard.append, timeout=1.0)
    assert_monotone(heard)
    for answer in answers:
        assert_last_is(heard, answer)


def test_a_lifted_question_is_reported_with_bounds_of_slices_and_values_of_models() -> None:
    theory = load(EXAMPLES / "smokers.lcn")
    heard: list[Progress] = []
    answer = theory.query("P(Ca(Tim))", method="lifted", timeout=2.0, report=heard.append)
    assert_monotone(heard)
    assert_last_is(heard, answer)


def test_what_a_part_tells_counts_for_the_whole_as_far_as_it_means_something() -> None:
    heard: list[Progress] = []
    whole = Telling(heard.append, "whole")
    part = whole.through(bounds_alone, "part")
    part.tell(End.LOWER, Endpoint(0.2, 0.3, Warrant.CHECKED), explored=2, stage="a part")
    whole.tell(End.LOWER, Endpoint(0.1, 0.4, Warrant.CHECKED), explored=3)
    part.tell(End.LOWER, Endpoint(0.25, 0.3, Warrant.CHECKED), explored=1)
    assert [(one.bound, one.witnessed, one.leaves) for one in heard] == [
        (0.2, None, 2),
        (0.2, 0.4, 5),
        (0.25, 0.4, 6),
    ]
    assert {one.question for one in heard} == {"whole"}
    assert whole.interval == Interval(
        Endpoint(0.25, 0.4, Warrant.CHECKED), Endpoint(1.0, None, Warrant.CHECKED)
    )


@pytest.mark.slow
@pytest.mark.parametrize("patience", [0, 2, 5])
def test_a_hearer_who_has_had_enough_gets_what_was_found(patience: int) -> None:
    heard: list[Progress] = []

    def stop(progress: Progress) -> None:
        heard.append(progress)
        if len(heard) > patience:
            raise KeyboardInterrupt

    model: LCN = parse(STATED)
    answer = model.query("P(a0 | b)", report=stop, tolerance=1e-9)
    full = model.query("P(a0 | b)", timeout=1.0)
    assert answer.interrupted
    for end in End:
        told = [one.bound for one in heard if one.end is end] or [end.trivial]
        assert not end.is_tighter(told[-1], answer.interval[end].bound)
        assert not end.is_tighter(answer.interval[end].bound, full.interval[end].witnessed or 0.0)


@pytest.mark.slow
def test_the_command_streams_json_lines_and_writes_the_answer_as_before(tmp_path: Path) -> None:
    file = tmp_path / "stated.lcn"
    file.write_text(LOOPY, encoding="utf-8")
    words = [sys.executable, "-m", "credalog", "query", str(file), "P(a0 | b)", "--json"]
    plain = subprocess.run(words, capture_output=True, text=True, check=True)
    told = subprocess.run([*words, "--progress"], capture_output=True, text=True, check=True)
    lines = [json.loads(line)["progress"] for line in told.stderr.splitlines() if line[0] == "{"]
    (answer,) = json.loads(told.stdout)
    (before,) = json.loads(plain.stdout)
    assert {k: v for k, v in answer.items() if k != "seconds"} == {
        k: v for k, v in before.items() if k != "seconds"
    }
    for end in ("lower", "upper"):
        last = [line for line in lines if line["end"] == end][-1]
        assert (last["bound"], last["witnessed"]) == (answer[end], answer[f"{end}_witnessed"])
        assert last["question"] == "P(a0 | b)"


@pytest.mark.slow
def test_progress_needs_json(tmp_path: Path) -> None:
    file = tmp_path / "stated.lcn"
    file.write_text(CHAIN, encoding="utf-8")
    words = [sys.executable, "-m", "credalog", "query", str(file), "P(a0)", "--progress"]
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    assert refused.returncode != 0 and "--json" in refused.stderr
