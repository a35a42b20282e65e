"""Commands that help to choose: map and decide.

Enters: the arguments of one command. Leaves: the best assignments with their intervals, or the verdict on
statements such as P(a | b) >= 0.5; as text or JSON.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from credalog.cli.command import (
    ANSWERED,
    INTERRUPTED,
    Command,
    add_effort,
    add_evidence,
    effort,
    load_model,
    observed,
    positive,
)
from credalog.cli.output import (
    CELLS,
    Column,
    bar,
    interval_json,
    shown_lower,
    shown_upper,
    write,
    write_json,
    write_table,
)
from credalog.cli.progress import Watch

if TYPE_CHECKING:
    from credalog.numbers.interval import Interval
    from credalog.questions.decide import Decision
    from credalog.questions.map import BestAssignments, RankedAssignment

__all__ = ["DECIDING"]

CRITERIA = ("maximax", "maximin", "hurwicz", "dominance")
RANKING = (
    Column("assignment"),
    Column("lower", "right"),
    Column("upper", "right"),
    Column(f"0{'1':>{CELLS - 1}}", rank=5),
    Column("score", "right", rank=7),
)
VERDICTS = (
    Column("statement"),
    Column("verdict"),
    Column("lower", "right", rank=7),
    Column("upper", "right", rank=7),
    Column(f"0{'1':>{CELLS - 1}}", rank=5),
    Column("settled by", rank=3),
    Column("seconds", "right", rank=4),
)


# ---- the best assignments -----------------------------------------------------------------------------


def map_(arguments: Namespace) -> int:
    """Find the assignments whose posterior intervals are best."""
    model = load_model(arguments)
    with Watch() as watch:
        watch.begin("best score")
        found = model.map(
            arguments.variables,
            given=observed(arguments),
            criterion=arguments.criterion,
            alpha=arguments.alpha,
            top=arguments.top,
            report=watch,
            **effort(arguments),
        )
    if arguments.json:
        write_json(_found_json(found))
    else:
        write_table(RANKING, [_ranked_row(one) for one in found.ranked])
        write(_conclusion(found), None)
    return INTERRUPTED if found.is_interrupted else ANSWERED


def _found_json(found: BestAssignments) -> dict[str, Any]:
    from credalog.text import unparse_formula

    return {
        "criterion": found.criterion.value,
        "alpha": found.alpha,
        "variables": [v.name for v in found.variables],
        "evidence": unparse_formula(found.given),
        "assignments": [_ranked_json(one) for one in found.ranked],
        "bound": found.bound,
        "gap": found.gap,
        "is_proved": found.is_proved,
        "is_complete": found.is_complete,
        "is_interrupted": found.is_interrupted,
        "nodes": found.nodes,
        "seconds": found.seconds,
    }


def _ranked_json(one: RankedAssignment) -> dict[str, Any]:
    return {
        "assignment": {v.name: value for v, value in one.values.items()},
        "score": [one.score_lower, one.score_upper],
        **interval_json(one.interval),
    }


def _ranked_row(one: RankedAssignment) -> tuple[str, ...]:
    low, high = f"{one.score_lower:.6f}", f"{one.score_upper:.6f}"
    return (str(one), *_interval_cells(one.interval), low if low == high else f"{low} to {high}")


def _interval_cells(interval: Interval) -> tuple[str, str, str]:
    lower, upper = interval.lower, interval.upper
    attained = None
    if lower.witnessed is not None and upper.witnessed is not None:
        attained = (lower.witnessed, upper.witnessed)
    return shown_lower(lower.bound), shown_upper(upper.bound), bar(lower.bound, upper.bound, attained)


def _conclusion(found: BestAssignments) -> str:
    """Say in a few lines what is proved."""
    lines = [
        f"{found.summary[:1].upper()}{found.summary[1:]}.",
        f"{found.nodes:,} partial assignments in {found.seconds:.2f} s.",
    ]
    return "\n" + "\n".join(lines) + "\n"


# ---- thresholds ---------------------------------------------------------------------------------------


def decide(arguments: Namespace) -> int:
    """Tell whether statements hold in every model, in none, or in some."""
    model = load_model(arguments)
    found: list[Decision] = []
    with Watch() as watch, suppress(KeyboardInterrupt):
        for statement in arguments.statement:
            watch.begin(statement)
            found.append(model.decide(statement, report=watch, **effort(arguments)))
            if watch.is_interrupted:
                break
    if arguments.json:
        write_json([_decision_json(one) for one in found])
    else:
        write_table(VERDICTS, [_decision_row(one) for one in found])
    return INTERRUPTED if watch.is_interrupted else ANSWERED


def _decision_json(one: Decision) -> dict[str, Any]:
    return {
        "statement": str(one),
        "verdict": one.verdict.name,
        **interval_json(one.interval),
        "stage": one.stage,
        "seconds": one.seconds,
    }


def _decision_row(one: Decision) -> tuple[str, ...]:
    verdict = {"CERTAIN": "certainly", "EXCLUDED": "certainly not"}.get(
        one.verdict.name, one.verdict.name.lower()
    )
    return (str(one), verdict, *_interval_cells(one.interval), one.stage, f"{one.seconds:.2f}")


# ---- arguments ----------------------------------------------------------------------------------------


def _add_effort(parser: ArgumentParser) -> None:
    add_effort(parser, closely="how closely to look (default 1e-4)", long="seconds to work (default 30)")


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is not a number") from None
    if not 0.0 <= value <= 1.0:
        raise ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def _map_arguments(parser: ArgumentParser) -> None:
    _add_effort(parser)
    parser.add_argument(
        "--variables",
        nargs="+",
        metavar="X",
        help="the variables to assign (default: all that are not observed)",
    )
    add_evidence(parser)
    parser.add_argument(
        "--criterion", choices=CRITERIA, default="maximax", help="which interval is better (default maximax)"
    )
    parser.add_argument(
        "--alpha", type=_share, default=0.5, metavar="A", help="the optimism of hurwicz, 0 to 1 (default 0.5)"
    )
    parser.add_argument(
        "--top", type=positive(int), default=1, metavar="K", help="how many assignments to list (default 1)"
    )


def _decide_arguments(parser: ArgumentParser) -> None:
    _add_effort(parser)
    parser.add_argument(
        "statement", metavar="STATEMENT", nargs="+", help="a comparison such as 'P(a | b) >= 0.5'"
    )


DECIDING = (
    Command("map", "find the assignments with the best posterior intervals", _map_arguments, map_),
    Command("decide", "compare probabilities with thresholds", _decide_arguments, decide),
)
