"""Models of a whole network: distributions over all its variables that satisfy everything said.

Enters: an `Engine`. Leaves: the parts that share nothing, each with the program of all its tables; and a
`Distribution` that is a model, checked by the second pair of eyes.

Where the core is too large for one table, a part is encoded in its outer reading: whatever is proved of that
program holds for every model, and a distribution read off it counts only once it is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from time import monotonic

from credalog.distribution import Distribution, Factor, violation
from credalog.encoding import Encoding, encode
from credalog.factorization import Reading, factorize
from credalog.inference.answer import Options
from credalog.inference.exact import CORE_LIMIT, Engine
from credalog.inference.search import Limits, search
from credalog.logic import TRUE
from credalog.markov import Markov
from credalog.model import Network
from credalog.numerics import FEASIBILITY
from credalog.problem import Problem, restrict, separate_parts

__all__ = ["encode_tables", "find_model", "is_model", "parts_of"]


def parts_of(problem: Problem) -> Iterator[Problem]:
    """Yield the parts of a problem that share no parent, statement or condition, in a fixed order."""
    parts = separate_parts(problem, range(len(problem.variables)))
    for part in sorted(map(sorted, parts)):
        yield restrict(problem, part)


def encode_tables(problem: Problem, scopes: Iterable[Iterable[int]] = ()) -> Encoding:
    """Encode every variable of a problem, in tables that also show some more scopes."""
    shown: list[tuple[int, ...]] = [(x,) for x in range(len(problem.variables))]
    shown += [s.scope for s in problem.all_statements]
    shown += [(*c.left, *c.right, *c.given) for c in problem.declared]
    factorization = factorize(
        problem.structure, [*shown, *map(tuple, scopes)], query=(), reading=_reading(problem)
    )
    return encode(problem, factorization, {})


def _reading(problem: Problem) -> Reading:
    states = prod(problem.structure.sizes[x] for x in problem.structure.core)
    large = problem.reading is Reading.LITERAL and states > CORE_LIMIT
    return Reading.OUTER if large else problem.reading


def find_model(engine: Engine, options: Options) -> Distribution | None:
    """Look for a model of the whole network; None where none was found in time."""
    deadline = monotonic() + options.timeout
    factors: list[Factor] = []
    for part in parts_of(engine.problem):
        encoding = encode_tables(part)
        limits = Limits(options.tolerance, deadline)
        found = search(encoding, encoding.objective(TRUE, TRUE), limits, maximize=True)
        if found.witness is None:
            return None
        factors.extend(found.witness.distribution.factors)
    distribution = Distribution(tuple(factors))
    return distribution if is_model(distribution, engine.network, engine) else None


def is_model(distribution: Distribution, network: Network, engine: Engine) -> bool:
    """Check a distribution against sentences under the engine's dependency graph."""
    graph = None if engine.markov is Markov.NONE else engine.graph
    return violation(distribution, network, graph) <= FEASIBILITY
