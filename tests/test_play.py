"""The playground without a browser: what it serves, to whom, and what its processes do."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import time
import tomllib
from asyncio.subprocess import Process
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest

import credalog
from conftest import PROJECT
from credalog.cli import main
from credalog.errors import LanguageError, UnknownName
from credalog.play.answering import mended_files
from credalog.play.limits import MOST_BYTES
from credalog.play.pages import Page
from credalog.play.reading import looked_at, read
from credalog.play.server import gallery
from credalog.play.workers import Crew, _Hand, _until
from credalog.text.parse import read as read_text
from credalog.text.sheets import Shelf
from credalog.theory.patterns import RESERVED
from playing import CONTRADICTION, COUGH, Served, hard, playground

pytest.importorskip("starlette", reason="the playground needs credalog[play]")
pytestmark = pytest.mark.xdist_group("play")


# ---- what a page may reach ----------------------------------------------------------------------------


def test_a_shelf_gives_what_was_put_on_it() -> None:
    files = {"more.lcn": "P(b) <= 0.4", "sub/deep.lcn": "P(c) = 0.5"}
    text = 'include "more.lcn"\ninclude "./sub/../sub/deep.lcn"\nP(a) >= 0.3'
    theory = read_text(text, library=Shelf({}, texts=files))
    assert [str(x) for x in credalog.LCN(theory).variables] == ["b", "c", "a"]


@pytest.mark.parametrize(
    "text",
    [
        'include "{secret}"',
        'include "../secret.lcn"',
        'include "secret.lcn"',
        'domain Host from "{secret}"',
        'table A | B from "{secret}"',
        "domain Host from sql \"select * from '{secret}'\"",
        'number weight(Host) from "secret.lcn"',
    ],
)
def test_files_on_the_disk_are_out_of_reach(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (secret := tmp_path / "secret.lcn").write_text("P(hidden) = 0.123")
    monkeypatch.chdir(tmp_path)
    page = Page(f"domain Host\nvariable A, B in {{yes, no}}\n{text.format(secret=secret)}")
    with pytest.raises((UnknownName, LanguageError)) as refused:
        page.stated()
    assert "0.123" not in str(refused.value)
    assert "not read" in str(refused.value) or "not asked" in str(refused.value)


def test_files_that_include_each_other_are_a_mistake_here_too() -> None:
    page = Page('include "a.lcn"', {"a.lcn": 'include "b.lcn"', "b.lcn": 'include "./a.lcn"'})
    with pytest.raises(LanguageError, match="includes itself"):
        page.stated()


# ---- what is read while one types ---------------------------------------------------------------------


def test_mistakes_stand_under_their_words() -> None:
    text = "P(a) >= 0.3\nP(b | ) = 0.3\nP(c) = 0.5\nquary P(c)\n"
    first, second = read(Page(text), {})["mistakes"]
    assert (first["line"], first["column"]) == (2, 7)
    assert (second["line"], second["column"], second["end"]) == (4, 1, 6)
    assert second["advice"] == "Did you mean query?"


def test_a_mistake_in_a_declaration_is_shown_alone() -> None:
    text = "domain Person {Tim}\npredicate Sm(Person)\nP(Sm(Tim)) >= 0.3"
    assert [one["line"] for one in read(Page(text), {})["mistakes"]] == [1]


def test_a_mistake_of_an_included_file_names_it() -> None:
    (found,) = read(Page('include "more.lcn"', {"more.lcn": "\nP(a >= 0.2\n"}), {})["mistakes"]
    assert (found["file"], found["line"]) == ("more.lcn", 2)


def test_a_graph_has_the_parents_of_the_model() -> None:
    graph = read(Page(COUGH), {})["graph"]
    assert [node["name"] for node in graph["nodes"]] == ["flu", "cold", "fever", "cough"]
    assert [edge["tie"] for edge in graph["edges"]] == [False] * 3


def test_formulas_are_drawn_on_demand() -> None:
    graph = read(Page("P(a | b and c) >= 0.2"), {"formulas": True})["graph"]
    assert [node["name"] for node in graph["nodes"] if node["kind"] == "formula"] == ["b and c"]


def test_what_is_observed_is_marked() -> None:
    page = Page(f"{COUGH}\nevidence cough", given=("!fever", "nothing"))
    assert sorted(read(page, {})["graph"]["observed"]) == ["cough", "fever"]


def test_every_question_of_the_gallery_can_be_asked() -> None:
    for one in gallery():
        model = Page(one["text"], one["files"]).model()
        assert [str(model.asked(question)) for question in one["asked"]] == one["asked"]
        assert one["asked"] or model.queries, one["name"]


def test_ties_are_told_from_arrows() -> None:
    graph = read(Page("P(a or b) >= 0.2\nP(c | a) >= 0.1"), {})["graph"]
    assert sorted(edge["tie"] for edge in graph["edges"]) == [False, True, True]
    assert [node["kind"] for node in graph["nodes"]] == ["variable"] * 3 + ["brace"]


@pytest.mark.slow
def test_of_a_large_network_the_part_around_a_variable_is_drawn() -> None:
    text = "\n".join(f"P(x{i + 1} | x{i}) >= 0.1" for i in range(500))
    graph = read(Page(text), {"around": "x250"})["graph"]
    names = {node["name"] for node in graph["nodes"]}
    assert graph["variables"] == 501
    assert {"x249", "x250", "x251"} <= names
    assert len(names) < 100


def test_a_theory_too_large_to_draw_says_so() -> None:
    text = "domain N = 1..100000\npredicate A(N)\nforall x in N: P(A(x)) >= 0.1"
    found = read(Page(text), {})
    assert not found["mistakes"]
    assert "100,000" in found["large"]["message"]


def test_a_variable_is_looked_at() -> None:
    found = looked_at(Page(COUGH), {"name": "cough"})
    assert found["parents"] == ["flu", "cold"]
    assert found["independent"] == ["fever"]
    assert [one["line"] for one in found["sentences"]] == [7, 8, 9, 10]


@pytest.mark.slow
def test_a_repair_changes_the_lines_of_included_files() -> None:
    folder = PROJECT / "examples" / "triage"
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.lcn")}
    page = Page(files["contradictory.lcn"], files)
    model = page.model()
    chosen = model.repairs(timeout=20.0, most=1)[0]
    changed = mended_files(page, model, chosen)
    assert set(changed) <= {"cardiologist.lcn", "nurse.lcn", "guideline.lcn"}
    mended = Page(page.text, files | changed).model()
    assert mended.diagnose().verdict.name == "CONSISTENT"


# ---- the examples -------------------------------------------------------------------------------------


def test_every_example_of_the_gallery_is_well_formed() -> None:
    for one in gallery():
        assert read(Page(one["text"], one["files"]), {})["mistakes"] == [], one["name"]


def test_the_wheel_has_the_examples_and_the_page() -> None:
    with (PROJECT / "pyproject.toml").open("rb") as file:
        wheel = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"examples": "credalog/play/examples"}
    page = PROJECT / "src" / "credalog" / "play" / "page"
    assert {path.name for path in page.iterdir()} >= {"index.html", "play.js", "play.css", "licences.txt"}


def test_the_licence_of_every_package_of_the_page_is_there() -> None:
    packages = json.loads((PROJECT / "frontend" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    text = (PROJECT / "src" / "credalog" / "play" / "page" / "licences.txt").read_text(encoding="utf-8")
    named = dict(re.findall(r"^(\S+) (\d[\w.]*) \(MIT\)$", text, re.MULTILINE))
    assert named
    assert named.items() <= packages.items()
    assert {"@codemirror/state", "@codemirror/view"} <= named.keys()


def test_the_page_is_built_from_its_sources() -> None:
    page, frontend = PROJECT / "src" / "credalog" / "play" / "page", PROJECT / "frontend"
    for static in (frontend / "static").iterdir():
        assert (page / static.name).read_bytes() == static.read_bytes(), f"run `npm run build` in {frontend}"
    sources = sha256(b"".join(path.read_bytes() for path in sorted((frontend / "src").iterdir())))
    begin = (page / "play.js").read_text(encoding="utf-8")[:200]
    assert sources.hexdigest() in begin, f"run `npm run build` in {frontend}"


def test_the_editor_knows_every_word_of_the_language() -> None:
    source = (PROJECT / "frontend" / "src" / "language.js").read_text(encoding="utf-8")
    lists = re.findall(r'"([a-z ]+)"\.split\(" "\)', source)
    known = {word for words in lists for word in words.split()}
    assert known == RESERVED - {"P", "true", "false", "True", "False"}


def test_the_page_loads_nothing_from_elsewhere() -> None:
    page = PROJECT / "src" / "credalog" / "play" / "page"
    for name in ("index.html", "play.css"):
        text = (page / name).read_text(encoding="utf-8")
        assert not re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//""", text), name


