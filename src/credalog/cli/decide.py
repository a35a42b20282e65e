"""Commands that help to choose: map and decide.

Input: the arguments of one command. Output: the best assignments with their intervals, or the verdict on
statements such as P(a | b) >= 0.5; as text or JSON.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any, get_args

from credalog.choices import CriterionName
from credalog.cli.ask import blamed, unanswered
from credalog.cli.command import (
    ANSWERED,
    INTERRUPTED,
    Command,
    add_effort,
    add_evidence,
    complain,
    effort,
    load_model,
    positive,
    refuse_unless,
    share,
)
from credalog.cli.output import (
    CELLS,
    Column,
    bar,
    shown_lower,
    shown_upper,
    write,
    write_json,
    write_table,
)
from credalog.cli.progress import Watch
from credalog.errors import CredalogError, InconsistentNetwork, Option

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.numbers.interval import Interval
    from credalog.questions.decide import Decision
    from credalog.questions.map import BestAssignments, RankedAssignment

__all__ = ["DECIDING"]

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
    is_hurwicz = arguments.criterion == "hurwicz"
    refuse_unless(arguments.alpha is None or is_hurwicz, "--alpha", Option("criterion", "hurwicz"))
    model = load_model(arguments)
    with Watch() as watch:
        watch.begin("best score")
        found = model.map(
            arguments.variables,
            criterion=arguments.criterion,
            alpha=0.5 if arguments.alpha is None else arguments.alpha,
            top=arguments.top,
            report=watch,
            **effort(arguments),
        )
    if arguments.json:
        write_json(found.to_dict())
    else:
        write_table(RANKING, [_ranked_row(one) for one in found.ranked])
        write(_conclusion(found), None)
    return INTERRUPTED if found.is_interrupted else ANSWERED


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
    """Tell whether statements hold in every model, in none, or in some, once all are understood."""
    model = load_model(arguments)
    _check_statements(model, arguments.statement)
    found: list[Decision | dict[str, Any]] = []
    failed: list[CredalogError] = []
    with Watch() as watch:
        for statement in arguments.statement:
            watch.begin(statement)
            try:
                found.append(model.decide(statement, report=watch, **effort(arguments)))
            except KeyboardInterrupt:
                watch.is_interrupted = True
            except CredalogError as error:
                found += [unanswered(statement, error, as_a="statement")] if arguments.json else []
                failed.append(blamed(statement, error))
            if watch.is_interrupted or any(isinstance(error, InconsistentNetwork) for error in failed):
                break
    if arguments.json:
        write_json([one if isinstance(one, dict) else one.to_dict() for one in found])
    elif found:
        write_table(VERDICTS, [_decision_row(one) for one in found if not isinstance(one, dict)])
    codes = [complain(error) for error in failed]
    return INTERRUPTED if watch.is_interrupted else next(iter(codes), ANSWERED)


def _check_statements(model: LCN, statements: list[str]) -> None:
    """Complain about a statement that cannot be read before any is decided."""
    for statement in statements:
        model.statement(statement)


def _decision_row(one: Decision) -> tuple[str, ...]:
    verdict = {"CERTAIN": "certainly", "EXCLUDED": "certainly not"}.get(
        one.verdict.name, one.verdict.name.lower()
    )
    return (one.statement, verdict, *_interval_cells(one.interval), one.stage, f"{one.seconds:.2f}")


# ---- arguments ----------------------------------------------------------------------------------------


def _add_effort(parser: ArgumentParser) -> None:
    add_effort(parser, closely="how closely to look (default 1e-4)", long="seconds to work (default 30)")


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
        "--criterion",
        choices=get_args(CriterionName),
        default="maximax",
        help="which interval is better (default maximax)",
    )
    parser.add_argument(
        "--alpha", type=share, metavar="A", help="the optimism of hurwicz, 0 to 1 (default 0.5)"
    )
    parser.add_argument(
        "--top", type=positive(int), default=1, metavar="K", help="how many assignments to list (default 1)"
    )


def _decide_arguments(parser: ArgumentParser) -> None:
    _add_effort(parser)
    add_evidence(parser)
    parser.add_argument(
        "statement", metavar="STATEMENT", nargs="+", help="a comparison such as 'P(a | b) >= 0.5'"
    )


DECIDING = (
    Command("map", "find the assignments with the best posterior intervals", _map_arguments, map_),
    Command("decide", "compare probabilities with thresholds", _decide_arguments, decide),
)
