"""Models of a whole network: distributions over all its variables that satisfy everything said.

Input: an `Engine`. Output: the parts that share nothing, each with the program of all its tables; and a
`Distribution` that is a model, checked by the second pair of eyes.

Where the core is too large for one table, a part is encoded in its outer reading: whatever is proved of that
program holds for every model, and a distribution read off it counts only once it is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from credalog.methods.automatic import Engine
from credalog.methods.cliques.encoding import Encoding, encode
from credalog.methods.cliques.ends import CORE_LIMIT
from credalog.methods.cliques.factorization import factorize
from credalog.methods.cliques.search import Ending, Limits, search
from credalog.network.formulas import TRUE
from credalog.network.problem import Problem, restrict, separate_parts
from credalog.network.sentences import Sentence
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.numbers.tolerances import TOLERANCE
from credalog.tables.distribution import Distribution, Factor


def parts_of(problem: Problem) -> Iterator[Problem]:
    """Yield the parts of a problem that share no parent, statement or condition, in a fixed order."""
    parts = separate_parts(problem, range(len(problem.variables)))
    for part in sorted(map(sorted, parts)):
        yield restrict(problem, part)


def encode_tables(
    problem: Problem, scopes: Iterable[Iterable[int]] = (), *, reading: Reading | None = None
) -> Encoding:
    """Encode every variable of a problem, in tables that also show some more scopes."""
    shown: list[tuple[int, ...]] = [(x,) for x in range(len(problem.variables))]
    shown += [s.scope for s in problem.all_statements]
    shown += [(*c.left, *c.right, *c.given) for c in problem.declared]
    chosen = _reading(problem) if reading is None else reading
    factorization = factorize(problem.structure, [*shown, *map(tuple, scopes)], query=(), reading=chosen)
    return encode(problem, factorization, {})


def _reading(problem: Problem) -> Reading:
    states = prod(problem.structure.sizes[x] for x in problem.structure.core)
    large = problem.reading is Reading.LITERAL and states > CORE_LIMIT
    return Reading.OUTER if large else problem.reading


def find_model(engine: Engine, budget: Budget) -> Distribution | None:
    """Look for a model of the whole network; None where none was found in time."""
    factors: list[Factor] = []
    for part in parts_of(engine.problem):
        found = model_of_part(engine, part, budget)
        if found is None:
            return None
        factors.extend(found.factors)
    return Distribution(tuple(factors))


def model_of_part(engine: Engine, part: Problem, budget: Budget) -> Distribution | None:
    """Look for a model of one part of a network; a core is easiest to fill in its chain-graph reading."""
    has_core = part.reading is Reading.LITERAL and part.structure.core
    for reading in (Reading.CHAIN, None) if has_core else (None,):
        encoding = encode_tables(part, reading=reading)
        share = budget.share(0.5) if reading is Reading.CHAIN else budget
        limits = Limits(TOLERANCE, share)
        found = search(encoding, encoding.objective(TRUE, TRUE), limits, end=End.UPPER)
        if found.ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt
        if found.witness is not None and is_model(found.witness.distribution, engine):
            return found.witness.distribution
    return None


def is_model(distribution: Distribution, engine: Engine, sentences: Iterable[Sentence] | None = None) -> bool:
    """Check a distribution against all that a network says about its variables, or other sentences instead.

    The independences are always those of the engine's dependency graph.
    """
    network = engine.network
    said = network if sentences is None else replace(network, sentences=tuple(sentences))
    return engine.admits(distribution, said.about(x for factor in distribution.factors for x in factor.block))
