"""The command that says what a file amounts to, and whether it contradicts itself: check.

Input: the arguments of the command. Output: counts, ties, and where there is no model, which sentences
conflict and what would settle it; as text or JSON.
"""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from credalog.cli.certificates import CERTIFICATE, reserve, write_certificate
from credalog.cli.command import (
    ANSWERED,
    INTERRUPTED,
    JSON,
    MARKOV,
    MODEL,
    OUTPUT,
    SECONDS,
    TIMEOUT,
    UNDECIDED,
    Argument,
    Command,
    load_model,
    positive,
    seconds_left,
)
from credalog.cli.output import check_text_target, write, write_json
from credalog.errors import CredalogError, InconsistentNetwork

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.network.formulas import Variable
    from credalog.network.sentences import Sentence
    from credalog.network.summary import Summary
    from credalog.questions.diagnose import Conflict, Diagnosis, Repair
    from credalog.questions.repair_options import Repairs

LARGE = 2_000
"""With more variables a contradiction is looked for only where a timeout is given."""

READ_BY_EYE = 20_000
"""Of more variables nobody reads the names."""

MOST_TIES = 5
"""So many sentences that tie atoms are listed."""


def check(arguments: Namespace) -> int:
    """Read and ground a file, say what it amounts to, and whether it contradicts itself."""
    from credalog.network.summary import summarize, ties

    if arguments.certificate is not None:
        reserve(arguments)
    model = load_model(arguments)
    network = model.ground()
    found, tying, queries = summarize(network, model.graph), list(ties(network)), len(model.queries)
    if not arguments.json:
        # What is known at once is said at once.
        write(f"{arguments.file} is well formed.\n")
        _write_lines((*_facts(found), ("queries", f"{queries:,}"), *_wanted(model), *_ties(tying)))
        _write_lines(_alike(network.variables))
        sys.stdout.flush()
    diagnosis = _diagnosis(model, arguments)
    with arguments.clock.silenced():
        if arguments.json:
            diagnosed = None if diagnosis is None else diagnosis.to_dict()
            counted = {"file": arguments.file, **asdict(found), "queries": queries, "wanted": model.wanted}
            tied = [{**s.to_dict(), "ties": _names(s.claim_scope)} for s in tying]
            write_json({**counted, "ties": tied, "diagnosis": diagnosed})
        else:
            _write_lines(_verdict(diagnosis))
            write("".join(f"{line}\n" for line in _findings(diagnosis)))
    if arguments.certificate is not None:
        write_certificate(model, (), arguments)
    return _code(diagnosis)


def _wanted(model: LCN) -> Iterator[tuple[str, str]]:
    if model.wanted:
        statements = "1 statement waits" if model.wanted == 1 else f"{model.wanted:,} statements wait"
        yield "wanted", f"{statements} for data, and say nothing yet: credalog learn"


def _alike(variables: Sequence[Variable]) -> Iterator[tuple[str, str]]:
    """Tell of names that nobody can tell apart by looking: they are two variables, and hardly meant to be."""
    from credalog.grounding.terms import looks

    names = [variable.name for variable in variables] if len(variables) <= READ_BY_EYE else []
    plain = {looks(name): name for name in names if name.isascii()}
    for name in names:
        if not name.isascii() and (twin := plain.get(looks(name))):
            yield "look alike", f"{name} and {twin}, which are two names: one is {name!a}"


def _write_lines(lines: Iterable[tuple[str, str]]) -> None:
    write("".join(f"  {word:<15}{fact}\n" for word, fact in lines))


def _code(found: Diagnosis | None) -> int:
    """Return the exit code that a diagnosis deserves; what nobody looked into is answered."""
    if found is not None and found.is_interrupted:
        return INTERRUPTED
    codes = {"INCONSISTENT": InconsistentNetwork.exit_code, "UNDECIDED": UNDECIDED}
    return ANSWERED if found is None else codes.get(found.verdict.name, ANSWERED)


def _diagnosis(model: LCN, arguments: Namespace) -> Diagnosis | None:
    """Look for a contradiction; in a large network only for as long as the user says."""
    if arguments.timeout is None and len(model.variables) > LARGE:
        return None
    found = model.diagnose(
        timeout=seconds_left(arguments, SECONDS),
        markov=arguments.markov,
        weights=dict(arguments.weight),
    )
    diagnosis: Diagnosis = arguments.clock.timely(found)
    return diagnosis


# ---- what the network amounts to ----------------------------------------------------------------------


def _facts(found: Summary) -> Iterator[tuple[str, str]]:
    declared = f", and {found.declared:,} declared" if found.declared else ""
    least = "at least " if found.uncounted else ""
    unsure = f" ({found.uncounted:,} variables take too long to settle)" if found.uncounted else ""
    wide = found.widest_clique
    yield "atoms", f"{found.variables:,}"
    yield "sentences", f"{found.sentences:,}"
    yield "independences", f"{least}{found.independences:,}{unsure}{declared}"
    yield "cyclic", _cycles(found)
    yield "widest clique", "too wide to tabulate" if wide is None else f"{wide} variables expected"


def _cycles(found: Summary) -> str:
    if not found.cycles:
        return "no"
    sizes = f"{found.cycles[-1]} to {found.cycles[0]}" if len(set(found.cycles)) > 1 else f"{found.cycles[0]}"
    count = len(found.cycles)
    components = f"{count:,} components of {sizes}" if count > 1 else f"one component of {sizes}"
    return f"yes: {components} variables; with their ancestors {found.core:,}"


