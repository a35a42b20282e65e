"""Write networks in the formats of others: UAI (V-CREDAL, H-CREDAL, BAYES) and BIF.

Input: a ground network that is a credal or Bayesian network. Output: the text of a file, as `text.uai`
and `text.bif` read it. UAI has no names: variables and values are numbered in their order.

Every number is written as a finite decimal, and exactly. A distribution that has none, such as 1/3 and
2/3, is multiplied by a number within 1e-`SPARE` of 1 for which it has: readers divide by the sum. An
inequality is multiplied out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from credalog.errors import LanguageError, ProblemTooLarge
from credalog.network.formulas import Variable
from credalog.network.graph import dependency_graph
from credalog.network.polytopes import LocalPolytope, Row, vacuous
from credalog.network.sentences import Network
from credalog.tables.credal import CredalNetwork, credal_network
from credalog.text.unparse import unparse_number

FORMS = ("v-credal", "h-credal", "bayes", "bif")

SPARE = 16
"""How many digits of the sum of a row that is no row of decimals are those of 1."""

_WORD = re.compile(r"[^\s{}()\[\],;|\"]+")


def formatted(network: Network, form: str) -> str:
    """Write a network in one of the forms."""
    credal = credal_network(network, dependency_graph(network))
    if credal is None:
        raise LanguageError(
            f"this is no credal network, so that it cannot be written as {form.upper()}",
            advice="In one, each sentence bounds one variable given all its parents, and there is no cycle. "
            "Any network can be written as a .lcn file.",
        )
    write = {"v-credal": _vertices, "h-credal": _inequalities, "bayes": _points, "bif": _bif}[form]
    return "".join(f"{line}\n" for line in write(credal))


def is_precise(network: Network) -> bool:
    """Tell whether a network is a Bayesian network."""
    credal = credal_network(network, dependency_graph(network))
    return credal is not None and all(credal.exact_table(x) is not None for x in range(len(credal.sizes)))


def _configurations(credal: CredalNetwork, x: int) -> Iterator[tuple[int, ...]]:
    return np.ndindex(*(credal.sizes[p] for p in credal.parents[x]))


def _numbers(row: Sequence[Fraction]) -> list[str]:
    """Write a distribution in finite decimals, with a sum of 1 or as good as 1."""
    written = [unparse_number(value) for value in row]
    if not any("/" in number for number in written):
        return written
    denominator = lcm(*(value.denominator for value in row))
    places = len(str(denominator)) + SPARE
    factor = round(Fraction(10**places, denominator))
    digits = [f"{int(value * denominator) * factor:0{places + 1}d}" for value in row]
    return [f"{number[:-places]}.{number[-places:]}" for number in digits]


# ---- UAI --------------------------------------------------------------------------------------------------


def _preamble(credal: CredalNetwork, kind: str) -> Iterator[str]:
    yield kind
    yield str(len(credal.sizes))
    yield " ".join(map(str, credal.sizes))
    yield str(len(credal.sizes))
    for x, parents in enumerate(credal.parents):
        yield " ".join(map(str, (len(parents) + 1, *parents, x)))


def _vertices(credal: CredalNetwork) -> Iterator[str]:
    yield from _preamble(credal, "V-CREDAL")
    for x, size in enumerate(credal.sizes):
        yield ""
        for configuration in _configurations(credal, x):
            try:
                found = credal.vertices(x, configuration)
            except ProblemTooLarge as error:
                raise ProblemTooLarge(error.message, advice="Write inequalities: H-CREDAL.") from None
            yield str(size * len(found))
            yield from (" ".join(_numbers(vertex)) for vertex in found)


def _points(credal: CredalNetwork) -> Iterator[str]:
    yield from _preamble(credal, "BAYES")
    for x, size in enumerate(credal.sizes):
        yield ""
        rows = _table(credal, x)
        yield str(size * len(rows))
        yield from (" ".join(_numbers(row)) for row in rows)


def _table(credal: CredalNetwork, x: int) -> list[list[Fraction]]:
    """Return the only distribution of a variable in each configuration of its parents."""
    found = credal.exact_table(x)
    if found is None:
        child = credal.network.variables[x]
        raise LanguageError(
            f"the probabilities of {child.name} are intervals, which this form cannot say",
            advice="Write V-CREDAL, H-CREDAL or a .lcn file.",
        )
    rows: list[list[Fraction]] = found.values.reshape(-1, credal.sizes[x]).tolist()
    return rows


def _inequalities(credal: CredalNetwork) -> Iterator[str]:
    yield from _preamble(credal, "H-CREDAL")
    for x, size in enumerate(credal.sizes):
        configurations = list(_configurations(credal, x))
        rows, bounds = list[str](), list[str]()
        for i, configuration in enumerate(configurations):
            before, after = ["0"] * (i * size), ["0"] * ((len(configurations) - 1 - i) * size)
            for coefficients, bound in _at_most(credal.polytopes[x].get(configuration) or vacuous(size)):
                rows.append(" ".join((*before, *coefficients, *after)))
                bounds.append(bound)
        yield ""
        yield str(len(rows) * size * len(configurations))
        yield from rows
        yield str(len(bounds))
        yield " ".join(bounds)


def _at_most(polytope: LocalPolytope) -> Iterator[tuple[list[str], str]]:
    """Yield coefficients and bound of each inequality that says something."""
    for row in polytope.rows:
        if row.upper < max(row.coefficients):
            yield _exactly(row, row.upper, 1)
        if row.lower > min(row.coefficients):
            yield _exactly(row, row.lower, -1)


def _exactly(row: Row, bound: Fraction, sign: int) -> tuple[list[str], str]:
    numbers = (*row.coefficients, bound)
    is_decimal = all("/" not in unparse_number(number) for number in numbers)
    scale = sign * (1 if is_decimal else lcm(*(number.denominator for number in numbers)))
    *coefficients, last = (unparse_number(scale * number) for number in numbers)
    return coefficients, last


# ---- BIF --------------------------------------------------------------------------------------------------


def _bif(credal: CredalNetwork) -> Iterator[str]:
    variables = credal.network.variables
    yield "network unknown {"
    yield "}"
    for variable in variables:
        yield f"variable {_word(variable.name)} {{"
        values = ", ".join(map(_word, variable.values))
        yield f"  type discrete [ {len(variable.values)} ] {{ {values} }};"
        yield "}"
    for x, parents in enumerate(credal.parents):
        yield from _block(credal, variables[x], [variables[p] for p in parents])


def _block(credal: CredalNetwork, child: Variable, parents: list[Variable]) -> Iterator[str]:
    x = credal.network.variables.index(child)
    given = f" | {', '.join(_word(parent.name) for parent in parents)}" if parents else ""
    yield f"probability ( {_word(child.name)}{given} ) {{"
    for configuration, row in zip(_configurations(credal, x), _table(credal, x), strict=True):
        numbers = ", ".join(_numbers(row))
        states = ", ".join(_word(p.values[s]) for p, s in zip(parents, configuration, strict=True))
        yield f"  ({states}) {numbers};" if parents else f"  table {numbers};"
    yield "}"


def _word(name: str) -> str:
    if _WORD.fullmatch(name) and not name.startswith(("//", "/*")):
        return name
    if '"' in name or "\n" in name:
        raise LanguageError(f"BIF has no way to write the name {name!r}", advice="Give it another name.")
    return f'"{name}"'
