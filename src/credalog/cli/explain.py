"""Commands that look for an explanation: map, explain, maxent.

Input: the arguments of one command. Output: the best assignments with their intervals, the sentences that
hold an interval, or the model of greatest entropy; as text or JSON.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, get_args

from credalog.choices import CriterionName
from credalog.cli.ask import ANSWERS
from credalog.cli.certificates import CERTIFICATE, reserve, write_certificate
from credalog.cli.command import (
    ANSWERED,
    EFFORT,
    EVIDENCE,
    INTERRUPTED,
    OUTPUT,
    QUERY,
    Argument,
    Command,
    effort,
    load_model,
    positive,
    precision,
    refuse_unless,
    share,
    time_left,
)
from credalog.cli.output import (
    BAR,
    LOWER,
    PLOT,
    UPPER,
    Column,
    check_plot,
    check_target,
    plot_result,
    shown_lower,
    shown_upper,
    write,
    write_json,
    write_table,
)
from credalog.cli.progress import Watch
from credalog.errors import ImpossibleEvidence, Option

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.network.sentences import Query
    from credalog.questions.explain import Explanation, Influence, Measurement
    from credalog.questions.maxent import MaximumEntropy
    from credalog.tables.distribution import Distribution

PRECISION = 0.01
"""How closely something is measured unless the user says otherwise."""


def _score(one: Mapping[str, Any]) -> str:
    return " to ".join(dict.fromkeys(f"{end:.6f}" for end in one["score"]))


def _probability(one: Mapping[str, Any]) -> str:
    """Write as many decimals as are known."""
    chance = one["probability"]
    return "undefined: the evidence has probability 0" if chance is None else f"{chance:.{one['digits']}f}"


RANKING = (
    Column("assignment", itemgetter("assignment")),
    LOWER,
    UPPER,
    BAR,
    Column("score", _score, "right", rank=7),
)
HOLDING = (
    Column("sentence", itemgetter("sentence")),
    Column("moves by", lambda one: f"{one['move']:.6f}", "right"),
    replace(LOWER, heading="lower without it"),
    replace(UPPER, heading="upper without it"),
    Column("says", itemgetter("text")),
)
WORTH = (
    Column("measure", lambda one: one["measured"]["query"]),
    Column("now", lambda one: _shown(one["measured"]), "right"),
    Column("at most", lambda one: f"{one['width_at_most']:.6f}", "right"),
    Column("widest met", lambda one: _width(one["width_worst"]), "right"),
    Column("narrowest met", lambda one: _width(one["width_best"]), "right"),
)


def _shown(one: Mapping[str, Any]) -> str:
    return f"[{shown_lower(one['lower'])}, {shown_upper(one['upper'])}]"


def _width(width: float | None) -> str:
    return "?" if width is None else f"{width:.6f}"


PROBABILITIES = (Column("query", itemgetter("query")), Column("probability", _probability, "right"))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}.\n"


# ---- the best assignments -----------------------------------------------------------------------------


def map_(arguments: Namespace) -> int:
    """Find the assignments whose posterior intervals are best."""
    is_hurwicz = arguments.criterion == "hurwicz"
    refuse_unless(arguments.alpha is None or is_hurwicz, "--alpha", Option("criterion", "hurwicz"))
    if arguments.certificate is not None:
        reserve(arguments)
    model = load_model(arguments)
    with Watch(arguments.clock) as watch:
        watch.begin("best score")
        found = model.map(
            arguments.variables,
            criterion=arguments.criterion,
            alpha=0.5 if arguments.alpha is None else arguments.alpha,
            top=arguments.top,
            report=watch,
            **effort(arguments),
        )
    arguments.clock.silence()
    found = arguments.clock.timely(found)
    if arguments.json:
        write_json(found.to_dict())
    else:
        write_table(RANKING, [{**one.to_dict(), "assignment": str(one)} for one in found.ranked])
        write(f"\n{_sentence(found.summary)}")
        write(f"{found.nodes:,} partial assignments in {found.seconds:.2f} s.\n")
    if arguments.certificate is not None:
        write_certificate(model, [found], arguments)
    return INTERRUPTED if found.is_interrupted else ANSWERED


# ---- what matters -------------------------------------------------------------------------------------


def explain(arguments: Namespace) -> int:
    """Say which sentences hold the ends of an interval, and what a measurement would be worth."""
    refuse_unless(arguments.within is None or bool(arguments.measure), "--within", "--measure")
    check_plot(arguments)
    model = load_model(arguments)
    for text in arguments.measure:
        model.question(text)
    limits = effort(arguments, left=1 + len(arguments.measure))
    found = _timely(model.explain(arguments.query, most=arguments.most, **limits), arguments)
    left = [] if found.is_interrupted or time_left(arguments) <= 0.0 else arguments.measure
    measured = list(_measured(model, left, arguments))
    arguments.clock.silence()
    if arguments.json:
        write_json({**found.to_dict(), "measurements": [one.to_dict() for one in measured]})
    else:
        _write_explanation(found, measured)
    plot_result(found, arguments)
    is_whole = len(measured) == len(left) and not found.is_interrupted
    return ANSWERED if is_whole or arguments.clock.is_over else INTERRUPTED


def _timely(found: Explanation, arguments: Namespace) -> Explanation:
    """Return an explanation that the alarm cut short as one whose time was up."""
    timely = arguments.clock.timely
    explanation: Explanation = timely(replace(found, answer=timely(found.answer)))
    return explanation


def _measured(model: LCN, measure: Sequence[str], arguments: Namespace) -> Iterator[Measurement]:
    """Imagine one measurement after the other until the user has had enough."""
    within = arguments.within or PRECISION
    try:
        for done, other in enumerate(measure):
            limits = effort(arguments, left=len(measure) - done)
            yield model.measure(arguments.query, other, within=within, **limits)
    except KeyboardInterrupt:
        return


def _write_explanation(found: Explanation, measured: Sequence[Measurement]) -> None:
    write_table(ANSWERS, [found.answer.to_dict()])
    tried_all = not found.untried
    _write_holding("lower", shown_lower(found.answer.lower), found.holding_lower, tried_all=tried_all)
    _write_holding("upper", shown_upper(found.answer.upper), found.holding_upper, tried_all=tried_all)
    tried, silent, untried = len(found.influences), len(found.silent), len(found.untried)
    why = "interrupted" if found.is_interrupted else "--most, or the time was up"
    rest = f"; {untried:,} others were not tried ({why})" if untried else ""
    dropped = "1 sentence was dropped" if tried == 1 else f"{tried:,} sentences were dropped in turn"
    write(f"\n{dropped}; {silent:,} cannot matter{rest}.\n")
    if found.doubt:
        write(f"{found.doubt}\n")
    for one in measured:
        write(f"\n{_sentence(str(one))}")


def _write_holding(end: str, bound: str, held_by: Sequence[Influence], *, tried_all: bool) -> None:
    if not held_by:
        none = "No single sentence" if tried_all else "None of the sentences tried"
        write(f"\n{none} holds the {end} end, {bound}.\n")
        return
    write(f"\nThe {end} end, {bound}, is held by\n")
    rows = (one.to_dict() | {"sentence": one.sentence.name} for one in held_by)
    write_table(HOLDING, [{**row, **row["without"], "move": row[f"{end}_move"]} for row in rows])


def measure(arguments: Namespace) -> int:
    """Rank what sentences bound by what measuring it would be worth."""
    check_plot(arguments)
    model = load_model(arguments)
    within = arguments.within or PRECISION
    found = model.rank(arguments.query, within=within, most=arguments.most, **effort(arguments))
    found = arguments.clock.timely(replace(found, before=arguments.clock.timely(found.before)))
    arguments.clock.silence()
    code = INTERRUPTED if found.is_interrupted else ANSWERED
    if found.measurements:
        plot_result(found, arguments)
    if arguments.json:
        write_json(found.to_dict())
        return code
    write_table(ANSWERS, [found.before.to_dict()])
    if found.measurements:
        write(f"\nMeasured to within {within:g}, the interval would be no wider than\n")
        write_table(WORTH, [one.to_dict() for one in found])
    left = f"; {len(found.untried):,} others were not looked at" if found.untried else ""
    looked = len(found.measurements)
    write(f"\n{looked:,} measurement{'' if looked == 1 else 's'} imagined{left}.\n")
    return code


# ---- maximum entropy ----------------------------------------------------------------------------------


WRITING = 8e-5
"""The seconds that it takes to write one row of a table."""


def maxent(arguments: Namespace) -> int:
    """Find the model of greatest entropy, and answer queries under it."""
    check_target(arguments.output, model=arguments.file, read=arguments.data or ())
    model = load_model(arguments)
    asked = [model.question(text) for text in arguments.query]
    if arguments.timeout and not asked:
        # The tables of a large model take a while to write.
        rows = len(model.ground().sentences)
        arguments.clock.reserved = min(WRITING * rows, arguments.timeout / 4)
    found = arguments.clock.timely(model.maxent(**effort(arguments)))
    arguments.clock.silence()
    queries = [] if found.distribution is None else [_under(found, query) for query in asked]
    if found.distribution is not None and arguments.output is not None:
        _export(found.distribution, arguments.output)
    if arguments.json:
        write_json({**found.to_dict(), "queries": queries})
        return INTERRUPTED if found.is_interrupted else ANSWERED
    write(f"{found}\n")
    if queries:
        write("\n")
        write_table(PROBABILITIES, queries)
    elif found.distribution is not None and arguments.output is None:
        write(f"\n{_tables_text(found, found.distribution)}")
    return INTERRUPTED if found.is_interrupted else ANSWERED


def _under(found: MaximumEntropy, query: Query) -> dict[str, Any]:
    """Return the probability that the model gives; None where it gives the evidence none."""
    try:
        probability = found.probability(query.claim, query.given)
    except ImpossibleEvidence:
        probability = None
    return {"query": str(query), "probability": probability, "digits": found.digits(query.given)}


def _tables_text(found: MaximumEntropy, distribution: Distribution) -> str:
    from credalog.tables.conditional import chances

    digits = found.digits
    return "".join(f"{query} = {chance:.{digits(query.given)}f}\n" for query, chance in chances(distribution))


def _export(distribution: Distribution, path: str) -> None:
    """Write the model as JSON where the file's name asks for it, else as sentences."""
    from credalog.tables.conditional import as_tables, point_network
    from credalog.text.unparse import unparse_network

    if path.endswith(".json"):
        write_json(as_tables(distribution), path)
    else:
        write(unparse_network(point_network(distribution)), path)