def _ties(tying: Sequence[Sentence]) -> Iterator[tuple[str, str]]:
    """Say which sentences tie which atoms to each other, as far as that can be listed."""
    from credalog.text.unparse import said

    for n, sentence in enumerate(tying[:MOST_TIES]):
        tied = ", ".join(_names(sentence.claim_scope))
        yield "" if n else "tied", f"{tied}, by {sentence.name}: {said(sentence)}"
    if len(tying) > MOST_TIES:
        yield "", f"and by {len(tying) - MOST_TIES:,} more sentences"


def _names(variables: Iterable[Variable]) -> list[str]:
    return [x.name for x in variables]


# ---- contradictions -----------------------------------------------------------------------------------


def _verdict(found: Diagnosis | None) -> Iterator[tuple[str, str]]:
    verdicts = {
        "": "not looked into: the network is large (give --timeout to try)",
        "CONSISTENT": "yes: a model was found",
        "INCONSISTENT": "no: it is proved that there is no model",
        "UNDECIDED": "not decided: no world or sparse table tried is a model, no slice tried excludes one",
    }
    yield "consistent", verdicts["" if found is None else found.verdict.name]


def _findings(found: Diagnosis | None) -> Iterator[str]:
    """Write what contradicts itself, and what would settle it, in words."""
    if found is not None and found.conflict is not None:
        yield from ("", *_conflict_lines(found.conflict))
        if found.repair is not None:
            yield from ("", *_repair_lines(found.repair))
        elif not found.is_interrupted:
            yield from ("", "No repair was found within the limits.")
    if found is not None and found.is_interrupted:
        yield from ("", "Interrupted: there may be more to find.")


def _conflict_lines(found: Conflict) -> Iterator[str]:
    from credalog.text.unparse import said

    yield f"{found.summary}:"
    for culprit in found.culprits:
        yield f"  {_place(culprit.sentence)}{said(culprit.bound)}"
    yield "(Bounds are dropped, never arrows: the independences are those of the whole network.)"


def _repair_lines(found: Repair) -> Iterator[str]:
    checked = "" if found.is_checked else " (that a model then exists was not confirmed in time)"
    total = float(sum(change.widening for change in found.changes))
    price = "" if abs(total - found.price) < 1e-9 else f", at a price of {found.price:.6g},"
    yield f"Widening bounds by {total:.6g} in all{price} settles it{checked}:"
    yield from _changes(found)
    yield f"No repair costs less than {found.at_least:.6g}."
    if found.proviso:
        yield found.proviso


def _changes(found: Repair) -> Iterator[str]:
    from credalog.text.unparse import said

    for change in found.changes:
        yield f"  {_place(change.before)}{said(change.before)}  becomes  {said(change.after)}"


def _place(sentence: Sentence) -> str:
    # The rows of tables follow what is said.
    source = str(replace(sentence.source, rows=())) if sentence.source else ""
    where = "  ".join(dict.fromkeys(part for part in (sentence.label, source) if part))
    return f"{where}  " if where else ""


def _weight(text: str) -> tuple[str, float]:
    name, separator, number = text.rpartition("=")
    if not separator:
        raise ArgumentTypeError(f"{text} is not of the form NAME=W")
    return name, positive(float)(number)


LIMIT = replace(
    TIMEOUT,
    help="seconds for the whole command (default 30 for a model; in large networks none is looked for)",
)
WEIGHT = Argument(
    "--weight",
    "what widening a sentence costs, by label, place or file (default 1; inf: never), repeatable",
    "NAME=W",
    _weight,
    default=[],
    action="append",
)


def repair(arguments: Namespace) -> int:
    """Offer repairs of a contradiction, and write the file with one of them made."""
    check_text_target(arguments)
    model = load_model(arguments)
    seconds = seconds_left(arguments, SECONDS)
    weights = dict(arguments.weight)
    found = model.repairs(timeout=seconds, markov=arguments.markov, weights=weights, most=arguments.most)
    arguments.clock.silence()
    if arguments.json:
        write_json(found.to_dict())
    else:
        write("".join(f"{line}\n" for line in _repairs_lines(found)))
    if found.is_interrupted and not arguments.clock.is_over:
        return INTERRUPTED
    if not found.repairs:
        return ANSWERED if found.diagnosis.verdict.name == "CONSISTENT" else UNDECIDED
    if arguments.take > len(found):
        raise CredalogError(
            f"there is no repair {arguments.take}: {len(found)} were found", advice="Take one that is listed."
        )
    if arguments.output is not None:
        write(model.mended_text(found[arguments.take - 1]), arguments.output)
    return ANSWERED


def _repairs_lines(found: Repairs) -> Iterator[str]:
    if found.diagnosis.conflict is not None:
        yield from _conflict_lines(found.diagnosis.conflict)
    if not found.repairs:
        is_fine = found.diagnosis.verdict.name == "CONSISTENT"
        yield "There is nothing to repair: a model was found." if is_fine else "No repair was found in time."
    for number, one in enumerate(found.repairs, 1):
        first, *rest = _repair_lines(one)
        yield from ("", f"Repair {number}. {first}", *(rest if number == 1 else _changes(one)))


REPAIRING = (
    Argument("--most", "offer at most N repairs (default 3)", "N", positive(int), 3),
    Argument("--take", "which repair to write (default 1, the cheapest)", "K", positive(int), 1),
    replace(OUTPUT, help="write the file with the repair made"),
)

CHECKING = (
    Command(
        "check",
        "say what a file amounts to, and whether it contradicts itself",
        (*MODEL, MARKOV, LIMIT, WEIGHT, CERTIFICATE, JSON),
        check,
    ),
    Command(
        "repair",
        "offer ways to settle a contradiction, and write the mended file",
        (*MODEL, MARKOV, LIMIT, WEIGHT, *REPAIRING, JSON),
        repair,
    ),
)