# ---- who may come in ----------------------------------------------------------------------------------


def test_the_page_comes_with_strict_headers(served: Served) -> None:
    with served.sending("GET", served.base) as response:
        page, headers = response.read().decode(), dict(response.getheaders())
    policy = headers["content-security-policy"]
    (nonce,) = re.findall(r"'nonce-([\w-]+)'", policy)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert nonce in page
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"


def test_every_page_has_a_nonce_of_its_own(served: Served) -> None:
    assert served.get() != served.get()


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/read", "/wrong/page/play.js", "/wrong/examples"])
def test_a_wrong_token_finds_nothing(served: Served, path: str) -> None:
    with served.sending("GET", path) as response:
        assert response.status in {404, 405}
        assert "<html" not in response.read().decode()


def test_another_name_for_this_machine_is_refused(served: Served) -> None:
    status, text = served.get(Host="evil.example:80")
    assert status == 421
    assert "<html" not in text


def test_another_page_may_not_ask(served: Served) -> None:
    asked = served.status("POST", f"{served.base}read", {"text": ""}, Origin="http://evil.example")
    assert asked == 403


@pytest.mark.parametrize(
    "name", ["../server.py", "%2e%2e%2fserver.py", "..%2f__init__.py", "index.html", "x.js"]
)
def test_only_files_of_the_page_are_served(served: Served, name: str) -> None:
    status, text = served.get(f"page/{name}")
    assert status == 404
    assert "import" not in text


