"""JSON Schemas of everything that is written as JSON.

Input: the name of a command, or `batch`, `progress`, `certificate` (a line of each). Output: a schema (JSON
Schema, 2020-12). It is strict: a key that is missing, and one that nobody knows, is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from credalog.errors import UnknownName

__all__ = ["NAMES", "schema"]

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
NUMBER: Schema = {"type": "number"}
FINITE_OR_NULL: Schema = {"type": ["number", "null"]}
SECONDS: Schema = {"type": "number", "minimum": 0}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
PROBABILITY: Schema = {"type": "number", "minimum": 0, "maximum": 1}
FRACTION: Schema = {"type": "string", "pattern": r"^-?\d+(\.\d+)?(/\d+)?$"}


def _object(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: Schema, *, least: int = 0) -> Schema:
    return {"type": "array", "items": items} | ({"minItems": least} if least else {})


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _or_null(one: Schema) -> Schema:
    return {"anyOf": [one, {"type": "null"}]}


def _one_of(*words: str) -> Schema:
    return {"enum": list(words)}


def _any(*kinds: Schema) -> Schema:
    return {"anyOf": list(kinds)}


# ---- what several outputs have in common --------------------------------------------------------------

WARRANT = _one_of("CHECKED", "CLAIMED", "HEURISTIC")
VERDICT = _one_of("CERTAIN", "EXCLUDED", "UNDETERMINED", "UNDECIDED")
STATUS = _one_of("EXACT", "BOUNDED", "APPROXIMATE", "UNDECIDED", "INTERRUPTED")
MARKOV = _one_of("local", "global", "none")

INTERVAL: dict[str, Schema] = {
    # A quotient may have no bound: infinity is null.
    "lower": FINITE_OR_NULL,
    "upper": FINITE_OR_NULL,
    "lower_witnessed": FINITE_OR_NULL,
    "upper_witnessed": FINITE_OR_NULL,
    "lower_warrant": WARRANT,
    "upper_warrant": WARRANT,
}
SCALE: dict[str, Schema] = {"least": FINITE_OR_NULL, "greatest": FINITE_OR_NULL}

ESTIMATE = _object(
    {
        "n": _list(COUNT, least=2),
        "successes": _list(COUNT, least=2),
        "method": _one_of("dirichlet", "clopper_pearson", "wilson"),
    },
    {"s": NUMBER, "confidence": PROBABILITY, "simultaneous": TEXT, "intervals": COUNT},
)
WORDS: dict[str, Schema] = {"label": TEXT, "source": {"type": ["string", "null"]}, "text": TEXT}
LEARNED: dict[str, Schema] = {"learned": _ref("estimate")}

DEFINITIONS: dict[str, Schema] = {
    "estimate": ESTIMATE,
    "sentence": _object(WORDS, LEARNED),
    "nested": _any(NUMBER, _list(_ref("nested"))),
    "table": _object({"variable": TEXT, "values": TEXTS, "parents": TEXTS, "table": _list(_ref("nested"))}),
    "tables": _list(_ref("table")),
    "answer": _object(
        {"query": TEXT, **INTERVAL, "status": STATUS, "method": TEXT, "tried": TEXTS, "seconds": SECONDS},
        {**SCALE, "lower_witness": _or_null(_ref("tables")), "upper_witness": _or_null(_ref("tables"))},
    ),
    "unfinished": _object(
        {
            "query": TEXT,
            **INTERVAL,
            "status": _one_of("INTERRUPTED", "UNDECIDED"),
            "method": TEXT,
            "seconds": SECONDS,
        },
        SCALE,
    ),
    "failed": _object(
        {"query": TEXT, "status": _one_of("FAILED"), "error": TEXT, "exit_code": COUNT},
    ),
    "stopped": _object({"status": _one_of("INTERRUPTED", "UNDECIDED"), "is_interrupted": FLAG}),
    "answers": _list(_any(_ref("answer"), _ref("unfinished"), _ref("failed"))),
    "decision": _object(
        {
            "statement": TEXT,
            "query": TEXT,
            "relation": _one_of(">=", "<=", ">", "<", "="),
            "threshold": NUMBER,
            "verdict": VERDICT,
            **INTERVAL,
            "stage": TEXT,
            "seconds": SECONDS,
        },
        SCALE,
    ),
    "undecidable": _object(
        {"statement": TEXT, "status": _one_of("FAILED"), "error": TEXT, "exit_code": COUNT}
    ),
    "together": _object({"statement": _one_of("all together"), "verdict": VERDICT, "stage": TEXT}),
    "independence": _object({"left": TEXTS, "right": TEXTS, "given": TEXTS}),
    "tie": _object({**WORDS, "ties": TEXTS}, LEARNED),
    "culprit": _object({**WORDS, "by_lower": FLAG, "by_upper": FLAG}, LEARNED),
    "conflict": _object({"is_minimal": FLAG, "sentences": _list(_ref("culprit"))}),
    "change": _object({**WORDS, "lower": NUMBER, "upper": NUMBER}, LEARNED),
    "repair": _object(
        {
            "price": NUMBER,
            "at_least": NUMBER,
            "is_checked": FLAG,
            "possible": TEXTS,
            "changes": _list(_ref("change")),
        }
    ),
    "diagnosis": _object(
        {
            "verdict": _one_of("CONSISTENT", "INCONSISTENT", "UNDECIDED"),
            "model": _or_null(_ref("tables")),
            "conflict": _or_null(_ref("conflict")),
            "repair": _or_null(_ref("repair")),
            "is_interrupted": FLAG,
            "seconds": SECONDS,
        }
    ),
    "weighed": _object({"weight": NUMBER, "formula": TEXT}),
    "compared": _object({"weight": NUMBER, "formula": TEXT, "given": TEXT}),
    "ground_sentence": _object(
        {
            "label": TEXT,
            "claims": _list(_ref("weighed"), least=1),
            "given": TEXT,
            "lower": NUMBER,
            "upper": NUMBER,
            "tau": FLAG,
            "source": {"type": ["string", "null"]},
        }
    ),
    "contrast": _object(
        {
            "label": TEXT,
            "terms": _list(_ref("compared"), least=1),
            "lower": NUMBER,
            "upper": NUMBER,
            "tau": FLAG,
            "source": {"type": ["string", "null"]},
        }
    ),
    "influence": _object(
        {**WORDS, "lower_move": NUMBER, "upper_move": NUMBER, "without": _ref("answer")}, LEARNED
    ),
    "scenario": _object({"value": NUMBER, "answer": _or_null(_ref("answer"))}),
    "measurement": _object(
        {
            "measured": _ref("answer"),
            "within": NUMBER,
            "width_before": FINITE_OR_NULL,
            "width_best": FINITE_OR_NULL,
            "width_worst": FINITE_OR_NULL,
            "width_at_most": FINITE_OR_NULL,
            "doubt": TEXT,
            "scenarios": _list(_ref("scenario")),
        }
    ),
    "assignment": _object(
        {
            "assignment": {"type": "object", "additionalProperties": TEXT},
            "score": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2},
            **INTERVAL,
        },
        SCALE,
    ),
    "witnesses": _object({"lower": _or_null(_ref("tables")), "upper": _or_null(_ref("tables"))}),
    "chance": _object({"query": TEXT, "probability": _or_null(PROBABILITY), "digits": COUNT}),
}

NETWORK = _object(
    {
        "variables": _list(_object({"name": TEXT, "values": _list(TEXT, least=1)})),
        "sentences": _list(_ref("ground_sentence")),
        "contrasts": _list(_ref("contrast")),
        "independences": _list(_ref("independence")),
        "evidence": TEXT,
        "queries": TEXTS,
    }
)

# ---- the commands -------------------------------------------------------------------------------------

COMMANDS: dict[str, Schema] = {
    "query": _ref("answers"),
    "marginals": _ref("answers"),
    "run": _ref("answers"),
    "decide": _list(_any(_ref("decision"), _ref("undecidable"), _ref("together"))),
    "check": _object(
        {
            "file": TEXT,
            "variables": COUNT,
            "sentences": COUNT,
            "formulas": COUNT,
            "independences": COUNT,
            "uncounted": COUNT,
            "declared": COUNT,
            "cycles": _list(COUNT),
            "core": COUNT,
            "widest_clique": {"type": ["integer", "null"]},
            "queries": COUNT,
            "wanted": COUNT,
            "ties": _list(_ref("tie")),
            "diagnosis": _or_null(_ref("diagnosis")),
        }
    ),
    "repair": _object(
        {
            "diagnosis": _ref("diagnosis"),
            "repairs": _list(_ref("repair")),
            "is_interrupted": FLAG,
            "seconds": SECONDS,
        }
    ),
    "ground": NETWORK,
    "widen": NETWORK,
    "graph": _object(
        {
            "variables": TEXTS,
            "formulas": TEXTS,
            "edges": _list({"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}),
            "parents": {"type": "object", "additionalProperties": TEXTS},
            "components": _list(TEXTS),
        }
    ),
    "independences": _object(
        {"independences": _list(_ref("independence"))}, {"is_complete": {"const": False}}
    ),
    "map": _object(
        {
            "criterion": _one_of("maximax", "maximin", "hurwicz", "dominance"),
            "alpha": PROBABILITY,
            "variables": TEXTS,
            "evidence": TEXT,
            "assignments": _list(_ref("assignment")),
            "bound": FINITE_OR_NULL,
            "gap": FINITE_OR_NULL,
            "is_proved": FLAG,
            "is_complete": FLAG,
            "is_interrupted": FLAG,
            "nodes": COUNT,
            "seconds": SECONDS,
        }
    ),
    "explain": _object(
        {
            "answer": _ref("answer"),
            "influences": _list(_ref("influence")),
            "silent": _list(_ref("sentence")),
            "untried": _list(_ref("sentence")),
            "is_interrupted": FLAG,
            "doubt": TEXT,
            "measurements": _list(_ref("measurement")),
        }
    ),
    "measure": _object(
        {
            "answer": _ref("answer"),
            "measurements": _list(_ref("measurement")),
            "untried": TEXTS,
            "is_interrupted": FLAG,
            "seconds": SECONDS,
        }
    ),
    "maxent": _object(
        {
            "status": STATUS,
            "entropy": FINITE_OR_NULL,
            "at_most": FINITE_OR_NULL,
            "is_interrupted": FLAG,
            "seconds": SECONDS,
            "tables": _or_null(_ref("tables")),
            "queries": _list(_ref("chance")),
        }
    ),
    "learn": _list(
        _object({"text": TEXT, "label": TEXT}, {"lower": NUMBER, "upper": NUMBER, **LEARNED})
        | {"dependentRequired": {"lower": ["upper"], "upper": ["lower"]}}
    ),
    "convert": _object(
        {
            "file": TEXT,
            "form": _one_of("lcn", "v-credal", "h-credal", "bayes", "bif"),
            "variables": COUNT,
            "sentences": COUNT,
        }
    ),
    "verify": _object({"certificate": TEXT, "verified": TEXTS}),
    "play": _object({"address": {"type": "string", "pattern": "^http://"}}),
    "examples": _object({"folder": TEXT, "examples": _list(_object({"file": TEXT, "shows": TEXT}), least=1)}),
}
"""What `--json` writes, by the name of the command."""

# ---- lines --------------------------------------------------------------------------------------------

EVENT = _list({"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2})
CLAIM = {"claim": _one_of("lower", "upper"), "query": TEXT, "bound": FRACTION}
BEST_NODES: Schema = _one_of("value", "choose", "bound", "claims")
ORDERS: Schema = {**_list(_list(COUNT), least=2), "maxItems": 2}
NODES = _list({"type": "array", "prefixItems": [_one_of("leaf", "cut", "ends", "sum", "split")]}, least=1)
REASONS = _one_of("part", "sentence", "ratio", "product")

OUTCOME: dict[str, Schema] = {
    "id": {"type": ["string", "integer"]},
    "query": TEXT,
    "lower": FINITE_OR_NULL,
    "upper": FINITE_OR_NULL,
    "lower_witnessed": FINITE_OR_NULL,
    "upper_witnessed": FINITE_OR_NULL,
    "lower_warrant": _or_null(WARRANT),
    "upper_warrant": _or_null(WARRANT),
    "method": {"type": ["string", "null"]},
    "seconds": SECONDS,
}

LINES: dict[str, Schema] = {
    "batch": _any(
        _object(
            {**OUTCOME, "status": STATUS, "error": {"type": "null"}},
            {"model": TEXT, "witnesses": _ref("witnesses")},
        ),
        _object({**OUTCOME, "status": _one_of("FAILED"), "error": TEXT}, {"model": TEXT}),
    ),
    "progress": _object(
        {
            "progress": _object(
                {
                    "question": TEXT,
                    "end": TEXT,
                    "bound": FINITE_OR_NULL,
                    "witnessed": FINITE_OR_NULL,
                    "leaves": COUNT,
                    "stage": TEXT,
                    "seconds": SECONDS,
                }
            )
        }
    ),
    "certificate": _any(
        _object(
            {
                "format": _one_of("credalog certificate"),
                "version": {"const": 1},
                "network": {"type": "string", "pattern": "^[0-9a-f]{16,}$"},
                "markov": MARKOV,
            },
            {"slice": _list(TEXT)},
        ),
        _object(
            {
                **CLAIM,
                "table": COUNT,
                "tables": _list({"type": "array", "prefixItems": [_list(COUNT), EVENT], "minItems": 2}),
                "rows": _list({"type": "array", "prefixItems": [REASONS], "minItems": 2}),
                "nodes": NODES,
            },
            {"strict": {"const": True}},
        ),
        _object(
            {**CLAIM, "groups": _list({"type": "array", "minItems": 5, "maxItems": 5}), "nodes": NODES},
            {"strict": {"const": True}},
        ),
        _object(
            {
                "claim": _one_of("model"),
                "query": TEXT,
                "value": FRACTION,
                "within": FRACTION,
                "residual": FRACTION,
                "factors": _list({"type": "array", "minItems": 2}),
            },
            {"few": {"type": "object", "additionalProperties": _list(_list(TEXT), least=2)}},
        ),
        _object({**CLAIM, "orders": ORDERS}),
        _object(
            {
                "claim": _one_of("best"),
                "query": TEXT,
                "alpha": FRACTION,
                "score": FRACTION,
                "nodes": _list({"type": "array", "prefixItems": [BEST_NODES], "minItems": 1}),
                "orders": _or_null(ORDERS),
            }
        ),
    ),
}
"""A line of what is written line by line."""

NAMES: tuple[str, ...] = (*COMMANDS, *LINES)
"""What there are schemas of."""


def schema(name: str) -> Schema:
    """Return the schema of what a command writes with `--json`, or of a line; it stands by itself.

    A command that was stopped before it had anything to say writes only that it was.
    """
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1)
        advice = f"Did you mean {near[0]}?" if near else f"There are those of {', '.join(NAMES)}."
        raise UnknownName(f"there is no schema of {name}", advice=advice)
    content = _any(COMMANDS[name], _ref("stopped")) if name in COMMANDS else LINES[name]
    used = {one: DEFINITIONS[one] for one in sorted(set(_reached(content)))}
    title = f"credalog {name} --json" if name in COMMANDS else f"a line of {name}"
    return {"$schema": DRAFT, "title": title, **content} | ({"$defs": used} if used else {})


def _reached(content: Schema) -> Iterator[str]:
    """Yield the names of all definitions that a schema needs."""
    waiting, seen = list(_references(content)), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += _references(DEFINITIONS[name])
    yield from seen


def _references(content: Any) -> Iterator[str]:
    if isinstance(content, dict):
        if "$ref" in content:
            yield content["$ref"].rpartition("/")[2]
        for value in content.values():
            yield from _references(value)
    elif isinstance(content, list):
        for value in content:
            yield from _references(value)
