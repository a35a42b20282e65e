"""JSON Schemas: what is written fits, and what is changed in any place does not."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conftest import PROJECT
from credalog.cli import main
from credalog.cli.app import COMMANDS
from credalog.errors import UnknownName
from credalog.schemas import NAMES, schema

EXAMPLES = PROJECT / "examples"
COUGH, CHAIN, SMOKERS = (str(EXAMPLES / f"{name}.lcn") for name in ("cough", "chain", "smokers"))

CONTRADICTION = "s1: 0.1 <= P(a) <= 0.4\ns2: 0.6 <= P(a) <= 0.9\ns3: P(b | a) >= 0.5\n"
COMPARED = (
    "c1: P(a | c) >= P(a | !c)\n0.2 <= P(c) <= 0.4\nindependent a, d\nP(d) = 0.5\nevidence c\nquery P(a)\n"
)
COLOURED = "variable C in {red, green, blue}\n2 P(C = red) + P(C = green) <= 1\nP(a | C = red) = 0.5\n"
UNKNOWN = "s1: P(a) = ?\nP(b | a) = ?\n0.2 <= P(c | b) <= 0.3\n"
TABLE = "a,b\n1,1\n1,0\n0,0\n0,\n"

LINES = {"batch", "progress", "certificate"}

CASES: dict[str, tuple[str, ...]] = {
    "query of a posterior, a quotient and the impossible": (
        "query", COUGH, "P(flu | cough)", "P(flu | cough) / P(flu)", "P(flu) - P(cold)",
        "P(flu | flu & !flu)",
    ),
    "query with witnesses": ("query", SMOKERS, "P(Ca(Tim))", "--witnesses"),
    "query by propagation": ("query", CHAIN, "P(x)", "--method", "bp"),
    "query of colours": ("query", "COLOURED", "P(C = red)", "P(C = red or C = blue)"),
    "marginals": ("marginals", SMOKERS),
    "marginals by propagation": ("marginals", SMOKERS, "--method", "sound"),
    "marginals of colours": ("marginals", "COLOURED", "--evidence", "a"),
    "run": ("run", CHAIN),
    "decide": ("decide", COUGH, "P(flu) >= 0.2", "P(cold) <= 0.5", "P(flu | cough) >= 0.3", "--together"),
    "decide what has no meaning": ("decide", COUGH, "P(flu | flu & !flu) >= 0.2"),
    "decide a difference": ("decide", COUGH, "P(flu) - P(cold) >= 0.2"),
    "check": ("check", SMOKERS),
    "check of a contradiction": ("check", "CONTRADICTION"),
    "check of what is to be learned": ("check", "UNKNOWN"),
    "repair": ("repair", "CONTRADICTION"),
    "repair of what is sound": ("repair", COUGH),
    "ground": ("ground", SMOKERS),
    "ground across conditions": ("ground", "COMPARED"),
    "ground of sums": ("ground", "COLOURED"),
    "widen": ("widen", CHAIN, "--by", "0.02"),
    "graph": ("graph", SMOKERS),
    "independences": ("independences", SMOKERS),
    "map": ("map", COUGH, "--top", "3"),
    "map by hurwicz": ("map", COUGH, "--criterion", "hurwicz", "--alpha", "0.25"),
    "explain": ("explain", COUGH, "P(flu | cough)", "--measure", "P(cold)"),
    "explain of learned sentences": ("explain", "LEARNED", "P(b)"),
    "measure": ("measure", COUGH, "P(flu | cough)"),
    "maxent": ("maxent", COUGH, "P(flu)", "P(flu | cough)"),
    "learn": ("learn", "UNKNOWN", "TABLE"),
    "learn by wilson": ("learn", "UNKNOWN", "TABLE", "--method", "wilson", "--simultaneous", "bonferroni"),
    "convert": ("convert", CHAIN, "OUT.lcn"),
    "examples": ("examples", "OUT"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schemas")
    for name in ("CONTRADICTION", "COMPARED", "COLOURED", "UNKNOWN"):
        (path / f"{name}.lcn").write_text(globals()[name], encoding="utf-8")
    (path / "TABLE.csv").write_text(TABLE, encoding="utf-8")
    words = ["learn", str(path / "UNKNOWN.lcn"), str(path / "TABLE.csv"), "-o", str(path / "LEARNED.lcn")]
    assert main(words) == 0
    return path


@pytest.fixture(scope="module")
def outputs(folder: Path) -> dict[str, Any]:
    """What was written for each case; one that is asked for twice is computed once."""
    return {}


def written(case: str, outputs: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    if case not in outputs:
        words = [_path(word, folder) for word in CASES[case]]
        capsys.readouterr()
        main([*words, "--json"])
        outputs[case] = json.loads(capsys.readouterr().out)
    return outputs[case]


def _path(word: str, folder: Path) -> str:
    if word == "TABLE":
        return str(folder / "TABLE.csv")
    if word.startswith("OUT"):
        return str(folder / word)
    return str(folder / f"{word}.lcn") if word.isupper() and word.isalpha() and len(word) > 4 else word


def errors(name: str, value: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(schema(name)).iter_errors(value)]


# ---- what is written fits -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_what_a_command_writes_fits_its_schema(
    case: str, outputs: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]
):
    found = written(case, outputs, folder, capsys)
    assert found
    assert not errors(CASES[case][0], found)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one_and_stands_by_itself(name: str, capsys: pytest.CaptureFixture[str]):
    Draft202012Validator.check_schema(schema(name))
    assert main(["schema", name]) == 0
    assert json.loads(capsys.readouterr().out) == schema(name)


def test_every_command_that_writes_json_has_a_schema_and_a_case():
    writing = {c.name for c in COMMANDS if any(a.name == "--json" for a in c.arguments)}
    assert writing == set(NAMES) - LINES
    assert writing - {case[0] for case in CASES.values()} == {"play", "verify"}


def test_schemas_are_listed_and_an_unknown_one_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["schema"]) == 0
    assert capsys.readouterr().out.split() == list(NAMES)
    assert main(["schema", "nonsense"]) == 2
    assert "query" in capsys.readouterr().err
    with pytest.raises(UnknownName):
        schema("nonsense")


def test_what_was_stopped_fits_any_command():
    for name in set(NAMES) - LINES:
        assert not errors(name, {"status": "INTERRUPTED", "is_interrupted": True})


# ---- lines --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(folder: Path) -> list[dict[str, Any]]:
    lines, many = [], folder / "many.lcn"
    people = ", ".join(f"p{n}" for n in range(60))
    many.write_text(
        Path(SMOKERS).read_text(encoding="utf-8").replace("Tam}", f"Tam, {people}}}"), encoding="utf-8"
    )
    commands = (
        ["query", COUGH, "P(flu | cough)", "P(cold and fever)"],
        ["query", str(many), "P(Ca(Tim))"],
        ["query", SMOKERS, "P(Ca(Tim) or Ca(Tom))"],
        ["check", str(folder / "CONTRADICTION.lcn")],
        ["map", COUGH],
    )
    for number, words in enumerate(commands):
        path = folder / f"{number}.proof"
        main([*words, "--certificate", str(path)])
        lines += [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return lines


def test_every_line_of_a_certificate_fits(certificates: list[dict[str, Any]]):
    assert {line.get("claim") for line in certificates} == {None, "lower", "upper", "model", "best"}
    assert any("slice" in line for line in certificates) and any("few" in line for line in certificates)
    assert not [error for line in certificates for error in errors("certificate", line)]


def test_a_certificate_is_verified_in_its_schema(
    folder: Path, certificates: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
):
    capsys.readouterr()
    assert main(["verify", COUGH, str(folder / "0.proof"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verified"]
    assert not errors("verify", found)


def test_every_line_of_progress_fits(capsys: pytest.CaptureFixture[str]):
    assert main(["query", SMOKERS, "P(Ca(Tim))", "--json", "--progress"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    assert lines
    assert not [error for line in lines for error in errors("progress", line)]
    changed = [one for line in lines for one in changes(line)]
    assert all(errors("progress", one) for one in changed)


@pytest.mark.slow
def test_every_line_of_a_batch_fits_and_no_other(folder: Path, capsys: pytest.CaptureFixture[str]):
    questions = folder / "questions.txt"
    questions.write_text("P(flu | cough)\nP(nothing)\nP(flu | flu and !flu)\n", encoding="utf-8")
    capsys.readouterr()
    main(["batch", COUGH, str(questions), "--witnesses"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert {line["status"] for line in lines} == {"EXACT", "FAILED"}
    assert not [error for line in lines for error in errors("batch", line)]
    accepted = [one for line in lines for one in changes(line) if not errors("batch", one)]
    assert not accepted


def test_a_changed_line_of_a_certificate_does_not_fit(certificates: list[dict[str, Any]]):
    by_kind = {line.get("claim"): line for line in certificates}
    changed = [one for line in by_kind.values() for one in changes(line) if one != line]
    assert len(changed) > 50
    accepted = [one for one in changed if not errors("certificate", one)]
    assert not accepted


# ---- what is changed does not -------------------------------------------------------------------------

FREE = ("assignment", "parents")
"""Objects whose keys are names of the user's."""

