"""Commands that diagnose: explain, maxent, and the contradictions that check reports.

Enters: the arguments of one command. Leaves: which sentences conflict and what would settle it, which hold an
interval, or the model of greatest entropy; as text or JSON.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from credalog.cli.ask import answer_json, write_answers
from credalog.cli.command import (
    ANSWERED,
    INTERRUPTED,
    Command,
    add_effort,
    add_output,
    effort,
    load_model,
    positive,
)
from credalog.cli.output import Column, check_target, shown_lower, shown_upper, write, write_json, write_table
from credalog.errors import InconsistentNetwork

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.network.sentences import Sentence
    from credalog.questions.diagnose import Conflict, Diagnosis, Repair
    from credalog.questions.entropy import MaximumEntropy
    from credalog.questions.influence import Explanation, Influence, Measurement
    from credalog.tables.distribution import Distribution

__all__ = ["DIAGNOSING", "add_diagnosis", "diagnosis_code", "diagnosis_json", "diagnosis_text", "tables_json"]

HOLDING = (
    Column("sentence"),
    Column("moves by", "right"),
    Column("lower without it", "right"),
    Column("upper without it", "right"),
    Column("says"),
)


# ---- contradictions -----------------------------------------------------------------------------------


def add_diagnosis(parser: ArgumentParser) -> None:
    """Add how long to look for a contradiction, and the prices of giving way."""
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
        help="what widening a sentence costs, by label or file (default 1; inf forbids it); may be repeated",
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


def diagnosis_json(found: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as the object that `--json` writes."""
    return {
        "verdict": found.verdict.name,
        "model": None if found.model is None else tables_json(found.model),
        "conflict": None if found.conflict is None else _conflict_json(found.conflict),
        "repair": None if found.repair is None else _repair_json(found.repair),
        "is_interrupted": found.is_interrupted,
        "seconds": found.seconds,
    }


def _conflict_json(found: Conflict) -> dict[str, Any]:
    return {
        "is_minimal": found.is_minimal,
        "sentences": [
            {**_sentence_json(c.sentence), "by_lower": c.by_lower, "by_upper": c.by_upper}
            for c in found.culprits
        ],
    }


def _repair_json(found: Repair) -> dict[str, Any]:
    return {
        "price": found.price,
        "at_least": found.at_least,
        "is_checked": found.is_checked,
        "changes": [
            {
                **_sentence_json(change.before),
                "lower": float(change.after.lower),
                "upper": float(change.after.upper),
            }
            for change in found.changes
        ],
    }


def _sentence_json(sentence: Sentence) -> dict[str, Any]:
    from credalog.text import said

    return {
        "label": sentence.label,
        "source": str(sentence.source) if sentence.source else None,
        "text": said(sentence),
    }


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


def _place(sentence: Sentence) -> str:
    source = str(sentence.source) if sentence.source else ""
    where = "  ".join(dict.fromkeys(part for part in (sentence.label, source) if part))
    return f"{where}  " if where else ""


# ---- what matters -------------------------------------------------------------------------------------


def explain(arguments: Namespace) -> int:
    """Say which sentences hold the ends of an interval, and what a measurement would be worth."""
    model = load_model(arguments)
    found = model.explain(arguments.query, most=arguments.most, **effort(arguments))
    left = [] if found.is_interrupted else arguments.measure
    measured = list(_measured(model, left, arguments))
    if arguments.json:
        write_json(_explanation_json(found, measured))
    else:
        _write_explanation(found, measured, arguments)
    return ANSWERED if len(measured) == len(arguments.measure) and not found.is_interrupted else INTERRUPTED


def _measured(model: LCN, measure: Sequence[str], arguments: Namespace) -> Iterator[Measurement]:
    """Imagine one measurement after the other until the user has had enough."""
    try:
        for other in measure:
            yield model.measure(arguments.query, other, within=arguments.within, **effort(arguments))
    except KeyboardInterrupt:
        return


def _explanation_json(found: Explanation, measured: Sequence[Measurement]) -> dict[str, Any]:
    return {
        "answer": answer_json(found.answer),
        "influences": [_influence_json(one) for one in found.influences],
        "silent": [_sentence_json(sentence) for sentence in found.silent],
        "untried": [_sentence_json(sentence) for sentence in found.untried],
        "is_interrupted": found.is_interrupted,
        "measurements": [_measurement_json(one) for one in measured],
    }


def _influence_json(found: Influence) -> dict[str, Any]:
    return {
        **_sentence_json(found.sentence),
        "lower_move": found.lower_move,
        "upper_move": found.upper_move,
        "without": answer_json(found.answer),
    }


