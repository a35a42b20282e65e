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

from credalog.cli.command import ANSWERED, JSON, MODEL, OUTPUT, TIMEOUT, Argument, Command, load_model
from credalog.cli.output import check_target, write, write_json
from credalog.errors import CredalogError

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.network.sentences import Independence, Network, Sentence


def ground(arguments: Namespace) -> int:
    """Write the ground network, its evidence and its queries, as a text of the same language or as JSON."""
    model = load_model(arguments)
    return _write_network(model.ground(), model, arguments)


def widen(arguments: Namespace) -> int:
    """Write the ground network with every probability an interval."""
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
        "independences": [one.to_dict() for one in network.independences],
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
    """Draw the dependency graph."""
    from credalog.show import drawing

    check_target(arguments.output, model=arguments.file)
    drawn = load_model(arguments).graph
    suffix = Path(arguments.output or "").suffix.lower().removeprefix(".")
    match arguments.form or (suffix if suffix in ("dot", "svg", "png", "json") else None):
        case "json":
            write_json(drawn.to_dict(), arguments.output)
        case "png":
            if arguments.output is None and sys.stdout.isatty():
                raise CredalogError(
                    "a PNG picture would fill the terminal with noise",
                    advice="Name a file for it: --png -o graph.png",
                )
            write(drawing.as_png(drawn), arguments.output)
        case form:
            draw = {"dot": drawing.as_dot, "svg": drawing.as_svg, None: drawing.as_text}[form]
            write(draw(drawn), arguments.output)
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
    try:
        for line in _json_lines(found) if arguments.json else (f"{one}\n" for one in found):
            write(line)
    except KeyboardInterrupt:
        # What was found so far is a list, too.
        write('\n], "is_complete": false}\n' if arguments.json else "")
        raise
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
        ("json", "write JSON instead of text"),
    )
)
WIDENING = (
    Argument("--by", "P becomes [P - W, P + W]", "W"),
    Argument("--contaminate", "P becomes (1 - E) P + E Q for any distribution Q", "E"),
    Argument("--zeros", "widen what is impossible or certain, too", action="store_true"),
)
VARIABLES = Argument("variable", "list only those of these variables", "VARIABLE", nargs="*")

DESCRIBING = (
    Command("ground", "write the ground network", (*MODEL, TIMEOUT, JSON, OUTPUT), ground),
    Command("widen", "make every probability an interval", (*MODEL, TIMEOUT, *WIDENING, JSON, OUTPUT), widen),
    Command("graph", "draw the dependency graph", (*MODEL, TIMEOUT, *FORMS, OUTPUT), graph),
    Command(
        "independences",
        "list the independences a network implies",
        (*MODEL, TIMEOUT, VARIABLES, JSON),
        independences,
    ),
)
