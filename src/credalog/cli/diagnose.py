"""Commands that diagnose: explain, maxent, and the contradictions that check reports.

Input: the arguments of one command. Output: which sentences conflict and what would settle it, which hold an
interval, or the model of greatest entropy; as text or JSON.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from credalog.cli.ask import write_answers
from credalog.cli.command import (
    ANSWERED,
    INTERRUPTED,
    Command,
    add_effort,
    add_evidence,
    add_markov,
    add_output,
    effort,
    load_model,
    positive,
    precision,
    refuse_unless,
)
from credalog.cli.output import Column, check_target, shown_lower, shown_upper, write, write_json, write_table
from credalog.errors import ImpossibleEvidence, InconsistentNetwork

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.network.sentences import Query, Sentence
    from credalog.questions.diagnose import Conflict, Diagnosis, Repair
    from credalog.questions.entropy import MaximumEntropy
    from credalog.questions.influence import Explanation, Influence, Measurement
    from credalog.tables.distribution import Distribution

__all__ = ["DIAGNOSING", "add_diagnosis", "diagnosis_code", "diagnosis_text"]

PRECISION = 0.01
"""How closely something is measured unless the user says otherwise."""

HOLDING = (
    Column("sentence"),
    Column("moves by", "right"),
    Column("lower without it", "right"),
    Column("upper without it", "right"),
    Column("says"),
)


# ---- contradictions -----------------------------------------------------------------------------------


def add_diagnosis(parser: ArgumentParser) -> None:
    """Add how long to look for a contradiction, under which condition, and the prices of giving way."""
    add_markov(parser)
    parser.add_argument(
        "--timeout",
        type=positive(float),
        metavar="S",
        help="seconds to decide whether there is a model (default 30; large networks only where it is given)",
    )
    parser.add_argument(
        "--weight",
        type=_weight,
        action="append",
        default=[],
        metavar="NAME=W",
        help="what widening a sentence costs, by label, place or file (default 1; inf: never), repeatable",
    )


def _weight(text: str) -> tuple[str, float]:
    name, separator, number = text.rpartition("=")
    if not separator:
        raise ArgumentTypeError(f"{text} is not of the form NAME=W")
    return name, positive(float)(number)


def diagnosis_code(found: Diagnosis | None) -> int:
    """Return the exit code that a diagnosis deserves."""
    from credalog.questions.diagnose import Consistency

    if found is not None and found.is_interrupted:
        return INTERRUPTED
    is_bad = found is not None and found.verdict is Consistency.INCONSISTENT
    return InconsistentNetwork.exit_code if is_bad else ANSWERED


def diagnosis_text(found: Diagnosis) -> str:
    """Write a diagnosis in words."""
    lines = [f"  {'consistent':<15}{_VERDICTS[found.verdict.name]}"]
    if found.conflict is not None:
        lines += ["", *_conflict_lines(found.conflict)]
    if found.repair is not None:
        lines += ["", *_repair_lines(found.repair)]
    elif found.conflict is not None and not found.is_interrupted:
        lines += ["", "No repair was found within the limits."]
    if found.is_interrupted:
        lines += ["", "Interrupted: there may be more to find."]
    return "\n".join(lines) + "\n"


_VERDICTS = {
    "CONSISTENT": "yes: a model was found",
    "INCONSISTENT": "no: it is proved that there is no model",
    "UNDECIDED": "undecided: no model was found within the limits, and none was excluded",
}


def _conflict_lines(found: Conflict) -> Iterator[str]:
    from credalog.text import said

    yield f"{found.summary}:"
    for culprit in found.culprits:
        yield f"  {_place(culprit.sentence)}{said(culprit.bound)}"
    yield "(Bounds are dropped, never arrows: the independences are those of the whole network.)"


def _repair_lines(found: Repair) -> Iterator[str]:
    from credalog.text import said

    checked = "" if found.is_checked else " (that a model then exists was not confirmed in time)"
    total = float(sum(change.widening for change in found.changes))
    price = "" if abs(total - found.price) < 1e-9 else f", at a price of {found.price:.6g},"
    yield f"Widening bounds by {total:.6g} in all{price} settles it{checked}:"
    for change in found.changes:
        yield f"  {_place(change.before)}{said(change.before)}  becomes  {said(change.after)}"
    yield f"No repair costs less than {found.at_least:.6g}."
    if found.proviso:
        yield found.proviso


def _place(sentence: Sentence) -> str:
    source = str(sentence.source) if sentence.source else ""
    where = "  ".join(dict.fromkeys(part for part in (sentence.label, source) if part))
    return f"{where}  " if where else ""


# ---- what matters -------------------------------------------------------------------------------------


def explain(arguments: Namespace) -> int:
    """Say which sentences hold the ends of an interval, and what a measurement would be worth."""
    refuse_unless(arguments.within is None or bool(arguments.measure), "--within", "--measure")
    model = load_model(arguments)
    for text in arguments.measure:
        model.question(text)
    found = model.explain(arguments.query, most=arguments.most, **effort(arguments))
    left = [] if found.is_interrupted else arguments.measure
    measured = list(_measured(model, left, arguments))
    if arguments.json:
        write_json({**found.to_dict(), "measurements": [one.to_dict() for one in measured]})
    else:
        _write_explanation(found, measured, arguments)
    return ANSWERED if len(measured) == len(arguments.measure) and not found.is_interrupted else INTERRUPTED


def _measured(model: LCN, measure: Sequence[str], arguments: Namespace) -> Iterator[Measurement]:
    """Imagine one measurement after the other until the user has had enough."""
    try:
        for other in measure:
            yield model.measure(
                arguments.query, other, within=arguments.within or PRECISION, **effort(arguments)
            )
    except KeyboardInterrupt:
        return


def _write_explanation(found: Explanation, measured: Sequence[Measurement], arguments: Namespace) -> None:
    write_answers([found.answer.to_dict()], arguments)
    tried_all = not found.untried
    _write_holding("lower", shown_lower(found.answer.lower), found.holding_lower, tried_all=tried_all)
    _write_holding("upper", shown_upper(found.answer.upper), found.holding_upper, tried_all=tried_all)
    tried, silent, untried = len(found.influences), len(found.silent), len(found.untried)
    why = (
        "others were not tried (interrupted)"
        if found.is_interrupted
        else "others were not tried (--most, or the time was up)"
    )
    rest = f"; {untried:,} {why}" if untried else ""
    dropped = "1 sentence was dropped" if tried == 1 else f"{tried:,} sentences were dropped in turn"
    write(f"\n{dropped}; {silent:,} cannot matter{rest}.\n", None)
    if found.doubt:
        write(f"{found.doubt}\n", None)
    for one in measured:
        write(f"\n{str(one)[:1].upper()}{str(one)[1:]}.\n", None)


def _write_holding(end: str, bound: str, held_by: Sequence[Influence], *, tried_all: bool) -> None:
    from credalog.text import said

    if not held_by:
        none = "No single sentence" if tried_all else "None of the sentences tried"
        write(f"\n{none} holds the {end} end, {bound}.\n", None)
        return
    write(f"\nThe {end} end, {bound}, is held by\n", None)
    rows = [
        (
            one.sentence.name,
            f"{one.lower_move if end == 'lower' else one.upper_move:.6f}",
            shown_lower(one.answer.lower),
            shown_upper(one.answer.upper),
            said(one.sentence),
        )
        for one in held_by
    ]
    write_table(HOLDING, rows)


# ---- maximum entropy ----------------------------------------------------------------------------------


def maxent(arguments: Namespace) -> int:
    """Find the model of greatest entropy, and answer queries under it."""
    check_target(arguments.output)
    model = load_model(arguments)
    for text in arguments.query:
        model.question(text)
    found = model.maxent(**effort(arguments))
    queries = [] if found.distribution is None else _probabilities(model, found, arguments.query)
    if found.distribution is not None and arguments.output is not None:
        _export(found.distribution, arguments.output)
    if arguments.json:
        write_json({**found.to_dict(), "queries": queries})
    else:
        write(f"{found}\n", None)
        _write_probabilities(queries)
        if found.distribution is not None and not queries and arguments.output is None:
            write("\n" + _tables_text(found), None)
    return INTERRUPTED if found.is_interrupted else ANSWERED


def _probabilities(model: LCN, found: MaximumEntropy, asked: Sequence[str]) -> list[dict[str, Any]]:
    """Return the probabilities that the model gives; None where it gives the evidence none."""
    queries = [model.question(text) for text in asked]
    return [
        {
            "query": str(query),
            "probability": _probability_under(found, query),
            "digits": found.digits(query.given),
        }
        for query in queries
    ]


def _probability_under(found: MaximumEntropy, query: Query) -> float | None:
    try:
        return found.probability(query.claim, query.given)
    except ImpossibleEvidence:
        return None


def _write_probabilities(queries: Sequence[dict[str, Any]]) -> None:
    if queries:
        columns = (Column("query"), Column("probability", "right"))
        write("\n", None)
        write_table(columns, [(one["query"], _probability(one)) for one in queries])


def _probability(one: dict[str, Any]) -> str:
    """Write as many decimals as are known."""
    chance = one["probability"]
    return "undefined: the evidence has probability 0" if chance is None else f"{chance:.{one['digits']}f}"


def _tables_text(found: MaximumEntropy) -> str:
    from credalog.tables.conditional import chances

    assert found.distribution is not None
    return "".join(
        f"{query} = {chance:.{found.digits(query.given)}f}\n" for query, chance in chances(found.distribution)
    )


def _export(distribution: Distribution, path: str) -> None:
    """Write the model as JSON where the file's name asks for it, else as sentences."""
    from credalog.tables.conditional import as_tables, point_network

    if path.endswith(".json"):
        write_json(as_tables(distribution), path)
        return
    from credalog.text import unparse_network

    write(unparse_network(point_network(distribution)), path)


# ---- the commands -------------------------------------------------------------------------------------


def _add_effort(parser: ArgumentParser) -> None:
    add_effort(parser, long="seconds for the whole question (default 30)")


def _explain_arguments(parser: ArgumentParser) -> None:
    _add_effort(parser)
    add_evidence(parser)
    parser.add_argument("query", metavar="QUERY", help="a question such as 'P(a | b and not c)'")
    parser.add_argument(
        "--most", type=positive(int), default=20, metavar="N", help="drop at most N sentences (default 20)"
    )
    parser.add_argument(
        "--measure",
        action="append",
        default=[],
        metavar="QUERY",
        help="also imagine that this probability were measured; may be repeated",
    )
    parser.add_argument(
        "--within",
        type=precision,
        metavar="W",
        help="the precision of the measurement (default 0.01)",
    )


def _maxent_arguments(parser: ArgumentParser) -> None:
    _add_effort(parser)
    parser.add_argument("query", metavar="QUERY", nargs="*", help="a question to answer under the model")
    add_output(parser)


DIAGNOSING = (
    Command("explain", "say which sentences hold an interval", _explain_arguments, explain),
    Command("maxent", "find the model of greatest entropy", _maxent_arguments, maxent),
)
