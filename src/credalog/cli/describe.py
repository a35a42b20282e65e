"""Commands that show a network without asking anything of it: ground, widen, graph, independences.

Input: the arguments of one command. Output: what the network says, as text, JSON or a picture.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credalog.cli.command import (
    ANSWERED,
    EFFORT,
    EVIDENCE,
    JSON,
    MODEL,
    OUTPUT,
    TIMEOUT,
    Argument,
    Command,
    effort,
    load_model,
    note,
    refuse_unless,
)
from credalog.cli.output import as_json, check_target, check_text_target, times_written, write, write_json
from credalog.errors import CredalogError

if TYPE_CHECKING:
    from credalog.choices import View
    from credalog.lcn import LCN
    from credalog.network.graph import DependencyGraph
    from credalog.network.sentences import Contrast, Independence, Network, Sentence
    from credalog.show.canvas import Picture


def ground(arguments: Namespace) -> int:
    """Write the ground network, its evidence and its queries, as a text of the same language or as JSON."""
    check_text_target(arguments)
    model = load_model(arguments)
    return _write_network(model.ground(), model, arguments)


def widen(arguments: Namespace) -> int:
    """Write the ground network with every probability an interval."""
    check_text_target(arguments)
    model = load_model(arguments)
    wider = model.widen(by=arguments.by, contaminate=arguments.contaminate, zeros=arguments.zeros)
    return _write_network(wider.ground(), model, arguments)


def _write_network(network: Network, model: LCN, arguments: Namespace) -> int:
    from credalog.text.unparse import unparse_formula, unparse_network

    if arguments.json:
        asked = {
            "evidence": unparse_formula(model.evidence),
            "queries": [str(query) for query in model.queries],
        }
        write_json({**_network_json(network), **asked}, arguments.output)
    else:
        text = unparse_network(network, evidence=model.evidence, queries=model.queries)
        write(text, arguments.output)
    return ANSWERED


def _network_json(network: Network) -> dict[str, Any]:
    return {
        "variables": [{"name": x.name, "values": list(x.values)} for x in network.variables],
        "sentences": [_sentence_json(sentence) for sentence in network.sentences],
        "contrasts": [_contrast_json(contrast) for contrast in network.contrasts],
        "independences": [one.to_dict() for one in network.independences],
    }


def _contrast_json(contrast: Contrast) -> dict[str, Any]:
    """Return a sentence across conditions, each claim with its own."""
    from credalog.text.unparse import unparse_formula

    terms = [
        {"weight": float(t.weight), "formula": unparse_formula(t.claim), "given": unparse_formula(t.given)}
        for t in contrast.terms
    ]
    return {
        "label": contrast.label,
        "terms": terms,
        "lower": float(contrast.lower),
        "upper": float(contrast.upper),
        "tau": contrast.tau,
        "source": str(contrast.source) if contrast.source else None,
    }


def _sentence_json(sentence: Sentence) -> dict[str, Any]:
    from credalog.text.unparse import unparse_formula

    return {
        "label": sentence.label,
        "claims": [{"weight": float(w), "formula": unparse_formula(f)} for w, f in sentence.claims],
        "given": unparse_formula(sentence.given),
        "lower": float(sentence.lower),
        "upper": float(sentence.upper),
        "tau": sentence.tau,
        "source": str(sentence.source) if sentence.source else None,
    }


def graph(arguments: Namespace) -> int:
    """Draw the dependency graph: what depends on what, with formulas or intervals, or before grounding."""
    check_target(arguments.output, model=arguments.file, read=arguments.data or ())
    form: str | None = arguments.form or _form_of(arguments.output)
    _require_one_form(form, arguments.output)
    refuse_unless(not arguments.marginals or form in LABELLED, "--marginals", "--svg, --png, --pdf or --dot")
    refuse_unless(not arguments.evidence or arguments.marginals, "--evidence", "--marginals")
    refuse_unless(arguments.view != "plates" or form in PICTURES, "--plates", "--svg, --png or --pdf")
    alone = not arguments.marginals or arguments.view is None
    refuse_unless(alone, "--marginals", "variables, without --formulas and --plates")
    if form is not None and form in ("png", "pdf") and arguments.output is None and sys.stdout.isatty():
        raise CredalogError(
            f"a {form.upper()} picture would fill the terminal with noise",
            advice=f"Name a file for it: --{form} -o graph.{form}",
        )
    model = load_model(arguments)
    content = _drawn(model, form, arguments)
    arguments.clock.silence()
    write(content, arguments.output)
    return ANSWERED


def _form_of(output: str | None) -> str | None:
    """Return the form that the name of a file asks for; none is plain text."""
    suffix = Path(output or "").suffix.lower().removeprefix(".")
    named = {"mmd": "mermaid", "gv": "dot", "txt": "", "md": ""}.get(suffix, suffix)
    if named and named not in (*LABELLED, "json"):
        known = ".svg, .png, .pdf, .dot, .mmd, .json or .txt"
        raise CredalogError(
            f"no graph is written in the form of .{suffix}",
            advice=f"Let the name end in {known}; or say the form: --svg, --dot, …",
        )
    return named or None


def _require_one_form(form: str | None, output: str | None) -> None:
    """Refuse a picture of one form under a name that promises another: no program would show it."""
    suffix = Path(output or "").suffix.lower()
    if suffix.removeprefix(".") in PICTURES and suffix != f".{form}":
        raise CredalogError(
            f"{output} would hold what --{form} writes, whatever its name says",
            advice=f"Leave --{form} out, or name the file {Path(output or '').with_suffix(f'.{form}')}.",
        )


def _drawn(model: LCN, form: str | None, arguments: Namespace) -> str | bytes:
    """Return the graph in a form, drawn as the view asks for."""
    if form is not None and form in PICTURES:
        picture = model.plates() if arguments.view == "plates" else _picture(model, arguments)
        return picture.svg() if form == "svg" else picture.in_form(form)
    drawn: DependencyGraph = model.graph
    view: View = arguments.view or "variables"
    match form:
        case "json":
            return as_json(drawn.to_dict())
        case "dot":
            return drawn.dot(view=view, marginals=_marginals(model, arguments))
        case "mermaid":
            return drawn.mermaid(view=view, marginals=_marginals(model, arguments))
        case _:
            return f"{drawn}\n"


def _picture(model: LCN, arguments: Namespace) -> Picture:
    shown = _marginals(model, arguments)
    evidence = model.evidence
    return model.graph.picture(view=arguments.view or "variables", marginals=shown, evidence=evidence)


def _marginals(model: LCN, arguments: Namespace) -> Iterable[Any]:
    """Bound every variable, if the picture is to show it."""
    if not arguments.marginals:
        return ()
    return model.marginals(**effort(arguments, left=max(len(model.variables), 1)))


def schema(arguments: Namespace) -> int:
    """Write the JSON Schema of what a command writes with --json, or list what there are schemas of."""
    from credalog.schemas import NAMES
    from credalog.schemas import schema as schema_of

    write(
        "".join(f"{name}\n" for name in NAMES) if arguments.of is None else as_json(schema_of(arguments.of))
    )
    return ANSWERED


def independences(arguments: Namespace) -> int:
    """List the independences, those of the Markov condition and then those declared, as they are found."""
    from credalog.network import graph as markov

    model = load_model(arguments)
    network = model.ground()
    wanted = dict.fromkeys([model.variable(name) for name in arguments.variable] or network.variables)
    implied = markov.independences(model.graph, wanted)
    declared = (one for one in network.independences if not wanted.keys().isdisjoint(one.left + one.right))
    found = chain(implied, declared)
    before = times_written()
    try:
        for line in _json_lines(found) if arguments.json else (f"{one}\n" for one in found):
            write(line)
    except KeyboardInterrupt:
        # What was found so far is a list, too.
        write('\n], "is_complete": false}\n' if arguments.json else "")
        raise
    if times_written() == before:
        note(f"{arguments.file} implies no independence{' of these' if arguments.variable else ''}")
    return ANSWERED


def _json_lines(found: Iterable[Independence]) -> Iterator[str]:
    """Yield one JSON document piece by piece: the list may be far larger than memory."""
    yield '{"independences": ['
    for i, one in enumerate(found):
        yield ("," if i else "") + "\n  " + json.dumps(one.to_dict(), ensure_ascii=False)
    yield "\n]}\n"


FORMS = tuple(
    Argument(f"--{form}", what, action="store_const", dest="form", const=form)
    for form, what in (
        ("dot", "write the DOT language"),
        ("svg", "draw an SVG picture"),
        ("png", "draw a PNG picture (needs matplotlib)"),
        ("pdf", "draw a PDF picture (needs matplotlib)"),
        ("mermaid", "write a Mermaid flowchart"),
        ("json", "write JSON instead of text"),
    )
)
PICTURES = ("svg", "png", "pdf")
LABELLED = (*PICTURES, "dot", "mermaid")
"""The forms in which a node has room for more than its name."""

VIEWS = (
    Argument(
        "--formulas",
        "show the formulas, too, as the paper does",
        action="store_const",
        dest="view",
        const="formulas",
    ),
    Argument(
        "--plates",
        "draw the rules before grounding, in plates",
        action="store_const",
        dest="view",
        const="plates",
    ),
    Argument("--marginals", "write the interval of every variable on it", action="store_true"),
)
WIDENING = (
    Argument("--by", "P becomes [P - W, P + W]", "W"),
    Argument("--contaminate", "P becomes (1 - E) P + E Q for any distribution Q", "E"),
    Argument("--zeros", "widen what is impossible or certain, too", action="store_true"),
)
VARIABLES = Argument("variable", "list only those of these variables", "VARIABLE", nargs="*", default=[])

SCHEMA = Argument(
    "of", "a command, `progress` or `certificate`; without it they are listed", "NAME", nargs="?"
)

DESCRIBING = (
    Command("ground", "write the ground network", (*MODEL, TIMEOUT, JSON, OUTPUT), ground),
    Command("widen", "make every probability an interval", (*MODEL, TIMEOUT, *WIDENING, JSON, OUTPUT), widen),
    Command("graph", "draw the dependency graph", (*EFFORT[:-1], EVIDENCE, *VIEWS, *FORMS, OUTPUT), graph),
    Command(
        "independences",
        "list the independences a network implies",
        (*MODEL, TIMEOUT, VARIABLES, JSON),
        independences,
    ),
    Command(
        "schema",
        "write the JSON Schema of what --json writes",
        (SCHEMA, TIMEOUT),
        schema,
    ),
)
