"""What of a network bears on a query, and how it is encoded.

Input: a `Problem` and a query. Output: a program and an objective, in cliques or as one table of all worlds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from credalog.methods.cliques.encoding import Encoding, encode
from credalog.methods.cliques.factorization import Factorization, factorize, in_one_clique
from credalog.methods.cliques.slices import Rung, Slices
from credalog.network.expressions import Part
from credalog.network.formulas import literals_of, scope
from credalog.network.problem import Problem
from credalog.network.sentences import Query
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.program.program import Objective

__all__ = ["Fragment", "entangled_in"]

JOINT_LIMIT = 1 << 7
"""Up to this many worlds a cyclic network is not factorized at all."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """What of a network bears on some variables, in numbers of its own.

    `kept` are the numbers that its variables have in the whole network.
    """

    problem: Problem
    kept: tuple[int, ...]

    @property
    def core_states(self) -> int:
        """Return the size of the table that the literal core would need."""
        return prod(self.problem.structure.sizes[x] for x in self.problem.structure.core)

    def suits_one_table(self, asked: Query) -> bool:
        """Tell whether one table over everything is the simplest way through a core.

        Evidence outside the core is kept out of the tables: it may be rare.
        """
        structure = self.problem.structure
        number = {v: i for i, v in enumerate(self.problem.variables)}
        inside = all(number[v] in structure.core for v in scope(asked.given))
        return inside and self.fits_one_table

    @property
    def fits_one_table(self) -> bool:
        """Tell whether there is a core, and one table over everything is small."""
        structure = self.problem.structure
        return bool(structure.core) and prod(structure.sizes) <= JOINT_LIMIT

    def encode(
        self, asked: Query, reading: Reading, budget: Budget | None = None
    ) -> tuple[Encoding, Objective]:
        """Factorize and encode the fragment for one query."""
        return self.encode_cliques(asked, *self.factorize(asked, reading), budget)

    def encode_cliques(
        self,
        asked: Query,
        factorization: Factorization,
        evidence: Mapping[int, int],
        budget: Budget | None = None,
    ) -> tuple[Encoding, Objective]:
        """Encode the fragment on cliques that were chosen for a query."""
        encoding = encode(self.problem, factorization, evidence, budget)
        return encoding, encoding.objective(asked.claim, asked.given)

    def factorize(
        self, asked: Query | Part, reading: Reading, *, shown: Iterable[int] = ()
    ) -> tuple[Factorization, dict[int, int]]:
        """Choose the cliques for one query; return them with the evidence that is kept out of them.

        Each variable of `shown` will be in some clique, too.
        """
        number = {v: i for i, v in enumerate(self.problem.variables)}
        literals = literals_of(asked.given) or {}
        entangled = entangled_in(self.problem, reading)
        # Of a variable with one value a table shows no more than of none: what is certain is not observed.
        evidence = {
            number[v]: v.values.index(value)
            for v, value in literals.items()
            if number[v] not in entangled and len(v.values) > 1
        }
        scopes = [s.scope for s in self.problem.all_statements]
        scopes += [(*c.left, *c.right, *c.given) for c in self.problem.declared]
        scopes += [(x,) for x in shown]
        if reading.follows_ties:
            # Also what only sentences that say nothing mention: a witness is a law of all variables.
            scopes += [(x,) for x in range(len(self.problem.variables))]
        factorization = factorize(
            self.problem.structure,
            scopes,
            query=[number[v] for v in asked.scope],
            observed=frozenset(evidence),
            reading=reading,
        )
        return factorization, evidence

    def encode_slice(self, asked: Query, rung: Rung, budget: Budget) -> tuple[Encoding, Objective]:
        """Encode a slice of the fragment around a query."""
        number = {v: i for i, v in enumerate(self.problem.variables)}
        slices = Slices(self.problem, tuple(sorted(number[v] for v in asked.scope)))
        encoding = encode(self.problem, slices.factorization(rung), {}, budget)
        return encoding, encoding.objective(asked.claim, asked.given)

    def encode_jointly(self, asked: Query) -> tuple[Encoding, Objective]:
        """Encode the fragment as one table over all its worlds."""
        number = {v: i for i, v in enumerate(self.problem.variables)}
        query = [number[v] for v in asked.scope]
        whole = in_one_clique(self.problem.structure, query=query, reading=self.problem.reading)
        encoding = encode(self.problem, whole, {})
        return encoding, encoding.objective(asked.claim, asked.given)


def entangled_in(problem: Problem, reading: Reading) -> frozenset[int]:
    """Return the variables that must keep all their states: those of blocks; all in Nilsson's logic."""
    if reading is Reading.FREE:
        return frozenset(range(len(problem.variables)))
    if reading is Reading.LITERAL or reading.follows_ties:
        return problem.structure.core
    components = problem.structure.components
    return frozenset(x for component in components if len(component) > 1 for x in component)
