"""Many questions at once: every id exactly once, whatever happens to files, questions and workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import credalog
from credalog.batches import asking
from credalog.batches.answering import Chunk, Done, Settings, answer_chunk
from credalog.batches.cluster import local_client
from credalog.batches.items import Item
from credalog.batches.models import Models, Source
from credalog.batches.pools import Here
from credalog.batches.scheduling import Speed
from credalog.cli import main
from credalog.errors import CredalogError
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


def test_lines_of_text_are_answered_in_a_file(folder, capsys):
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl") == 0
    found = lines()
    assert sorted(one["id"] for one in found) == [1, 2, 3, 4]
    assert all(map(agrees, found))
    before = Path("out.jsonl").read_bytes()
    assert batch("m.lcn", "q.txt", "-o", "out.jsonl") == 0
    assert Path("out.jsonl").read_bytes() == before
    assert "4 of 4 questions are answered" in capsys.readouterr().err


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


def test_a_question_that_kills_its_process_costs_only_itself():
    asked = ["P(a)", "P(b)", "P(poison)", *["P(a | b)"] * 5]
    found = {o.id: o for o in credalog.batch(deadly(), asked, jobs=2)}
    assert sorted(found) == list(range(1, 9))
    assert [i for i, one in found.items() if one.status == "FAILED"] == [3]
    assert "died" in (found[3].error or "")


def test_a_worker_that_runs_out_of_memory_is_no_end():
    asked = ["P(a)", "P(b)"]
    found = list(credalog.batch(deadly(), asked, jobs=1, memory=2.0**30))
    assert len(found) == 2


@pytest.mark.slow
def test_a_batch_that_is_killed_again_and_again_answers_each_question_once(folder):
    Path("q.txt").write_text("\n".join(list(KNOWN) * 100), encoding="utf-8")
    command = [sys.executable, "-m", "credalog", "batch", "m.lcn", "q.txt", "-o", "out.jsonl"]
    seen = 0
    for moment in (0.9, 1.3, 1.1, 1.6):
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
