"""Files that are no certificates, or no longer: refused with a message, never with a traceback."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from random import Random

import pytest

from credalog import LCN, CredalogError, parse
from credalog.cli import main
from credalog.text.packed import MOST_BYTES
from credalog.verify import verify

CREDAL = """
0.2 <= P(a) <= 0.7
0.6 <= P(b | a) <= 0.9
0.1 <= P(b | !a) <= 0.3
0.5 <= P(c | b) <= 0.8
0.1 <= P(c | !b) <= 0.4
"""
LINKED = "0.2 <= P(a) <= 0.4\n0.3 <= P(b) <= 0.5\n0.4 <= P(a or b) <= 0.6"
HEAD = {"format": "credalog certificate", "version": 1, "markov": "local"}


def certified(text: str, asked: str) -> tuple[LCN, list[str]]:
    lcn = parse(text)
    certificate = lcn.query(asked).certificate()
    assert not certificate.missing
    return lcn, certificate.text.splitlines()


def is_true(claim: str, values: tuple[float, float]) -> bool:
    """Tell whether a claim about the one question is true, given the least and the greatest value."""
    number = float(claim.rsplit("= ", maxsplit=1)[-1].split(maxsplit=1)[0]) if "= " in claim else None
    if number is None:
        return False
    if ">=" in claim:
        return number <= values[0] + 1e-8
    if "<=" in claim:
        return number >= values[1] - 1e-8
    return values[0] - 1e-4 <= number <= values[1] + 1e-4


def flipped(data: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(data))
    return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]


def cut_out(data: bytes, rng: Random) -> bytes:
    start, end = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[:start] + data[end:]


def repeated(data: bytes, rng: Random) -> bytes:
    start, end = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[:end] + data[start:]


@pytest.mark.parametrize("change", [flipped, cut_out, repeated])
@pytest.mark.parametrize(("text", "asked"), [(CREDAL, "P(a | c)"), (LINKED, "P(a and b)")])
def test_changed_bytes_prove_nothing_false(text: str, asked: str, change: Callable[[bytes, Random], bytes]):
    lcn, lines = certified(text, asked)
    answer, rng, data = lcn.query(asked), Random(3), "\n".join(lines).encode()
    network, seen = lcn.ground(), 0
    for _ in range(60):
        changed = change(data, rng).decode(errors="replace").splitlines()
        try:
            claims = list(verify(network, changed))
        except CredalogError:
            continue
        seen += 1
        # A letter of the question itself may have changed: then it is another question, asked anew.
        for claim in (claim for claim in claims if asked in claim):
            assert is_true(claim, (answer.lower, answer.upper)), claim
    assert seen < 60


@pytest.mark.parametrize(
    "line",
    [
        '{"claim": "lower"' + "[" * 100_000,
        "[" * 200_000,
        '{"claim": "lower", "query": "' + "(" * 20_000 + '"}',
        '{"claim": "lower", "query": "P(a)", "bound": NaN}',
        '{"claim": "lower", "query": "P(a)", "bound": 1e999}',
        '{"claim": "lower", "query": "P(a)", "bound": "٣"}',
        '{"claim": "lower", "query": "P(a)", "bound": "1/0", "nodes": [], "groups": []}',
        '{"claim": "lower", "query": "P(a)", "bound": "' + "9" * 100_000 + '"}',
        '{"claim": "model", "query": "P(a)", "value": "0", "within": "-1", "residual": "0", "factors": []}',
        '{"claim": "model", "query": "P(a)", "value": "0", "within": "1", "residual": "-1", "factors": [7]}',
        '{"claim": "lower", "query": "P(a)", "bound": "0", "groups": null, "nodes": null}',
        '{"claim": "lower", "query": null}',
        '{"claim": ["lower"], "query": "P(a)", "bound": "0"}',
        '{"query": "P(a)"}',
        "null",
        "7",
        '"lower"',
        "",
        "\x00",
        '{"claim": "lower", "query": "P(a) - P(b)", "bound": "0"}',
        '{"claim": "lower", "query": "P(zzz)", "bound": "0", "groups": [], "nodes": []}',
    ],
)
def test_what_is_no_claim_is_refused_without_a_traceback(line, tmp_path, capsys):
    model, file = tmp_path / "m.lcn", tmp_path / "c.cert"
    model.write_text(LINKED, encoding="utf-8")
    head = json.dumps({**HEAD, "network": parse(LINKED).ground().digest})
    file.write_text(f"{head}\n{line}\n", encoding="utf-8")
    assert main(["verify", str(model), str(file)]) == 5
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert "every model" not in captured.out


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_a_large_one_is_not_read_to_its_end(tmp_path, capsys):
    model, file = tmp_path / "m.lcn", tmp_path / "c.cert"
    model.write_text(LINKED, encoding="utf-8")
    with gzip.open(file, "wb", compresslevel=1) as packed:
        for _ in range((MOST_BYTES >> 24) + 1):
            packed.write(bytes(1 << 24))
    assert main(["verify", str(model), str(file)]) == 2
    assert "has over 256 MB" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "asked"), [(CREDAL, "P(a | c)"), (LINKED, "P(a and b)")])
def test_a_certificate_is_about_one_network_to_the_last_digit(text, asked, tmp_path, capsys):
    _, lines = certified(text, asked)
    file = tmp_path / "c.cert"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for old, new in (("0.2 <=", "0.2000000000000001 <="), ("<= 0.4", "<= 0.5"), ("P(a)", "P(!a)")):
        model = tmp_path / "m.lcn"
        model.write_text(text.replace(old, new, 1), encoding="utf-8")
        assert main(["verify", str(model), str(file)]) == 2
        assert "another network" in capsys.readouterr().err


def test_lines_may_be_repeated_and_reordered_only_if_they_still_follow():
    lcn, lines = certified(LINKED, "P(a and b)")
    claims = list(verify(lcn.ground(), lines))
    assert sorted({*verify(lcn.ground(), [*lines, *lines[1:]])}) == sorted({*claims})
    for changed in ([lines[0], *lines], [*lines[1:], lines[0]], lines[1:], [lines[0]], [*lines, lines[0]]):
        with pytest.raises(CredalogError):
            list(verify(lcn.ground(), changed))