def test_a_body_has_a_limit(served: Served) -> None:
    status, said = served.post("read", {"text": "#" * MOST_BYTES})
    assert status == 413
    assert "command line" in said["message"]


@pytest.mark.parametrize("body", [b"", b"[1]", b"nonsense", b'"text"'])
def test_what_is_no_object_is_refused(served: Served, body: bytes) -> None:
    assert served.post("read", body)[0] == 400


def test_a_form_is_refused(served: Served) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert served.status("POST", f"{served.base}read", b"text=a", **form) == 415


@pytest.mark.slow
def test_a_text_with_half_a_character_is_a_mistake_like_any_other(served: Served) -> None:
    assert served.read("P(\ud800) >= 0.1")["mistakes"][0]["line"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("sent", [{"text": 3}, {"text": "", "files": []}, {"text": "", "given": [1]}])
def test_what_is_no_text_is_refused(served: Served, sent: dict[str, object]) -> None:
    status, found = served.post("read", sent)
    assert (status, found["event"]) == (200, "failed")


# ---- answers ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_answer_is_streamed(served: Served) -> None:
    *_, answer, done = served.ask(COUGH, question="P(flu | fever)")
    assert done["event"] == "done"
    assert answer["lower"] == pytest.approx(8 / 27, abs=1e-6)
    assert answer["upper"] == pytest.approx(2 / 3, abs=1e-6)
    assert (answer["status"], answer["low"], answer["high"]) == ("EXACT", "0.296296", "0.666667")


@pytest.mark.slow
def test_what_was_observed_joins_the_condition(served: Served) -> None:
    *_, answer, _ = served.ask(COUGH, question="P(flu)", given=["fever"])
    assert answer["lower"] == pytest.approx(8 / 27, abs=1e-6)


def test_an_observation_that_the_model_no_longer_knows_is_named_as_one(served: Served) -> None:
    told = served.ask("P(a) = 0.5\n", question="P(a)", given=["fever"])
    failed = next(event for event in told if event["event"] == "failed")
    assert failed["message"].endswith("fever was observed, and there is no fever")


def test_all_marginals_are_found(served: Served) -> None:
    found = {one["name"]: one for one in served.ask(COUGH, "marginals") if one["event"] == "marginal"}
    assert list(found) == ["flu", "cold", "fever", "cough"]
    assert found["fever"]["low"] == "0.0875"
    assert found["fever"]["high"] == "0.18"


def test_of_a_large_network_the_marginals_of_what_is_drawn_are_found(served: Served) -> None:
    found = served.ask(COUGH, "marginals", names=["fever", "flu"])
    assert [one.get("name") for one in found] == ["fever", "flu", None]


def test_a_ratio_without_an_upper_end_is_json(served: Served) -> None:
    *_, answer, _ = served.ask("0.1 <= P(a) <= 0.2\nP(b) <= 0.5", question="P(a) / P(b)")
    assert answer["upper"] is None
    assert answer["high"] == "inf"


def test_a_mistake_in_a_question_is_told(served: Served) -> None:
    (failed,) = served.ask(COUGH, question="P(flue)")
    assert failed["message"] == "there is no proposition flue" or "flue" in failed["message"]
    assert "flu" in failed["advice"]


def test_models_attain_the_ends(served: Served) -> None:
    events = served.ask(COUGH, "witness", question="P(flu | fever)")
    least, greatest = (one for one in events if one["event"] == "witness")
    assert least["attained"] == pytest.approx(8 / 27)
    chances = {row["says"]: row["chance"] for row in greatest["rows"]}
    assert chances["P(flu)"] == pytest.approx(0.1)
    assert chances["P(fever | flu)"] == pytest.approx(0.9)


def test_an_answer_is_explained(served: Served) -> None:
    events = served.ask(COUGH, "explain", question="P(fever)")
    lines = {one["line"] for one in events if one["event"] == "holds"}
    assert lines == {3, 5, 6}


def test_a_certificate_holds(served: Served, tmp_path: Path) -> None:
    from base64 import b64decode

    (found, _) = served.ask(COUGH, "certificate", question="P(flu | fever)")
    (proof := tmp_path / "answer.cert").write_bytes(b64decode(found["content"]))
    claims = credalog.parse(COUGH).verify(proof)
    assert list(claims) == found["claims"]
    assert not found["missing"]


def test_a_contradiction_names_its_sentences_and_a_repair(served: Served) -> None:
    diagnosis, repair, *_ = served.ask(CONTRADICTION, "repairs")
    assert [one["line"] for one in diagnosis["culprits"]] == [1, 2]
    assert repair["total"] == pytest.approx(0.2)
    mended = credalog.parse(repair["files"][""])
    assert mended.query("P(a)").status.name == "EXACT"


def test_an_unknown_kind_of_question_fails(served: Served) -> None:
    assert served.ask(COUGH, "destroy")[0]["event"] == "failed"


# ---- time ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_question_ends_with_its_seconds(served: Served) -> None:
    *_, answer, _ = served.ask(hard(), question="P(x1 | x11 and !x10)", seconds=2)
    assert answer["status"] == "BOUNDED"
    assert 0.0 <= answer["lower"] <= answer["upper_witnessed"] <= answer["upper"] <= 1.0


@pytest.mark.slow
def test_a_stopped_question_says_what_it_has_found(served: Served) -> None:
    found = list[dict[str, object]]()
    question = "P(x1 | x11 and !x10)"
    asking = Thread(
        target=lambda: found.extend(served.ask(hard(), question=question, seconds=60, id="to stop"))
    )
    asking.start()
    deadline = time.monotonic() + 30
    while not served.post("stop", {"id": "to stop"})[1]["stopped"] and time.monotonic() < deadline:
        time.sleep(0.2)
    asking.join(60)
    assert not asking.is_alive()
    assert found[-1]["event"] in {"done", "failed"}
    assert any(
        one.get("status") == "INTERRUPTED" or one.get("kind") in {"Stopped", "Killed"} for one in found
    )


async def _stopped_early() -> list[dict[str, Any]]:
    """Stop a job while the process that is to do it still starts."""
    crew, found = Crew(1), list[dict[str, Any]]()
    job = {"kind": "ask", "text": hard(), "question": "P(x1 | x11 and !x10)", "seconds": 60}

    async def listen() -> None:
        found.extend([event async for event in crew.events(job, seconds=60, name="early")])

    asking = asyncio.create_task(listen())
    await asyncio.sleep(0.05)
    assert await crew.stop("early")
    await asyncio.wait_for(asking, 60)
    await crew.dismiss()
    return found


@pytest.mark.slow
def test_a_question_may_be_stopped_before_its_process_has_begun() -> None:
    (only,) = asyncio.run(_stopped_early())
    assert only["kind"] == "Stopped"


async def _what_comes_of(job: int, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put a job to a process that writes these lines."""
    reports = asyncio.StreamReader()
    reports.feed_data("".join(json.dumps(line) + "\n" for line in lines).encode())
    orders = SimpleNamespace(write=lambda _: None, drain=lambda: asyncio.sleep(0))
    hand = _Hand(cast(Process, SimpleNamespace(stdin=orders, stdout=reports, returncode=None)), job)
    return [event async for event in _until(time.monotonic() + 5, hand, {"job": job})]


def test_what_is_left_of_a_job_is_no_answer_of_the_next() -> None:
    # Stopped in the moment when it ends, a job is done and has failed.
    late = {"job": 1, "event": "failed", "kind": "Stopped"}
    own = [{"job": 2, "event": "answer", "lower": 0.2}, {"job": 2, "event": "done"}]
    assert asyncio.run(_what_comes_of(2, [late, *own])) == own


@pytest.mark.slow
def test_after_a_page_has_gone_others_are_served(served: Served) -> None:
    # Three pages ask for long work and leave; two processes must be free again at once.
    body = {"text": hard(), "kind": "ask", "question": "P(x1 | x11 and !x10)", "seconds": 60}
    for _ in range(3):
        with served.sending("POST", f"{served.base}ask", body):
            time.sleep(0.1)
    began = time.monotonic()
    assert served.ask(COUGH, question="P(fever)")[-1]["event"] == "done"
    assert time.monotonic() - began < 30


# ---- the command --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_is_opened_with_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "main.lcn").write_text(
        'include "more.lcn"\ndomain D from "d.csv"\ninclude "../outside.lcn"\n'
    )
    (tmp_path / "more.lcn").write_text("P(a) >= 0.3\n")
    (tmp_path / "d.csv").write_text("D\nx\n")
    (tmp_path / "unnamed.csv").write_text("secret\n")
    with playground(str(tmp_path / "main.lcn")) as served:
        opened = json.loads(served.get("examples")[1])["opened"]
    assert opened["name"] == "main.lcn"
    assert set(opened["files"]) == {"more.lcn", "d.csv"}


@pytest.mark.slow
def test_a_shared_address_is_opened_here() -> None:
    with playground("http://127.0.0.1:9/another/#m=q1YqSa0oUbJSSgRiJR0FAA") as served:
        assert served.address.endswith("/#m=q1YqSa0oUbJSSgRiJR0FAA")


@pytest.mark.slow
def test_the_address_is_json_for_programs_and_a_timeout_ends_the_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["play", "--no-browser", "--json", "--timeout", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["address"].startswith("http://127.0.0.1:")


def _children(parent: int) -> set[int]:
    """Return the processes that one has started, where the system tells."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The second word after the name in parentheses: proc(5), ppid.
            if int(stat.read_text(encoding="utf-8").rpartition(")")[2].split()[1]) == parent:
                found.add(int(stat.parent.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal that is Ctrl-C for one process")
def test_ctrl_c_ends_the_playground_and_its_processes() -> None:
    with playground() as served:
        served.ask("P(a) = 0.5", question="P(a)")
        children = _children(served.process.pid)
        assert children or not Path("/proc/self/stat").exists()
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(60) == 0
    assert not any(Path(f"/proc/{child}").exists() for child in children)


@pytest.mark.slow
def test_a_server_that_is_killed_takes_its_processes_along() -> None:
    with playground() as served:
        served.ask("P(a) = 0.5", question="P(a)")
        children = _children(served.process.pid)
        served.process.kill()
        served.process.wait(60)
    deadline = time.monotonic() + 20
    while (left := {c for c in children if Path(f"/proc/{c}").exists()}) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def test_a_port_in_use_is_a_clear_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        assert main(["play", "--no-browser", "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert f"port {port} cannot be used: " in said
    assert f"--port {port}" in said


def test_a_missing_file_is_a_clear_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "nowhere.lcn"]) == 2
    assert "there is no file nowhere.lcn" in capsys.readouterr().err


def test_without_the_extra_the_command_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    assert main(["play"]) == 2
    assert "pip install 'credalog[play]'" in capsys.readouterr().err


def test_a_repaired_bound_reads_back_as_the_fraction_it_is() -> None:
    page = Page(CONTRADICTION)
    chosen = page.model().repairs(timeout=20.0, most=1)[0]
    sentences = credalog.parse(mended_files(page, page.model(), chosen)[""]).sentences
    written = {(s.lower, s.upper) for s in sentences}
    assert {(change.after.lower, change.after.upper) for change in chosen.changes} <= written


def test_the_examples_are_written_once_and_can_be_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "examples"
    assert main(["examples", str(folder)]) == 0
    assert str(folder / "wet_grass.lcn") in capsys.readouterr().out
    examples = PROJECT / "examples"
    shipped = {path.relative_to(examples) for path in examples.rglob("*.lcn")}
    assert {path.relative_to(folder) for path in folder.rglob("*.lcn")} == shipped
    assert main(["examples", str(folder)]) == 2
    assert "is there already" in capsys.readouterr().err


def test_examples_that_cannot_be_written_leave_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "file").write_text("")
    assert main(["examples", str(tmp_path / "file" / "examples")]) == 2
    assert "cannot be written" in capsys.readouterr().err
