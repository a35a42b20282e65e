"""What users pass to questions, checked.

Input: names, counts and limits as they were given. Output: `Options` that make sense, or an error that says
what to write.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast, get_args

from credalog.choices import METHODS, MarkovName
from credalog.errors import CredalogError, UnknownName
from credalog.network.formulas import Is, Variable
from credalog.network.graph import Markov
from credalog.network.sentences import Number, exact

if TYPE_CHECKING:
    from credalog.methods.answer import Options, Report
    from credalog.program.workers import Workers


def options_of(
    timeout: float,
    tolerance: float,
    markov: MarkovName | Markov,
    *,
    method: str = "auto",
    report: Report | None = None,
) -> Options:
    """Return options that make sense, or say which does not."""
    from credalog.methods.answer import Options

    condition = Markov(one_of(markov, get_args(MarkovName), "Markov condition"))
    if report is not None and not callable(report):
        raise CredalogError(f"{report!r} is no function", advice="Give one: report=print.")
    return Options(tolerance, timeout, one_of(method, METHODS, "method"), condition, report).checked()


def workers_of(jobs: int, client: Any = None) -> Workers | None:
    """Return who helps with a search: a Dask client's workers, several processes of this machine, or none."""
    from credalog.program.workers import of_client, of_processes

    if client is not None:
        if not hasattr(client, "get_executor"):
            raise CredalogError(
                f"{client!r} is no client of Dask",
                advice='Give client=distributed.Client("tcp://host:8786").',
            )
        return of_client(client)
    # More processes than processors help nobody, and how many there are takes a while to find out.
    count = 1 if counted(jobs, "jobs") == 1 else min(jobs, os.cpu_count() or 1)
    return of_processes(count) if count > 1 else None


def one_of(chosen: object, known: tuple[str, ...], what: str) -> str:
    """Return a name that is known, or that of a member of an enumeration, and complain of any other."""
    name = chosen.value if isinstance(chosen, Enum) else chosen
    if name not in known:
        raise UnknownName(f"there is no {what} {name}", advice=f"Choose one of {', '.join(known)}.")
    return str(name)


def counted(number: int, name: str) -> int:
    """Return a count of one or more, and complain of anything else."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise CredalogError(f"{name}={number} is no count", advice=f"Give 1 or more: {name}=1.")
    return number


def several(variables: str | Variable | Is | Iterable[str | Variable | Is]) -> Iterable[str | Variable]:
    """Return variables one by one, propositions among them; a single one may stand alone."""
    alone = isinstance(variables, (str, Variable, Is))
    if not isinstance(variables, (str, Variable, Is, Iterable)) or isinstance(variables, Mapping):
        # Of a mapping the values would be lost without a word.
        advice = 'Write ["a", "b"]; what is observed is given={"c": True}.'
        raise CredalogError(f"{variables!r} is no list of variables", advice=advice)
    for named in cast("Iterable[str | Variable | Is]", [variables] if alone else variables):
        yield named.variable if isinstance(named, Is) else named


def require(given: object, kind: type | tuple[type, ...], what: str, advice: str) -> None:
    """Complain of what is not of the kind that is needed."""
    if not isinstance(given, kind):
        raise CredalogError(f"{given!r} is no {what}", advice=advice)


def precision_of(within: Number) -> Fraction:
    """Return how precisely something is measured, and complain of what is no precision."""
    precision = exact(within)
    if not 0 < precision <= 1:
        raise CredalogError(f"within={within} is no precision", advice="Give one: within=0.01.")
    return precision