OPTIONAL = {"least", "greatest", "lower_witness", "upper_witness", "learned", "simultaneous", "intervals"}
OPTIONAL |= {"s", "confidence", "strict", "model", "witnesses"}


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where objects are: of a list within others the first, the rest are alike."""
    if isinstance(value, dict):
        yield path
        for key, inner in value.items():
            if key not in FREE:
                yield from objects(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value[: 1 if path else 5]):
            yield from objects(inner, (*path, i))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def changes(value: Any) -> Iterator[Any]:
    """Yield a value with one key missing, misspelt, unknown, or of another type."""
    for path in objects(value):
        keys = [key for key in at(value, path) if key not in OPTIONAL]
        for key in keys:
            for change in ("missing", "misspelt", "other type"):
                copied = copy.deepcopy(value)
                found = at(copied, path)
                old = found.pop(key)
                if change == "misspelt":
                    found[f"{key}s"] = old
                elif change == "other type":
                    found[key] = [{}]
                yield copied
        copied = copy.deepcopy(value)
        at(copied, path)["unknown"] = 1
        yield copied


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_what_is_changed_does_not_fit(
    case: str, outputs: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]
):
    found = written(case, outputs, folder, capsys)
    validator = Draft202012Validator(schema(CASES[case][0]))
    changed = list(changes(found))
    assert changed
    assert not [one for one in changed if validator.is_valid(one)]
