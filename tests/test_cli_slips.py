"""What people type by mistake, what they see while they wait, and what is never lost."""

import gzip
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from credalog.cli import main
from credalog.cli.ask import _tell_of_open_ends
from credalog.numbers.interval import Status

Ask = Callable[..., tuple[int, str, str]]

CHAIN = "0.2 <= P(a) <= 0.3\nP(b | a) = 0.9\n0.1 <= P(b | !a) <= 0.2\nP(n) = 0\n"


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Ask:
    """Return a function that asks of a network, and returns the exit code, output and complaints."""

    def run(command: str, *words: str, text: str = CHAIN) -> tuple[int, str, str]:
        path = tmp_path / "model.lcn"
        path.write_text(text)
        code = main([command, str(path), *words])
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs a command which argparse refuses, and returns the complaint."""

    def run(*words: str) -> str:
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 2
        return capsys.readouterr().err

    return run


# What is typed.


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("P(a|b,c)",), "a comma stands between formulas"),
        (("P(a∣b)",), "the bar is not the plain one"),
        (("P(a => b)",), "Implication is ->"),
        (("0.2 < P(a)",), "decide {file} 'P(a) >= 0.5'"),
        (("P(a) = 0.3",), "decide {file} 'P(a) >= 0.5'"),
        (("P(a) > 20%",), "decide {file} 'P(a) >= 20%'"),
        (("P(A)",), "Did you mean a?"),
        (("P(C = red)",), "variable C in"),
        (("P(a)", "--evidence", "b:true"), "Write a or !a"),
        (("P(a)", "--evidence", "b=1"), "Write b or !b"),
        (("P(a)", "--evidence", "P(b)=1"), "without P"),
        (("P(a)", "--certificate", "missing/a.cert"), "there is no folder missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_slip_in_a_question_says_what_to_write(ask: Ask, tmp_path: Path, words: tuple[str, ...], told: str):
    code, out, err = ask("query", *words)
    assert (code, out) == (2, "")
    assert told.format(file=tmp_path / "model.lcn") in err


def test_what_is_advised_instead_of_a_question_with_a_bound_can_be_asked(ask: Ask):
    for question in ("P(a) = 0.3", "P(a) > 20%", "0.2 < P(a)", "P(a) = ?"):
        _, _, err = ask("query", question)
        (advised,) = re.findall(r"`credalog decide \S+ '(.*)'`", err)
        assert ask("decide", advised)[0] in (0, 5)


def test_a_file_that_is_none_of_ours_is_told_from_a_model(ask: Ask, tmp_path: Path, capsys):
    (tmp_path / "packed.cert").write_bytes(gzip.compress(b"{}"))
    (tmp_path / "well.lcn").write_text("P(a) = 0.5")
    (tmp_path / "well.txt").write_text("P(a) = 0.5")
    for name, told in (
        ("packed.cert", "a certificate is named after its model"),
        (".", "Name a file in it."),
        ("well", f"Did you mean {tmp_path / 'well.lcn'}?"),
    ):
        assert main(["query", str(tmp_path / name), "P(a)"]) == 2
        assert told in capsys.readouterr().err
    assert ask("query", "P(a)", text='{"format": "credalog-certificate"}')[2].startswith(
        "error: this is JSON"
    )


@pytest.mark.parametrize("damage", [b"P(a) = 0.3\n", b"\x1f\x8b0123"])
def test_a_file_that_is_no_certificate_is_refused_with_what_to_do(ask: Ask, tmp_path: Path, damage: bytes):
    (tmp_path / "a.cert").write_bytes(damage)
    code, _, err = ask("verify", str(tmp_path / "a.cert"))
    assert code == 5
    assert "Name a file that `--certificate` wrote" in err


def test_all_queries_are_read_before_the_first_is_computed(ask: Ask):
    code, out, err = ask("query", "P(a)", "P(zz)", "P(b)")
    assert (code, out) == (2, "")
    assert "P(zz)" in err


def test_all_statements_are_read_before_the_first_is_decided(ask: Ask):
    code, out, err = ask("decide", "P(a) >= 0.1", "P(zz) >= 0.1")
    assert (code, out) == (2, "")
    assert "P(zz)" in err


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_question_that_fails_costs_no_other_its_answer(ask: Ask, jobs: str):
    code, out, err = ask("query", "P(a)", "P(a | n)", "P(b)", "--jobs", jobs)
    assert code == 4
    assert [line.split()[0] for line in out.splitlines()] == ["query", "P(a)", "P(b)"]
    assert err.startswith("error: P(a | n): ")


def test_a_failed_question_has_its_place_in_json(ask: Ask):
    _, out, _ = ask("query", "P(a | n)", "P(b)", "--json", "--jobs", "2")
    assert [(one["query"], one["status"]) for one in json.loads(out)] == [
        ("P(a | n)", "FAILED"),
        ("P(b)", "EXACT"),
    ]


def test_a_statement_that_fails_costs_no_other_its_verdict(ask: Ask):
    code, out, err = ask("decide", "P(a) >= 0.1", "P(a | n) >= 0.5", "P(b) >= 0.9")
    assert code == 4
    assert "P(a) >= 0.1" in out
    assert "P(b) >= 0.9" in out
    assert "P(a | n) >= 0.5" in err


@pytest.mark.parametrize("command", ["query", "decide", "explain"])
def test_evidence_is_taken_by_every_question(ask: Ask, command: str):
    asked = "P(a) >= 0.5" if command == "decide" else "P(a)"
    code, out, _ = ask(command, asked, "--evidence", "b")
    assert code == 0
    assert "P(a | b)" in out


def test_standard_input_is_a_file_called_minus(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO(CHAIN))
    assert main(["query", "-", "P(a)"]) == 0
    assert "0.200000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("marginals", "--window", "2"), "--method sound"),
        (("marginals", "--method", "bp", "--window", "2"), "--method sound"),
        (("marginals", "--method", "bp", "--jobs", "2"), "one question at a time"),
        (("explain", "P(a)", "--within", "0.1"), "--measure"),
        (("query", "P(a)", "--witnesses"), "--json"),
        (("map", "--alpha", "0.3"), "--criterion hurwicz"),
        (("query", "P(a)", "--method", "nilsson"), "--markov none"),
        (("query", "P(a and b)", "--method", "bp"), "--method auto"),
        (("explain", "P(a)", "--measure", "P(zz)"), "P(zz)"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(ask: Ask, words: tuple[str, ...], advice: str):
    code, out, err = ask(*words)
    assert (code, out) == (2, "")
    assert advice in err


@pytest.mark.parametrize(
    "words",
    [
        ("query", "a.lcn", "P(a)", "--tolerance", "2"),
        ("query", "a.lcn", "P(a)", "--timeout", "-1"),
        ("query", "a.lcn", "P(a)", "--timeout", "nan"),
        ("query", "a.lcn", "P(a)", "--jobs", "0"),
        ("map", "a.lcn", "--top", "0"),
        ("explain", "a.lcn", "P(a)", "--measure", "P(b)", "--within", "2"),
        ("map", "a.lcn", "--alpha", "2"),
        ("check", "a.lcn", "--markov", "paper"),
        ("marginals", "a.lcn", "--window", "x"),
        ("marginals", "a.lcn", "--window", "-1"),
    ],
    ids=" ".join,
)
def test_a_number_that_makes_no_sense_is_refused(refused: Callable[..., str], words: tuple[str, ...]):
    assert words[-2] in refused(*words)


@pytest.mark.parametrize(
    "words",
    [
        ("query", "P(a)", "--certificate"),
        ("graph", "-o"),
        ("ground", "-o"),
        ("widen", "--by", "0.1", "-o"),
        ("repair", "-o"),
        ("maxent", "-o"),
        ("convert",),
    ],
    ids=" ".join,
)
def test_what_a_command_makes_does_not_take_the_place_of_its_model(
    ask: Ask, tmp_path: Path, words: tuple[str, ...]
):
    code, _, complaint = ask(*words, str(tmp_path / "model.lcn"))
    assert (code, (tmp_path / "model.lcn").read_text()) == (2, CHAIN)
    assert "is the model itself" in complaint


def test_what_a_command_makes_does_not_take_the_place_of_its_data(ask: Ask, tmp_path: Path):
    table = tmp_path / "cases.csv"
    table.write_text("a\n1\n")
    code, _, complaint = ask("learn", str(table), "-o", str(table), text="P(a) = ?\n")
    assert (code, table.read_text()) == (2, "a\n1\n")
    assert "is what is read" in complaint


@pytest.mark.parametrize("words", [("ground", "-o"), ("widen", "--by", "0.1", "-o"), ("repair", "-o")])
def test_a_text_is_not_written_under_the_name_of_another_form(
    ask: Ask, tmp_path: Path, words: tuple[str, ...]
):
    code, _, complaint = ask(*words, str(tmp_path / "out.bif"))
    assert (code, (tmp_path / "out.bif").exists()) == (2, False)
    assert "out.lcn" in complaint


@pytest.mark.parametrize("seconds", ["inf", "1e300"])
def test_a_limit_without_end_is_no_limit(ask: Ask, recwarn: pytest.WarningsRecorder, seconds: str):
    code, _, err = ask("query", "P(a)", "--timeout", seconds)
    assert (code, err) == (0, "")
    # An error in the thread of the alarm is a warning of pytest.
    assert not recwarn.list


def test_a_certificate_that_is_not_there_is_no_raw_error(ask: Ask):
    code, _, complaint = ask("verify", "no such file")
    assert code == 2 and "Check the name" in complaint


def test_an_argument_that_may_be_left_out_is_not_asked_for(refused: Callable[..., str]):
    assert "QUERY" not in refused("verify", "a.lcn").splitlines()[-1]


@pytest.mark.parametrize("words", ["a,b", "a b", "a;b", "a and b", "a|b", "a / b"])
def test_variables_in_one_word_are_told_apart(ask: Ask, words: str):
    code, _, complaint = ask("map", "--variables", words)
    assert code == 2 and "with blanks between them: a b;" in complaint


@pytest.mark.parametrize("word", ["P(a)", "a=true", "!a", "not a", "a:1"])
def test_a_variable_is_named_alone(ask: Ask, word: str):
    code, _, complaint = ask("map", "--variables", word)
    assert code == 2 and "Name the variable alone: a." in complaint


def test_variables_may_be_named_one_after_the_other(ask: Ask):
    _, out, _ = ask("map", "--variables", "a", "--variables", "b", "--json")
    assert json.loads(out)["variables"] == ["a", "b"]


def test_a_question_may_begin_with_a_minus(ask: Ask):
    code, out, _ = ask("query", "-P(a)", "-2 P(a)", "--json")
    assert (code, len(json.loads(out))) == (0, 2)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("decide", "model.lcn 'P(a | b) >= 0.5'"),
        ("learn", "model.lcn cases.csv"),
        ("verify", "model.lcn model.cert"),
        ("convert", "model.lcn model.bif"),
        ("map", "model.lcn"),
    ],
)
def test_what_is_missing_is_shown(refused: Callable[..., str], command: str, told: str):
    words = () if command == "map" else ("model.lcn",)
    assert refused(command, *words).rstrip().endswith(f"credalog {command} {told}")


def test_a_name_is_told_as_it_was_written(ask: Ask):
    code, _, complaint = ask("independences", "a and b")
    assert code == 2 and "no variable a and b" in complaint


@pytest.mark.slow
def test_check_asks_under_any_markov_condition(ask: Ask):
    # Without the independence of x and y nothing forbids P(x and y) = 0.
    text = "P(x) = 0.5\nP(y) = 0.5\nP(x and y) = 0 ; tau=False\n"
    assert ask("check", text=text)[0] == 3
    assert ask("check", "--markov", "none", text=text)[0] == 0


def test_check_says_which_sentence_ties_which_atoms(ask: Ask):
    text = "P(mi & pe) <= 0.2\nloose: P(a & b) <= 0.2 ; tau=False\nP(c) = 0.5\n"
    _, out, _ = ask("check", text=text)
    (line,) = (line for line in out.splitlines() if line.strip().startswith("tied"))
    assert "mi, pe, by " in line
    assert "model.lcn:1" in line
    found = json.loads(ask("check", "--json", text=text)[1])
    assert [one["ties"] for one in found["ties"]] == [["mi", "pe"]]


def test_a_weight_goes_by_every_name_that_the_report_prints(ask: Ask):
    text = "P(a) >= 0.6\nP(a) <= 0.4\n"
    _, out, _ = ask("check", text=text)
    place = next(line.split()[0] for line in out.splitlines() if line.strip().endswith("P(a) <= 1"))
    for name in (place, Path(place).name):
        _, out, _ = ask("check", "--weight", f"{name}=inf", "--json", text=text)
        changed = [one["source"] for one in json.loads(out)["diagnosis"]["repair"]["changes"]]
        assert changed == [place.replace(":1", ":2")]


def test_decide_takes_small_thresholds_and_shows_all_of_them(ask: Ask):
    _, out, _ = ask("decide", "P(a) >= 1e-3", "P(a) <= 0.123456789", "--json")
    first, second = json.loads(out)
    assert (first["threshold"], first["verdict"]) == (0.001, "CERTAIN")
    assert (second["threshold"], second["verdict"]) == (0.123456789, "EXCLUDED")
    assert "0.123456789" in ask("decide", "P(a) <= 0.123456789")[1]


def test_help_is_a_word_too(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        main(["help", "query"])
    assert stop.value.code == 0
    assert "usage: credalog query" in capsys.readouterr().out


def test_more_jobs_than_questions_are_no_more_processes(ask: Ask):
    assert ask("query", "P(a)", "--jobs", "1000")[0] == 0


def test_a_failure_in_json_names_the_statement_once(ask: Ask):
    code, out, _ = ask("decide", "P(a | n) >= 0.5", "P(a) >= 0.1", "--json")
    failed, decided = json.loads(out)
    assert (code, failed["statement"], failed["status"]) == (4, "P(a | n) >= 0.5", "FAILED")
    assert "P(a | n)" not in failed["error"]
    assert decided["verdict"] == "CERTAIN"


# What is printed.


def test_an_estimate_has_no_gap(ask: Ask):
    _, out, _ = ask("marginals", "--method", "printed", text="0.2 <= P(a) <= 0.3\n")
    assert out.splitlines()[1].split()[4] == "?"


def test_no_answer_is_not_a_number(ask: Ask):
    code, out, _ = ask("maxent", "P(a | n)")
    assert code == 0
    assert "undefined" in out
    assert "nan" not in out.lower()
    _, out, _ = ask("maxent", "P(a | n)", "--json")
    assert json.loads(out, parse_constant=pytest.fail)["queries"][0]["probability"] is None


def test_maxent_prints_no_digit_that_it_does_not_know(ask: Ask):
    # The greatest entropy is at P(a) = 0.5, and it is proved up to some gap only.
    _, out, _ = ask("maxent", "P(a)", text="0.2 <= P(a) <= 0.9\n")
    assert out.split()[-1].rstrip("0") == "0.5"


def test_the_gap_of_bounds_that_meet_is_known(ask: Ask):
    _, out, _ = ask("marginals", "--method", "sound", text="P(a) = 0.5\n")
    gap = float(out.splitlines()[1].split()[4].lstrip("≤"))
    assert gap <= 1e-12


def test_an_answer_that_says_nothing_says_why(ask: Ask):
    _, _, err = ask("query", "P(d | s)", text="P(s | d) = 0.9\n")
    assert "d stands in conditions only" in err


def test_a_claim_under_one_condition_alone_is_told(ask: Ask):
    half = "P(a) = 0.5\nP(b | a) >= 0.4\n"
    _, _, err = ask("query", "P(b | !a)", text=half)
    assert "b is bounded only given a" in err
    _, _, err = ask("query", "P(b | a)", text="P(a) <= 0.5\nP(b | a) >= 0.4\n")
    assert "bounded only" not in err


def test_impossible_evidence_has_advice_whoever_finds_it(ask: Ask):
    for method in ("points", "sets", "factorized"):
        code, _, err = ask(
            "query", "P(b | a)", "--method", method, text="P(a) = 0\nP(b | a) = 0.5\nP(b | !a) = 0.5\n"
        )
        assert (code, "Weaken the evidence" in err) == (4, True), (method, err)


def test_map_lists_all_there_is(ask: Ask):
    _, out, _ = ask("map", "--variables", "a", "--top", "9", "--json")
    assert json.loads(out)["is_complete"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal is POSIX")
def test_the_progress_line_is_gone_before_the_table(tmp_path: Path):
    path = tmp_path / "model.lcn"
    path.write_text(CHAIN)
    script = (
        "import sys; from credalog.cli import main; from credalog.cli import progress; progress.PAUSE = 0.0\n"
        "from credalog.methods.answer import Progress\nfrom credalog.lcn import LCN\nfinished = LCN.query\n"
        "def query(*words, report, **options):\n"
        "    report(Progress('lower', 0.1, 0.2, 0.0))\n    return finished(*words, **options)\n"
        "LCN.query = query\nsys.exit(main(sys.argv[1:]))"
    )
    leader, follower = pty.openpty()
    command = [sys.executable, "-c", script, "query", str(path), "P(a)"]
    subprocess.run(command, stdout=follower, stderr=follower, check=True, timeout=60)
    os.close(follower)
    seen = os.read(leader, 100_000).decode()
    os.close(leader)
    progress, _, table = seen.rpartition("\r\x1b[K")
    assert "bound 0.1" in progress
    assert table.lstrip("\x1b[0123456789m").startswith("query")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["numpy", "credalog.lcn"])
def test_control_c_while_modules_are_imported_is_no_traceback(tmp_path: Path, module: str):
    path = tmp_path / "model.lcn"
    path.write_text(CHAIN)
    script = (
        "import sys\nclass Stop:\n    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from credalog.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "maxent", str(path), "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 130
    assert "Traceback" not in ended.stderr
    assert json.loads(ended.stdout)["status"] == "INTERRUPTED"


def test_marginals_of_a_file_that_says_nothing_are_none(ask: Ask):
    code, _, complaint = ask("marginals", text="# nothing yet\n")
    assert code == 0
    assert "says nothing" in complaint


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("P(red)", "It is a value of Color: write Color = red."),
        ("P(Color = Red)", "Did you mean red?"),
        ("P(Q(u+1))", "domain Day = 1..7"),
        ("P(u)", "It is an element"),
    ],
)
def test_what_stands_in_the_wrong_place_is_told_where_it_belongs(ask: Ask, question: str, told: str):
    declared = "domain D = {u, v}\npredicate Q(D)\nforall x in D: P(Q(x)) >= 0.1\n"
    plain = "variable Color in {red, green, blue}\nP(Color = red) >= 0.2\n"
    code, _, complaint = ask("query", question, text=declared if "u" in question else plain)
    assert code == 2 and told in complaint


def test_a_threshold_that_cannot_be_is_told_before_anything_is_decided(ask: Ask):
    code, out, complaint = ask("decide", "P(a) >= 0.1", "P(b) >= 1.5")
    assert (code, out) == (2, "")
    assert "1.5 is no probability" in complaint and "P(b) >= 1.5" in complaint
    assert ask("decide", "2 P(b) >= 1.5")[0] == 0


def test_evidence_that_cannot_be_is_told_once_of_all_marginals(ask: Ask):
    code, _, complaint = ask("marginals", "--evidence", "n")
    assert (code, complaint.count("error: ")) == (4, 1)


def test_a_folder_without_data_is_not_passed_over_in_silence(ask: Ask, tmp_path: Path):
    (tmp_path / "data").mkdir()
    code, _, complaint = ask("query", "P(a)", "--data", str(tmp_path / "data"))
    assert code == 2 and "there are no data in the folder" in complaint


@pytest.mark.parametrize(
    ("closed", "told"),
    [("stdin", "error: standard input is closed"), ("stdout", "error: standard output is closed")],
)
def test_a_stream_that_is_closed_is_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, closed: str, told: str
):
    monkeypatch.setattr(f"sys.{closed}", None)
    assert main(["query", "-", "P(a)"]) == 2
    assert capsys.readouterr().err.startswith(told)


def test_standard_input_is_not_read_twice(capsys: pytest.CaptureFixture[str]):
    assert main(["batch", "-", "-"]) == 2
    assert "cannot be both the model and the questions" in capsys.readouterr().err


def test_a_number_in_quotes_is_no_constant(ask: Ask):
    code, _, complaint = ask("query", "P(a)", text='P(a) = "0.3"\n')
    assert code == 2 and "Write it without: 0.3" in complaint


def test_a_table_is_told_from_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "cases.csv").write_text("a,b\n1,0\n")
    assert main(["query", str(tmp_path / "cases.csv"), "P(a)"]) == 2
    assert "is a table, not a model" in capsys.readouterr().err


def test_data_that_a_file_cannot_take_are_not_passed_over(
    ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    net = tmp_path / "net.uai"
    net.write_text("BAYES\n1\n2\n1\n1 0\n2\n0.4 0.6\n")
    assert main(["marginals", str(net)]) == 0
    assert main(["marginals", str(net), "--data", str(tmp_path / "model.lcn")]) == 2
    assert "takes no data" in capsys.readouterr().err
    _, _, complaint = ask("query", "P(a)", "--data", str(tmp_path / "model.lcn"))
    assert "Data are a JSON object" in complaint


def test_an_option_of_another_command_is_told_whose_it_is(refused: Callable[..., str]):
    assert "It is an option of marginals." in refused("query", "a.lcn", "P(a)", "--window", "2")
    assert "credalog query --help" in refused("query", "a.lcn", "P(a)", "--quux", "2")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("version",), "--version"),
        (("QUERY", "m.lcn", "P(a)"), "Did you mean query?"),
        (("--timeout", "5", "query"), "The command comes first"),
        (("",), "--help"),
        (("query", "m.lcn", "P(a)", "--method"), "one of auto, points"),
        (("play", "--port", "abc"), "--port 8000"),
        (("query", "m.lcn", "P(a)", "--evidence"), "After --evidence follows FORMULA"),
        (
            ("--json", "query", "m.lcn", "P(a)"),
            "Options follow it: credalog query model.lcn 'P(a | b)' --json",
        ),
        (("query", "--file", "m.lcn", "P(a)"), "It stands without an option"),
        (("query", "m.lcn", "P(a)", "--exact"), "credalog query --help"),
        (("query", "m.lcn", "P(a)", "--format", "json"), "Did you mean --json?"),
        (("query", "m.lcn", "P(a)", "-timeout", "3"), "Did you mean --timeout?"),
        (("repair", "m.lcn", "--weight", "3"), "--weight expert.lcn=2"),
        (("marginals", "m.lcn", "--window", "-1"), "--window 3"),
        (("graph", "m.lcn", "--svg", "--dot"), "Choose one of the two."),
        (("check", "m.lcn", __file__), "One file at a time"),
    ],
)
def test_a_word_in_another_place_or_form_is_told_its_own(
    refused: Callable[..., str], words: tuple[str, ...], told: str
):
    assert told in refused(*words)


def test_a_name_with_blanks_that_lost_its_quotes_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "my model.lcn").write_text("P(a) = 0.3\n")
    assert main(["query", str(tmp_path / "my"), "model.lcn", "P(a)"]) == 2
    assert f'"{tmp_path / "my model.lcn"}"' in capsys.readouterr().err


def test_an_empty_name_of_a_file_is_told_what_it_stands_for(capsys: pytest.CaptureFixture[str]):
    assert main(["query", "", "P(a)"]) == 2
    assert "An empty name stands for this folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("query", "other.lcn"), "this is the name of a file, not a question"),
        (("query", "-"), "standard input stands in the place of the file"),
        (("query", "P(a)", "--evidence", "seen.txt"), "this is the name of a file, not a formula"),
        (("query", "P(a)", "--evidence", "heavy rain"), 'it stands in quotes: "heavy rain"'),
        (
            ("query", "P(\u0430)"),
            "Did you mean a? They look alike, but \u0430 here is CYRILLIC SMALL LETTER A.",
        ),
        (("query", "P(\uff41)"), "FULLWIDTH LATIN SMALL LETTER A"),
        (("learn", "-"), "Standard input stands only for the model or for questions"),
    ],
)
def test_what_stands_in_the_wrong_place_is_named(ask: Ask, words: tuple[str, ...], told: str):
    code, shown, complaint = ask(*words)
    assert (code, shown) == (2, "")
    assert told in complaint


def test_an_advised_command_reads_the_model_from_where_it_was_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"P(a) = 0.3\n")))
    assert main(["run", "-"]) == 2
    assert "`credalog query - 'P(a | b)'`" in capsys.readouterr().err


def test_names_that_look_alike_are_told_by_check(ask: Ask):
    _, shown, _ = ask("check", text="P(\u0430) = 0.3\nP(b | a) = 0.5\n")
    assert "which are two names: one is '\\u0430'" in shown
    assert "look alike" not in ask("check", text="P(gr\u00f6\u00dfe) = 0.3\nP(b | a) = 0.5\n")[1]


def test_a_variable_that_loses_its_blank_is_offered_only_as_it_is_written(ask: Ask):
    _, _, complaint = ask("map", "--variables", "heavy", "rain", text='P("heavy rain") = 0.3\n')
    assert "Did you mean heavy rain?" in complaint


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_the_exit_code_tells_what_a_full_disk_keeps_from_being_said(tmp_path: Path):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "credalog", "query", str(tmp_path / "missing.lcn"), "P(a)"]
        assert subprocess.run(command, stderr=full, check=False).returncode == 2


def test_python_may_leave_out_assertions_and_documentation(tmp_path: Path):
    path = tmp_path / "model.lcn"
    path.write_text(CHAIN)
    # Some module is then the first of its cycle of late imports: each command begins with another.
    for words in (["check", str(path)], ["query", str(path), "P(b)"]):
        done = subprocess.run(
            [sys.executable, "-OO", "-m", "credalog", *words], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_an_interval_of_one_number_is_not_said_to_be_open(ask: Ask):
    code, shown, notes = ask("query", "P(a) - P(a)")
    assert (code, notes) == (0, "")
    assert "0.000000  0.000000" in shown


@pytest.mark.parametrize(("upper", "notes"), [(0.149 + 6e-17, 0), (0.149 + 1e-12, 0), (0.2, 1)])
def test_one_number_is_not_said_to_be_wider_than_it_may_be(
    upper: float, notes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = SimpleNamespace(
        query="P(a)", interval="", status=Status.BOUNDED, tried=("cliques",), lower=0.149, upper=upper
    )
    _tell_of_open_ends([answer])
    assert capsys.readouterr().err.count("may be narrower") == notes
