"""Commands that make a network of another: learn and convert.

Input: the arguments of one command. Output: a file in which the numbers come from data, or the same
network in another form.
"""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credalog.cli.command import ANSWERED, JSON, MODEL, OUTPUT, TIMEOUT, Argument, Command, load_model, note
from credalog.cli.output import check_target, check_text_target, write, write_json
from credalog.errors import CredalogError

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.text.sheets import Sheet

FORMS = ("lcn", "v-credal", "h-credal", "bayes", "bif")


def learn(arguments: Namespace) -> int:
    """Fill in every `?` of a model from a table of observations, and write the result."""
    from credalog.text.sheets import TABLES

    suffixes = Path(arguments.file).suffix.lower(), Path(arguments.observations).suffix.lower()
    if suffixes[0] in TABLES and suffixes[1] not in TABLES:
        raise CredalogError(
            f"{arguments.file} is a table, not a model", advice="The model comes first, then the table."
        )
    check_text_target(arguments, arguments.observations)
    sheet = _sheet(arguments.observations)
    model = _structure(arguments, sheet)
    learned = model.learn(
        sheet,
        method=arguments.method,
        s=arguments.s,
        confidence=arguments.confidence,
        simultaneous=arguments.simultaneous,
        columns=dict(map(_renamed, arguments.column)),
        missing=arguments.missing,
        report=note,
    )
    if arguments.json:
        write_json([_told(sentence) for sentence in learned.theory.rules], arguments.output)
    else:
        write(learned.unparse(), arguments.output)
    return ANSWERED


def _sheet(data: str) -> Sheet:
    from credalog.text.sheets import query_sheet, read_sheet

    is_query = data.split(maxsplit=1)[:1] and data.split(maxsplit=1)[0].lower() in ("select", "from", "with")
    return query_sheet(data) if is_query and " " in data else read_sheet(data)


def _structure(arguments: Namespace, sheet: Sheet) -> LCN:
    """Read what is to be learned: a model with `?`, or a structure alone."""
    from credalog.lcn import LCN
    from credalog.text.readers import read_structure
    from credalog.text.statements import text_of

    path = Path(arguments.file)
    match path.suffix.lower():
        case ".bif":
            return LCN.from_network(read_structure(path))
        case ".json":
            try:
                parents = json.loads(text_of(path))
            except json.JSONDecodeError as error:
                raise CredalogError(f"{path} is not JSON: {error.msg.lower()}") from None
            if not isinstance(parents, dict):
                raise CredalogError(f"{path} is no list of parents", advice='Write {"a": [], "b": ["a"]}.')
            return LCN.structure(parents, sheet)
        case _:
            return load_model(arguments)


def _renamed(words: str) -> tuple[str, str]:
    name, equals, heading = words.partition("=")
    if not equals:
        raise CredalogError(f"{words} names no column", advice='Write --column smoker="Smokes (y/n)".')
    return name.strip(), heading.strip()


def _told(rule: Any) -> dict[str, Any]:
    from credalog.text.unparse import unparse_rule
    from credalog.theory import Assessment

    told: dict[str, Any] = {"text": unparse_rule(rule), "label": rule.label}
    if isinstance(rule.assessment, Assessment):
        told |= {"lower": float(rule.assessment.lower), "upper": float(rule.assessment.upper)}
    return told if rule.learned is None else told | {"learned": rule.learned.to_dict()}


def convert(arguments: Namespace) -> int:
    """Write a network in another form, which the name of the file tells."""
    from credalog.show.formats import is_precise

    target = arguments.target
    check_target(target, model=arguments.file, read=arguments.data or ())
    model = load_model(arguments)
    form = arguments.form or {".lcn": "lcn", ".bif": "bif", ".uai": "uai"}.get(Path(target).suffix.lower())
    if form is None:
        raise CredalogError(
            f"the form of {target} is not known", advice=f"Name it: --form {' | '.join(FORMS)}."
        )
    if form == "uai":
        form = "bayes" if is_precise(model.ground()) else "v-credal"
    text = model.written(form)
    if form != "lcn":
        _mention_losses(model, form)
    write(text, target)
    if arguments.json:
        network = model.ground()
        counts = {"variables": len(network.variables), "sentences": len(network.sentences)}
        write_json({"file": target, "form": form, **counts})
    return ANSWERED


def _mention_losses(model: LCN, form: str) -> None:
    if form != "bif":
        note(f"{form.upper()} has no names: variables and values are numbered in their order")
    if model.queries or model.evidence != model.formula("true"):
        note(f"{form.upper()} has no queries and no evidence: they are left out")


LEARNING = (
    Argument("observations", "a table with a row for each case: CSV, Parquet, or a query of SQL", "DATA"),
    Argument("--method", "dirichlet (default), clopper_pearson or wilson", "METHOD", default="dirichlet"),
    Argument("--s", "the strength of the Dirichlet model (default 2)", "S"),
    Argument("--confidence", "of each interval, or of all together (default 95%%)", "C"),
    Argument(
        "--simultaneous",
        "all intervals hold together at the confidence",
        choices=("bonferroni", "holm"),
    ),
    Argument(
        "--column", "the column of a variable; may be repeated", "NAME=HEADING", default=[], action="append"
    ),
    Argument(
        "--missing",
        "another word for a missing value; may be repeated",
        "WORD",
        default=[],
        action="append",
    ),
)
TARGET = Argument("target", "the file to write: .lcn, .bif or .uai", "OUT")
FORM = Argument("--form", "the form, where the name does not tell it", choices=FORMS)

CONVERTING = (
    Command("learn", "fill in every `?` from data", (*MODEL, TIMEOUT, *LEARNING, JSON, OUTPUT), learn),
    Command("convert", "write a network in another form", (*MODEL, TIMEOUT, TARGET, FORM, JSON), convert),
)
