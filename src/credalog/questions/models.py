"""Models of a whole network: distributions over all its variables that satisfy everything said.

Input: an `Engine`. Output: the parts that share nothing, each with the program of all its tables; and a
`Distribution` that is a model, checked by the second pair of eyes.

Where the core is too large for one table, a part is encoded in its outer reading, or along its ties: what is
proved of that program holds for every model, and a distribution read off it counts only once it is checked.
Where no tables of all variables can be written down in time, models of a simple form are looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from math import prod

from credalog.errors import ProblemTooLarge
from credalog.methods.automatic import Engine
from credalog.methods.cliques.encoding import Encoding, encode
from credalog.methods.cliques.ends import CORE_LIMIT, PER_SECOND
from credalog.methods.cliques.factorization import Factorization, factorize
from credalog.methods.cliques.models import find_models
from credalog.methods.cliques.search import Ending, Limits, search
from credalog.network.formulas import TRUE
from credalog.network.problem import Problem, restrict, separate_parts
from credalog.network.sentences import Sentence
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End
from credalog.numbers.tolerances import TOLERANCE
from credalog.tables.distribution import Distribution, Factor

FOREVER = Budget.of()


def parts_of(problem: Problem) -> Iterator[Problem]:
    """Yield the parts of a problem that share no parent, statement or condition, in a fixed order."""
    parts = separate_parts(problem, range(len(problem.variables)))
    for part in sorted(map(sorted, parts)):
        yield restrict(problem, part)


def encode_in_time(
    problem: Problem, found: Factorization, evidence: Mapping[int, int], budget: Budget
) -> Encoding:
    """Encode a problem in some cliques; what cannot be written down in time is too large."""
    if found.entries(problem.structure.sizes) <= PER_SECOND * budget.remaining:
        with suppress(OutOfTime):
            return encode(problem, found, evidence, budget)
    raise ProblemTooLarge("the tables cannot be written down in time")


def encode_tables(
    problem: Problem,
    scopes: Iterable[Iterable[int]] = (),
    *,
    reading: Reading | None = None,
    budget: Budget = FOREVER,
) -> Encoding:
    """Encode every variable of a problem, in tables that also show some more scopes."""
    shown: list[tuple[int, ...]] = [(x,) for x in range(len(problem.variables))]
    shown += [s.scope for s in problem.all_statements]
    shown += [(*c.left, *c.right, *c.given) for c in problem.declared]
    shown += map(tuple, scopes)
    readings = _readings(problem) if reading is None else (reading,)
    for chosen in readings[:-1]:
        with suppress(ProblemTooLarge):
            found = factorize(problem.structure, shown, query=(), reading=chosen)
            return encode_in_time(problem, found, {}, budget)
    found = factorize(problem.structure, shown, query=(), reading=readings[-1])
    return encode_in_time(problem, found, {}, budget)


def _readings(problem: Problem) -> tuple[Reading, ...]:
    """Return the readings whose programs hold every model, the tightest first."""
    structure = problem.structure
    if problem.reading is not Reading.LITERAL or not structure.core:
        return (problem.reading,)
    is_large = prod(structure.sizes[x] for x in structure.core) > CORE_LIMIT
    return (Reading.OUTER if is_large else Reading.LITERAL, Reading.TIED)


def find_model(engine: Engine, budget: Budget) -> Distribution | None:
    """Look for a model of the whole network; None where none was found in time."""
    credal = engine.compiled.credal
    if credal is not None and is_model(central := credal.central_model(), engine):
        return central
    factors: list[Factor] = []
    parts = list(parts_of(engine.problem))
    for number, part in enumerate(parts):
        found = model_of_part(engine, part, budget.share(1.0 / (len(parts) - number)))
        if found is None:
            return None
        factors.extend(found.factors)
    return Distribution(tuple(factors))


def model_of_part(engine: Engine, part: Problem, budget: Budget) -> Distribution | None:
    """Look for a model of one part of a network; a core is easiest to fill in its chain-graph reading."""
    has_core = part.reading is not Reading.FREE and part.structure.core
    for reading in (Reading.CHAIN, None) if has_core else (None,):
        share = budget.share(0.5)
        with suppress(ProblemTooLarge):
            encoding = encode_tables(part, reading=reading, budget=share)
            found = search(encoding, encoding.objective(TRUE, TRUE), Limits(TOLERANCE, share), end=End.UPPER)
            if found.ending is Ending.INTERRUPTED:
                raise KeyboardInterrupt
            if found.witness is not None and is_model(found.witness.distribution, engine):
                return found.witness.distribution
    return simple_model(engine, part, budget)


def simple_model(engine: Engine, part: Problem, budget: Budget) -> Distribution | None:
    """Look for a model of a simple form, which is found at any width."""
    said = engine.network.about(part.variables)
    found = find_models(said, engine.graph, engine.markov, budget=budget)
    models = (witness.distribution for witness in found)
    return next((model for model in models if is_model(model, engine)), None)


def is_model(distribution: Distribution, engine: Engine) -> bool:
    """Check a distribution against all that a network says about its variables, and every independence.

    Its variables are all asked about: to stand for a model is not enough.
    """
    variables = tuple(x for factor in distribution.factors for x in factor.block)
    return engine.cliques.admits(distribution, engine.network.about(variables), variables)


def stands_for_model(distribution: Distribution, engine: Engine, sentences: Iterable[Sentence]) -> bool:
    """Tell whether a distribution stands for one with the engine's independences that satisfies sentences."""
    said = replace(engine.network, sentences=tuple(sentences))
    return engine.admits(distribution, said.about(x for factor in distribution.factors for x in factor.block))
