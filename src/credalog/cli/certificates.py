"""Proofs on the command line: verify, and the option of other commands that writes them.

Input: results, or a model and a certificate. Output: a file; or a line per claim that was checked.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credalog.cli.command import (
    ANSWERED,
    JSON,
    MARKOV,
    MODEL,
    SECONDS,
    SHORTEST,
    TIMEOUT,
    Argument,
    Command,
    load_model,
    note,
    time_left,
)
from credalog.cli.output import check_target, write, write_json
from credalog.errors import CredalogError

if TYPE_CHECKING:
    from credalog.lcn import LCN

MOST_MISSING = 5
"""So many ends without a proof are listed."""

CERTIFICATE = Argument(
    "--certificate", "write proofs of the results to this file, for `credalog verify`", "OUT"
)


def reserve(arguments: Namespace) -> None:
    """Leave half of a command's time for the proofs, and see where they will go."""
    check_target(arguments.certificate, model=arguments.file, read=arguments.data or ())
    if arguments.timeout is not None:
        arguments.clock.reserved = arguments.timeout / 2


def write_certificate(model: LCN, results: Sequence[Any], arguments: Namespace) -> None:
    """Write down proofs of results, and say what is missing."""
    # A result has two ends, each with a bound and perhaps one of its condition.
    arguments.clock.reserved = 0.0
    seconds = min(SECONDS, max(time_left(arguments) / max(4 * len(results), 1), SHORTEST))
    found = None
    # The alarm rings once: nothing would end what begins after it.
    if not arguments.clock.is_over:
        with arguments.clock.giving_up():
            found = model.certificate(*results, markov=arguments.markov, timeout=seconds)
            with arguments.clock.silenced():
                write(found.to_bytes(), arguments.certificate)
    if found is None:
        note(f"{arguments.certificate} was not written: the time was up.")
        return
    for missing in found.missing[:MOST_MISSING]:
        note(f"{arguments.certificate} is not complete: {missing}.")
    if len(found.missing) > MOST_MISSING:
        note(f"and {len(found.missing) - MOST_MISSING:,} more.")
    if found.is_interrupted and not arguments.clock.is_over:
        raise KeyboardInterrupt


def verify(arguments: Namespace) -> int:
    """Check a certificate claim by claim; the first step that fails is an error."""
    from credalog.text.packed import lines_of
    from credalog.text.statements import readable
    from credalog.verify import verify as checked

    model = load_model(arguments)
    claims = list[str]()
    with readable(Path(arguments.certificate)):
        lines = lines_of(arguments.certificate)
    for claim in checked(model.verified, lines, markov=arguments.markov):
        claims.append(claim)
        if not arguments.json:
            write(f"{claim}\n")
    if arguments.json:
        write_json({"certificate": arguments.certificate, "verified": claims})
    _require_asked(model, claims, arguments.query)
    return ANSWERED


def _require_asked(model: LCN, claims: Sequence[str], queries: Sequence[str]) -> None:
    """Refuse a certificate that says nothing about a question that was named."""
    for asked in (str(model.question(text)) for text in queries):
        if not any(asked in claim for claim in claims):
            raise CredalogError(
                f"the certificate says nothing about {asked}",
                advice="Leave the question out to see what it is about.",
            )


CERTIFYING = (
    Command(
        "verify",
        "check the proofs in a certificate, without any solver",
        (
            *MODEL,
            TIMEOUT,
            Argument("certificate", "what --certificate wrote", "CERTIFICATE"),
            Argument("query", "a question that it must be about", "QUERY", nargs="*", default=[]),
            Argument("--markov", "refuse a certificate under another condition", choices=MARKOV.choices),
            JSON,
        ),
        verify,
    ),
)