# ---- the commands -------------------------------------------------------------------------------------

ASSIGNING = (
    Argument(
        "--variables",
        "the variables to assign, with blanks between them (default: all that are not observed)",
        "X",
        nargs="+",
        action="extend",
    ),
    Argument(
        "--criterion",
        "which interval is better (default maximax)",
        default="maximax",
        choices=get_args(CriterionName),
    ),
    Argument("--alpha", "the optimism of hurwicz, 0 to 1 (default 0.5)", "A", share),
    Argument("--top", "how many assignments to list (default 1)", "K", positive(int), 1),
)
MEASURING = (
    Argument("--most", "drop at most N sentences (default 20)", "N", positive(int), 20),
    Argument(
        "--measure",
        "also imagine that this probability were measured; may be repeated",
        "QUERY",
        default=[],
        action="append",
    ),
    Argument("--within", "the precision of the measurement (default 0.01)", "W", precision),
)

RANKING_MEASURES = (
    Argument("--most", "imagine at most N measurements (default 20)", "N", positive(int), 20),
    Argument("--within", "the precision of a measurement (default 0.01)", "W", precision),
)

EXPLAINING = (
    Command(
        "map",
        "find the assignments with the best posterior intervals",
        (*EFFORT, EVIDENCE, *ASSIGNING, CERTIFICATE),
        map_,
    ),
    Command(
        "explain",
        "say which sentences hold an interval",
        (*EFFORT, EVIDENCE, QUERY, *MEASURING, PLOT),
        explain,
    ),
    Command(
        "measure",
        "rank what could be found out by what it would be worth",
        (*EFFORT, EVIDENCE, QUERY, *RANKING_MEASURES, PLOT),
        measure,
    ),
    Command(
        "maxent",
        "find the model of greatest entropy",
        (*EFFORT, replace(QUERY, nargs="*", default=[]), OUTPUT),
        maxent,
    ),
)