def _measurement_json(found: Measurement) -> dict[str, Any]:
    return {
        "measured": answer_json(found.known),
        "within": float(found.within),
        "width_before": found.before.upper - found.before.lower,
        "width_best": found.best,
        "width_worst": found.worst,
        "width_at_most": found.at_most,
        "scenarios": [
            {"value": s.value, "answer": None if s.answer is None else answer_json(s.answer)}
            for s in found.scenarios
        ],
    }


def _write_explanation(found: Explanation, measured: Sequence[Measurement], arguments: Namespace) -> None:
    write_answers([answer_json(found.answer)], arguments)
    tried_all = not found.untried
    _write_holding("lower", shown_lower(found.answer.lower), found.holding_lower, tried_all=tried_all)
    _write_holding("upper", shown_upper(found.answer.upper), found.holding_upper, tried_all=tried_all)
    tried, silent, untried = len(found.influences), len(found.silent), len(found.untried)
    why = (
        "others were not tried (interrupted)"
        if found.is_interrupted
        else "less promising ones were not tried (--most)"
    )
    rest = f"; {untried:,} {why}" if untried else ""
    dropped = "1 sentence was dropped" if tried == 1 else f"{tried:,} sentences were dropped in turn"
    write(f"\n{dropped}; {silent:,} cannot matter{rest}.\n", None)
    for one in measured:
        write(_measurement_text(one), None)


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


def _measurement_text(found: Measurement) -> str:
    from credalog.text import unparse_query

    now = found.before.upper - found.before.lower
    return (
        f"\nIf {unparse_query(found.known.query)}, now between {shown_lower(found.known.lower)} and "
        f"{shown_upper(found.known.upper)}, were measured to within {float(found.within):g}:\n"
        f"  the interval's width, now {now:.6f}, would be {found.best:.6f} to {found.worst:.6f}"
        f" at the places tried, and never more than {found.at_most:.6f}.\n"
    )


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
        write_json(_entropy_json(found, queries))
    else:
        write(f"{found}\n", None)
        _write_probabilities(queries)
        if found.distribution is not None and not queries and arguments.output is None:
            write("\n" + _tables_text(found.distribution), None)
    return INTERRUPTED if found.is_interrupted else ANSWERED


def _probabilities(model: LCN, found: MaximumEntropy, asked: Sequence[str]) -> list[dict[str, Any]]:
    from credalog.text import unparse_query

    queries = [model.question(text) for text in asked]
    return [{"query": unparse_query(q), "probability": found.probability(q.claim, q.given)} for q in queries]


def _write_probabilities(queries: Sequence[dict[str, Any]]) -> None:
    if queries:
        columns = (Column("query"), Column("probability", "right"))
        write("\n", None)
        write_table(columns, [(one["query"], f"{one['probability']:.6f}") for one in queries])


def _entropy_json(found: MaximumEntropy, queries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    is_found = found.distribution is not None
    return {
        "status": found.status.name,
        "entropy": found.entropy if is_found else None,
        "at_most": found.at_most,
        "is_interrupted": found.is_interrupted,
        "seconds": found.seconds,
        "queries": list(queries),
        "tables": tables_json(found.distribution) if found.distribution is not None else None,
    }


def tables_json(distribution: Distribution) -> list[dict[str, Any]]:
    """Return a distribution as conditional tables."""
    from credalog.tables.conditional import conditional_tables

    return [
        {
            "variable": table.block[0].name,
            "values": list(table.block[0].values),
            "parents": [parent.name for parent in table.parents],
            "table": table.table.tolist(),
        }
        for table in conditional_tables(distribution)
    ]


def _tables_text(distribution: Distribution) -> str:
    from credalog.tables.conditional import chances
    from credalog.text import unparse_query

    return "".join(f"{unparse_query(query)} = {chance:.6f}\n" for query, chance in chances(distribution))


def _export(distribution: Distribution, path: str) -> None:
    """Write the model as JSON where the file's name asks for it, else as sentences."""
    if path.endswith(".json"):
        write_json(tables_json(distribution), path)
        return
    from credalog.tables.conditional import point_network
    from credalog.text import unparse_network

    write(unparse_network(point_network(distribution)), path)


# ---- the commands -------------------------------------------------------------------------------------


def _add_effort(parser: ArgumentParser) -> None:
    add_effort(parser, long="seconds for each interval, or for the model (default 30)")


def _explain_arguments(parser: ArgumentParser) -> None:
    _add_effort(parser)
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
        type=positive(float),
        default=0.01,
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
