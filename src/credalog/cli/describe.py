"""Commands that explain a network without asking anything of it: check, ground, graph, independences.

Input: the arguments of one command. Output: what the network says, as text, JSON or a picture.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

from credalog.cli.command import ANSWERED, Command, add_json, add_model, add_output, load_model
from credalog.cli.diagnose import add_diagnosis, diagnosis_code, diagnosis_text
from credalog.cli.output import write, write_json
from credalog.errors import CredalogError

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.network.formulas import Variable
    from credalog.network.sentences import Independence, Network, Sentence
    from credalog.network.summary import Summary
    from credalog.questions.diagnose import Diagnosis

__all__ = ["DESCRIBING"]

LARGE = 2_000
"""With more variables a contradiction is looked for only where a timeout is given."""

DIAGNOSIS_SECONDS = 30.0

MOST_TIES = 5
"""So many sentences that tie atoms are listed."""

NOT_DIAGNOSED = f"  {'consistent':<15}not looked into: the network is large (give --timeout to try)\n"


def check(arguments: Namespace) -> int:
    """Read and ground a file, say what it amounts to, and whether it contradicts itself."""
    from credalog.network.summary import summarize, ties

    model = load_model(arguments)
    network = model.ground()
    found = summarize(network, model.graph)
    queries = len(model.queries)
    diagnosis = _diagnosis(model, arguments)
    if arguments.json:
        diagnosed = None if diagnosis is None else diagnosis.to_dict()
        counted = {"file": arguments.file, **asdict(found), "queries": queries}
        tied = [{**s.to_dict(), "ties": _names(s.claim_scope)} for s in ties(network)]
        write_json({**counted, "ties": tied, "diagnosis": diagnosed})
    else:
        facts = {**_facts(found), "queries": f"{queries:,}"}
        write(f"{arguments.file} is well formed.\n", None)
        write("".join(f"  {word:<15}{fact}\n" for word, fact in facts.items()), None)
        write("".join(f"  {line}\n" for line in _ties(list(ties(network)))), None)
        write(NOT_DIAGNOSED if diagnosis is None else diagnosis_text(diagnosis), None)
    return diagnosis_code(diagnosis)


def _diagnosis(model: LCN, arguments: Namespace) -> Diagnosis | None:
    """Look for a contradiction; in a large network only for as long as the user says."""
    if arguments.timeout is None and len(model.variables) > LARGE:
        return None
    return model.diagnose(
        timeout=arguments.timeout or DIAGNOSIS_SECONDS,
        markov=arguments.markov,
        weights=dict(arguments.weight),
    )


def _ties(tying: Sequence[Sentence]) -> Iterator[str]:
    """Say which sentences tie which atoms to each other, as far as that can be listed."""
    for n, sentence in enumerate(tying[:MOST_TIES]):
        word = "" if n else "tied"
        yield f"{word:<15}{', '.join(_names(sentence.claim_scope))}, by {sentence.name}: {_said(sentence)}"
    if len(tying) > MOST_TIES:
        yield f"{'':<15}and by {len(tying) - MOST_TIES:,} more sentences"


def _said(sentence: Sentence) -> str:
    from credalog.text import said

    return said(sentence)


def _facts(found: Summary) -> dict[str, str]:
    declared = f", and {found.declared:,} declared" if found.declared else ""
    least = "at least " if found.uncounted else ""
    unsure = f" ({found.uncounted:,} variables take too long to settle)" if found.uncounted else ""
    wide = (
        "too wide to tabulate" if found.widest_clique is None else f"{found.widest_clique} variables expected"
    )
    return {
        "atoms": f"{found.variables:,}",
        "sentences": f"{found.sentences:,}",
        "independences": f"{least}{found.independences:,}{unsure}{declared}",
        "cyclic": _cycles(found),
        "widest clique": wide,
    }


def _cycles(found: Summary) -> str:
    if not found.cycles:
        return "no"
    sizes = f"{found.cycles[-1]} to {found.cycles[0]}" if len(set(found.cycles)) > 1 else f"{found.cycles[0]}"
    count = len(found.cycles)
    components = f"{count:,} components of {sizes}" if count > 1 else f"one component of {sizes}"
    return f"yes: {components} variables; with their ancestors {found.core:,}"


def ground(arguments: Namespace) -> int:
    """Write the ground network, its evidence and its queries, as a text of the same language or as JSON."""
    from credalog.text import unparse_formula, unparse_network, unparse_query

    model = load_model(arguments)
    if arguments.json:
        asked = {
            "evidence": unparse_formula(model.evidence),
            "queries": [unparse_query(query) for query in model.queries],
        }
        write_json({**_network_json(model.ground()), **asked}, arguments.output)
    else:
        text = unparse_network(model.ground(), evidence=model.evidence, queries=model.queries)
        write(text, arguments.output)
    return ANSWERED


def _network_json(network: Network) -> dict[str, Any]:
    return {
        "variables": [{"name": x.name, "values": list(x.values)} for x in network.variables],
        "sentences": [_sentence_json(sentence) for sentence in network.sentences],
        "independences": [one.to_dict() for one in network.independences],
    }


def _sentence_json(sentence: Sentence) -> dict[str, Any]:
    from credalog.text import unparse_formula

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

    drawn = load_model(arguments).graph
    match arguments.form:
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
            draw = {"dot": drawing.as_dot, "svg": drawing.as_svg, "text": drawing.as_text}[form]
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
    lines = _json_lines(found) if arguments.json else (f"{one}\n" for one in found)
    for line in lines:
        write(line, None)
    return ANSWERED


def _names(variables: Iterable[Variable]) -> list[str]:
    return [x.name for x in variables]


def _json_lines(found: Iterable[Independence]) -> Iterator[str]:
    """Yield one JSON document piece by piece: the list may be far larger than memory."""
    yield '{"independences": ['
    for i, one in enumerate(found):
        yield ("," if i else "") + "\n  " + json.dumps(one.to_dict(), ensure_ascii=False)
    yield "\n]}\n"


def _check_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    add_diagnosis(parser)
    add_json(parser)


def _ground_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    add_json(parser)
    add_output(parser)


def _graph_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    forms = parser.add_mutually_exclusive_group()
    for form, what in (
        ("dot", "write the DOT language"),
        ("svg", "draw an SVG picture"),
        ("png", "draw a PNG picture (needs matplotlib)"),
        ("json", "write JSON instead of text"),
    ):
        forms.add_argument(
            f"--{form}", dest="form", action="store_const", const=form, default="text", help=what
        )
    add_output(parser)


def _independences_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("variable", metavar="VARIABLE", nargs="*", help="list only those of these variables")
    add_json(parser)


DESCRIBING = (
    Command(
        "check",
        "say what a file amounts to, and whether it contradicts itself",
        _check_arguments,
        check,
    ),
    Command("ground", "write the ground network", _ground_arguments, ground),
    Command("graph", "draw the dependency graph", _graph_arguments, graph),
    Command(
        "independences", "list the independences a network implies", _independences_arguments, independences
    ),
)
