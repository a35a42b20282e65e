"""Many questions at once: every id exactly once, whatever happens to files, questions and workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import credalog
from credalog.batches import answering, asking
from credalog.batches.answering import Chunk, Done, Remembered, Settings, _opposite, answer_chunk
from credalog.batches.catalogue import grouped
from credalog.batches.cluster import local_client
from credalog.batches.items import Item, Outcome, items_of
from credalog.batches.journal import Fingerprint, journal
from credalog.batches.models import Models, Source
from credalog.batches.pools import Here
from credalog.batches.scheduling import Speed
from credalog.cli import main
from credalog.errors import CredalogError
from credalog.methods.answer import Answer
from credalog.numbers.interval import Endpoint, Interval, Status, Warrant
from deadly import deadly

MODEL = """
0.3 <= P(a) <= 0.5
0.2 <= P(b | a) <= 0.4
0.6 <= P(b | !a) <= 0.7
"""
# By hand: P(b) is monotone in each of its three numbers, and so is P(a | b).
KNOWN = {
    "P(a)": (0.3, 0.5),
    "P(b)": (0.5 * 0.2 + 0.5 * 0.6, 0.3 * 0.4 + 0.7 * 0.7),
    "P(a and b)": (0.3 * 0.2, 0.5 * 0.4),
    "P(a | b)": (0.3 * 0.2 / (0.3 * 0.2 + 0.7 * 0.7), 0.5 * 0.4 / (0.5 * 0.4 + 0.5 * 0.6)),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.lcn").write_text(MODEL, encoding="utf-8")
    Path("q.txt").write_text("\n".join(KNOWN), encoding="utf-8")
    return tmp_path


@pytest.fixture
def here(folder, monkeypatch):
    """Ask in this process: what becomes of files is the same, and nobody waits for another to start."""
    monkeypatch.setattr(asking, "Processes", lambda _, *sources, memory: Here(*sources))
    return folder


def lines(path: str = "out.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def batch(*words: str) -> int:
    return main(["batch", *words])


def agrees(found: Mapping[str, Any]) -> bool:
    low, high = KNOWN[found["query"]]
    return bool(found["lower"] == pytest.approx(low, abs=1e-6)) and bool(
        found["upper"] == pytest.approx(high, abs=1e-6)
    )


# ---- in Python ------------------------------------------------------------------------------------------


def test_answers_are_those_of_the_paper_and_pencil():
    found = {o.query: o for o in credalog.batch(credalog.parse(MODEL), list(KNOWN))}
    assert set(found) == set(KNOWN)
    assert all(o.is_exact and agrees(o.to_dict()) for o in found.values())


def test_questions_are_text_mappings_or_formulas():
    a, b = credalog.propositions("a b")
    asked = ["P(a)", {"id": "second", "query": "P(a)", "evidence": {"b": True}}, credalog.P(a, given=b)]
    found = {o.id: o for o in credalog.batch(credalog.parse(MODEL), asked)}
    assert set(found) == {1, "second", 3}
    assert found["second"].upper == found[3].upper == pytest.approx(KNOWN["P(a | b)"][1])


def test_a_question_that_fails_costs_only_itself():
    asked = ["P(a)", "P(a", "P(zz)", "P(a | b and !b)", {"query": 3}, {"qery": "P(a)"}, "P(b)"]
    found = {o.id: o for o in credalog.batch(credalog.parse(MODEL), asked)}
    assert [found[i].status for i in range(1, 8)] == ["EXACT", *["FAILED"] * 5, "EXACT"]
    assert "there is no zz" in (found[3].error or "")
    assert "probability zero" in (found[4].error or "")
    assert "no field 'qery'" in (found[6].error or "")


def test_two_questions_of_one_name_are_refused():
    with pytest.raises(CredalogError, match="two questions have the id x"):
        credalog.batch(credalog.parse(MODEL), [{"id": "x", "query": "P(a)"}, {"id": "x", "query": "P(b)"}])


def test_several_models_are_asked_the_same():
    models = {"one": credalog.parse("P(a) = 0.1"), "two": credalog.parse("P(a) = 0.2")}
    found = {o.id: o.upper for o in credalog.batch(models, ["P(a)"])}
    assert found == {"one:1": pytest.approx(0.1), "two:1": pytest.approx(0.2)}


def test_the_whole_limit_leaves_questions_out():
    found = list(credalog.batch(credalog.parse(MODEL), ["P(a)"] * 3, total=1e-9))
    assert found == []


def test_a_batch_of_one_text_is_a_mistake():
    with pytest.raises(CredalogError, match="is one question"):
        credalog.batch(credalog.parse(MODEL), "P(a)")


def test_joblib_says_how_many_processes():
    import joblib

    from credalog.batches.asking import _joblib_setting

    assert _joblib_setting() == (None, None)
    with joblib.parallel_config(n_jobs=2):
        assert _joblib_setting() == (None, 2)


# ---- what a worker does -----------------------------------------------------------------------------------


def test_a_chunk_hands_back_what_it_has_no_time_for():
    source = Source.of_text(MODEL)
    items = tuple(Item(i, "P(a)") for i in range(5))
    chunk = Chunk(1, items, (source.key,) * 5, Settings(), 0.0, sources={source.key: source})
    assert len(answer_chunk(chunk).outcomes) == 1


def test_a_question_that_the_whole_limit_cuts_short_is_left_for_the_next_time():
    # A ring of ties over many atoms is not answered in a moment.
    text = "\n".join(f"0.2 <= P(x{i} or x{(i + 1) % 40}) <= 0.6" for i in range(40))
    source = Source.of_text(text)
    items, sources = (Item(1, "P(x0 | x20)"),), {source.key: source}
    chunk = Chunk(1, items, (source.key,), Settings(), 1.0, left=0.01, sources=sources)
    assert answer_chunk(chunk).outcomes == ()


def test_a_worker_says_which_models_it_was_never_sent():
    chunk = Chunk(1, (Item(1, "P(a)"),), ("unknown",), Settings(), 1.0)
    assert answer_chunk(chunk) == Done((), 0.0, ("unknown",))


def test_few_models_are_kept():
    sources = [Source.of_text(f"P(a) = 0.{i}") for i in range(1, 5)]
    kept = Models(most=2)
    models = [kept.get(s.key, {s.key: s}) for s in sources]
    assert kept.get(sources[3].key, {}) is models[3]
    assert not kept.knows(sources[0].key)


def test_chunks_hold_about_a_second_of_work_and_shrink_towards_the_end():
    speed = Speed()
    assert speed.questions(1000, 2) == 1
    speed.learn(1.0, 100)
    assert speed.questions(100_000, 2) == 100
    assert speed.questions(40, 2) == 10


# ---- files ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_lines_of_text_are_answered_in_a_file(folder, capsys):
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl") == 0
    found = lines()
    assert sorted(one["id"] for one in found) == [1, 2, 3, 4]
    assert all(map(agrees, found))
    before = Path("out.jsonl").read_bytes()
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl") == 0
    assert Path("out.jsonl").read_bytes() == before
    assert "4 of 4 questions have their lines" in capsys.readouterr().err


def test_lines_of_json_name_their_evidence_and_limits(here):
    asked = [
        {"id": "e", "query": "P(a)", "evidence": {"b": True}, "timeout": 5},
        {"id": "t", "query": "P(a)", "evidence": "b or !b"},
    ]
    Path("q.jsonl").write_text("\n".join([*map(json.dumps, asked), "{broken"]), encoding="utf-8")
    assert batch("m.lcn", "q.jsonl", "-o", "out.jsonl") == 0
    found = {one["id"]: one for one in lines()}
    assert found["e"]["upper"] == pytest.approx(KNOWN["P(a | b)"][1])
    assert found["t"]["upper"] == pytest.approx(0.5)
    assert "line 3 is no JSON" in found[3]["error"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_of_a_table_are_what_was_observed(here, form):
    rows = {"id": ["r1", "r2", "r3"], "b": ["true", "", "yes"], "note": ["x", "y", "z"]}
    if form == "csv":
        text = "\n".join(",".join(row) for row in [list(rows), *zip(*rows.values(), strict=True)])
        Path("rows.csv").write_text(text, encoding="utf-8")
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(rows), "rows.parquet")
    words = ("m.lcn", f"rows.{form}", "--query", "P(a)", "--ignore", "note")
    assert batch(*words, "-o", "out.jsonl") == 0
    found = {one["id"]: one["upper"] for one in lines()}
    posterior = pytest.approx(KNOWN["P(a | b)"][1])
    assert found == {"r1": posterior, "r2": pytest.approx(0.5), "r3": posterior}


def test_rows_fill_a_question_and_a_model(here):
    Path("t.lcn").write_text("P(a) = {{p}}\nP(b) = 0.5", encoding="utf-8")
    Path("rows.csv").write_text("p,what\n0.1,a\n0.2,!a\n,a\n", encoding="utf-8")
    assert batch("t.lcn", "rows.csv", "--template", "--query", "P({{what}})", "-o", "out.jsonl") == 0
    found = {one["id"]: one for one in lines()}
    assert found[1]["upper"] == pytest.approx(0.1)
    assert found[2]["upper"] == pytest.approx(0.8)
    assert "the column p is empty" in found[3]["error"]


def test_a_folder_of_models_is_asked(here):
    Path("many").mkdir()
    Path("many/one.lcn").write_text("P(a) = 0.1", encoding="utf-8")
    Path("many/two.lcn").write_text("P(a) = 0.2", encoding="utf-8")
    Path("many/bad.lcn").write_text("P(a) = = 0.2", encoding="utf-8")
    Path("q.txt").write_text("P(a)", encoding="utf-8")
    assert batch("--models", "many", "q.txt", "-o", "out.jsonl") == 0
    found = {one["id"]: one for one in lines()}
    assert found["one.lcn:1"]["upper"] == pytest.approx(0.1)
    assert found["two.lcn:1"]["upper"] == pytest.approx(0.2)
    assert "the model cannot be read" in found["bad.lcn:1"]["error"]


def test_answers_may_be_a_parquet_file(here):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert batch("m.lcn", "q.txt", "-o", "out.parquet") == 0
    rows = parquet.read_table("out.parquet").to_pylist()
    assert sorted(row["id"] for row in rows) == ["1", "2", "3", "4"]
    assert all(map(agrees, rows))
    assert not Path("out.parquet.jsonl").exists()
    assert batch("m.lcn", "q.txt", "-o", "out.parquet") == 0
    assert len(parquet.read_table("out.parquet")) == 4
    Path("q.txt").write_text("P(b)", encoding="utf-8")
    assert batch("m.lcn", "q.txt", "-o", "out.parquet") == 2


def test_witnesses_travel_with_the_answers(here):
    Path("q.txt").write_text("P(a)", encoding="utf-8")
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl", "--witnesses") == 0
    assert lines()[0]["witnesses"]["upper"]


def test_a_full_disk_leaves_whole_lines(folder):
    resource = pytest.importorskip("resource")
    outcomes = [Outcome(number, f"P(x{number})", "EXACT", 0.0, 1.0) for number in range(40)]
    told, path = Fingerprint("m", "q", "o"), Path("out.jsonl")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.raises(CredalogError, match="cannot be written"), journal(path, told) as opened:
        opened.write(outcomes[0])
        # Room for some lines and a half.
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(7.5 * path.stat().st_size), limits[1]))
        try:
            for one in outcomes[1:]:
                opened.write(one)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [one["id"] for one in lines()] == list(range(7))
    with journal(path, told) as opened:
        for one in outcomes:
            if one.key not in opened.done:
                opened.write(one)
    assert [one["id"] for one in lines()] == list(range(40))


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("P(a | b)", "P(!a | b)", True),
        ("P(a and b)", "P(b and a)", True),
        ("P(a or b)", "P(!a and !b)", True),
        ("P(a | b)", "P(a and b | b)", True),
        ("P(a | b)", "P(b | a)", False),
        ("P(a | b)", "P(a | !b)", False),
        ("P(a and b)", "P(a and !b)", False),
        ("P(a)", "P(b)", False),
        ("P(a) + P(b)", "P(a) + P(b)", False),
    ],
)
def test_questions_that_mean_the_same_are_worked_on_once(monkeypatch, one, other, is_one):
    model, answering._WORKER.remembered = credalog.parse(MODEL), Remembered()
    asked: list[object] = []
    query = type(model).query

    def heard(self: Any, question: Any, **options: Any) -> Answer:
        asked.append(question)
        return query(self, question, **options)

    monkeypatch.setattr(type(model), "query", heard)
    first, second = credalog.batch(model, [one, other])
    assert len(asked) == (1 if is_one else 2)
    for found in (first, second):
        alone = query(model, found.query)
        assert (found.status, found.lower_warrant) == (alone.status.name, alone.interval.lower.warrant.name)
        assert (found.lower, found.upper) == pytest.approx((alone.lower, alone.upper), abs=1e-9)
        ends = (found.lower, found.lower_witnessed, found.upper_witnessed, found.upper)
        assert list(ends) == sorted(end for end in ends if end is not None)


def test_an_opposite_is_rounded_outwards():
    lower, upper = Endpoint(0.1, 0.1, Warrant.CHECKED), Endpoint(0.7, 0.7, Warrant.CHECKED)
    answer = Answer(credalog.parse(MODEL).question("P(a)"), Interval(lower, upper), Status.EXACT, "sets", 0.0)
    found = _opposite(answer, 1e-6).interval
    assert Fraction(found.lower.bound) <= 1 - Fraction(0.7) and 1 - Fraction(0.1) <= Fraction(
        found.upper.bound
    )


def test_questions_about_one_pair_stand_together():
    model = credalog.parse(MODEL + "0.1 <= P(c) <= 0.2")
    texts = ["P(a and b)", "P(c)", "P(b | a)", "P(a and c)", "P(b and a)", "P(c | b)", "P(a | b)"]
    order = [item.query for item in grouped(items_of(texts), model)]
    pair = [place for place, text in enumerate(order) if {"a", "b"} == set(text) & set("abc")]
    assert len(pair) == 4 and pair == list(range(pair[0], pair[0] + 4))


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_torn_line_is_asked_again(here, cut):
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl") == 0
    whole = Path("out.jsonl").read_bytes()
    Path("out.jsonl").write_bytes(whole[:-cut])
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl") == 0
    assert sorted(one["id"] for one in lines()) == [1, 2, 3, 4]
    assert all(map(agrees, lines()))


@pytest.mark.parametrize(
    ("change", "blamed"),
    [
        (lambda: Path("m.lcn").write_text("P(a) = 0.3", encoding="utf-8"), "the model changed"),
        (lambda: Path("q.txt").write_text("P(a)", encoding="utf-8"), "the questions changed"),
        (lambda: Path("out.jsonl").write_text('{"a": 1}\n', encoding="utf-8"), "no answers of a batch"),
        (lambda: Path("out.jsonl").write_text("x\ny\n", encoding="utf-8"), "line 1 of out.jsonl"),
        (lambda: Path("out.jsonl").write_text("my notes", encoding="utf-8"), "line 1 of out.jsonl"),
    ],
)
def test_what_was_asked_before_must_be_the_same(here, capsys, change, blamed):
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl") == 0
    change()
    held = Path("out.jsonl").read_bytes()
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl") == 2
    assert blamed in capsys.readouterr().err
    assert Path("out.jsonl").read_bytes() == held


@pytest.mark.parametrize(
    ("words", "blamed"),
    [
        (("q.txt",), "one model or a folder"),
        (("m.lcn", "none.txt"), "there is no file none.txt"),
        (("m.lcn", "rows.csv"), "not what is asked"),
        (("m.lcn", "rows.csv", "--query", "P(a)"), "the column color of rows.csv is no variable"),
        (("m.lcn", "rows.csv", "--query", "P({{x}})"), "has no column x"),
        (("--models", "nowhere", "q.txt"), "there is no folder nowhere"),
        (("m.lcn", "q.txt", "--ignore", "b"), "--ignore has no effect here"),
        (("m.lcn", "q.txt", "--query", "P(a)"), "--query has no effect here"),
        (("m.lcn", "q.txt", "--jobs", "2", "--cluster", "local"), "--jobs has no effect"),
        (("m.lcn", "q.txt", "--cluster", "local:x"), "local:x is no cluster"),
        (("m.lcn", "q.txt", "--cluster", "nonsense://x"), "no Dask scheduler answers at nonsense://x"),
    ],
)
def test_mistakes_are_named(here, capsys, words, blamed):
    Path("rows.csv").write_text("b,color\ntrue,red\n", encoding="utf-8")
    assert batch(*words, "-o", "out.jsonl") == 2
    assert blamed in capsys.readouterr().err


# ---- workers that die ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_question_that_kills_its_process_costs_only_itself():
    asked = ["P(a)", "P(b)", "P(poison)", *["P(a | b)"] * 5]
    found = {o.id: o for o in credalog.batch(deadly(), asked, jobs=2)}
    assert sorted(found) == list(range(1, 9))
    assert [i for i, one in found.items() if one.status == "FAILED"] == [3]
    assert "died" in (found[3].error or "")


@pytest.mark.slow
def test_a_question_that_takes_all_memory_costs_only_itself():
    asked = ["P(a)", "P(glutton)", "P(b)", "P(glutton | a)", "P(a | b)"]
    found = {o.id: o for o in credalog.batch(deadly(), asked, jobs=1, memory=2.0**30)}
    assert [found[i].status for i in range(1, 6)] == ["EXACT", "FAILED", "EXACT", "FAILED", "EXACT"]
    assert all("out of memory" in (found[i].error or "") for i in (2, 4))
    assert all(agrees(found[i].to_dict()) for i in (1, 3, 5))


@pytest.mark.slow
def test_a_batch_that_is_killed_again_and_again_answers_each_question_once(folder):
    Path("q.txt").write_text("\n".join(list(KNOWN) * 100), encoding="utf-8")
    command = [sys.executable, "-m", "credalog", "batch", "m.lcn", "q.txt", "-o", "out.jsonl"]
    seen = 0
    for moment in (0.9, 1.3):
        running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(moment)
        running.kill()
        running.wait()
        whole = Path("out.jsonl").read_bytes() if Path("out.jsonl").exists() else b""
        assert whole.count(b"\n") >= seen
        seen = whole.count(b"\n")
    assert subprocess.run([*command, "--jobs", "2"], check=False, stderr=subprocess.DEVNULL).returncode == 0
    found = lines()
    assert sorted(one["id"] for one in found) == list(range(1, 401))
    assert all(map(agrees, found))


@pytest.mark.slow
def test_ctrl_c_leaves_a_file_that_can_be_continued(folder):
    Path("q.txt").write_text("\n".join(list(KNOWN) * 100), encoding="utf-8")
    command = [sys.executable, "-m", "credalog", "batch", "m.lcn", "q.txt", "-o", "out.jsonl"]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while not (Path("out.jsonl").exists() and Path("out.jsonl").stat().st_size) and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    assert running.wait() in (130, 0)
    before = len(lines())
    assert before > 0
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl") == 0
    assert sorted(one["id"] for one in lines()) == list(range(1, 401))


@pytest.mark.slow
def test_a_cluster_that_shrinks_answers_each_question_once():
    pytest.importorskip("distributed")
    with local_client(2) as client:
        answers = credalog.batch(deadly(), [*list(KNOWN) * 15], client=client)
        found = [next(answers)]
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        found += [next(answers) for _ in range(15)]
        client.wait_for_workers(2, timeout=60)
        client.retire_workers([next(iter(client.scheduler_info()["workers"]))])
        found += list(answers)
        assert sorted(o.id for o in found) == list(range(1, 61))
        assert all(agrees(o.to_dict()) for o in found)
        poisoned = {o.id: o.status for o in credalog.batch(deadly(), ["P(a)", "P(poison)"], client=client)}
    assert poisoned == {1: "EXACT", 2: "FAILED"}


@pytest.mark.parametrize("name", ["q.txt", "q.jsonl"])
def test_questions_that_are_no_utf8_are_named(here, capsys, name):
    Path(name).write_bytes(b"P(a)\n# caf\xe9\n")
    assert batch("m.lcn", name) == 2
    assert f"{name} is not a text file in UTF-8" in capsys.readouterr().err


def test_a_file_without_questions_is_not_passed_over_in_silence(here, capsys):
    Path("q.txt").write_text("# P(a)\n", encoding="utf-8")
    assert batch("m.lcn", "q.txt") == 0
    assert "q.txt asks nothing" in capsys.readouterr().err


def test_a_batch_that_answers_nothing_has_an_exit_code_of_its_own(here, capsys):
    Path("q.txt").write_text("P(zz)\nP(\n", encoding="utf-8")
    for words in (("-o", "out.jsonl"), ("-o", "out.jsonl"), ()):
        assert batch("m.lcn", "q.txt", *words) == 6
        assert "every question failed" in capsys.readouterr().err
    assert {one["status"] for one in lines()} == {"FAILED"}


def test_a_question_that_failed_is_not_counted_as_answered(here, capsys):
    Path("q.txt").write_text("P(a)\nP(zz)\n", encoding="utf-8")
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl") == 0
    assert "1 of 2 questions answered, 1 failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "blamed"),
    [("q.txt", "is what is read"), ("m.lcn", "the model itself"), ("out.csv", "Name it out.jsonl")],
)
def test_answers_take_the_place_of_nothing_that_is_read(here, capsys, target, blamed):
    Path("q.txt").write_text("P(a)", encoding="utf-8")
    assert batch("m.lcn", "q.txt", "-o", target) == 2
    assert blamed in capsys.readouterr().err
    assert Path("q.txt").read_text(encoding="utf-8") == "P(a)"
    assert not Path("out.csv").exists()


@pytest.mark.parametrize(
    "slip",
    [{"jobs": 0}, {"jobs": 1.5}, {"timeout": -1}, {"total": 0}, {"method": "zz"}, {"memory": -1}],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_told_once(slip: dict[str, Any]):
    with pytest.raises(CredalogError, match=f"{next(iter(slip.values()))}"):
        credalog.batch(credalog.parse(MODEL), ["P(a)", "P(b)"], **slip)
