"""Whether parts of a network have models, and which distributions are models: what searches on cliques share.

Input: a compiled network. Output: `Cliques`: the part that bears on a query, verdicts on the other parts, and
the check of witnesses. Only facts are remembered: that a part has a model, or has none. A search that ran out
of time is repeated by whoever has more, so no answer depends on what was asked before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from credalog.methods.answer import Options
from credalog.methods.cliques.encoding import Encoding, encode
from credalog.methods.cliques.ends import Ends, Models
from credalog.methods.cliques.factorization import Factorization, factorize, in_one_clique
from credalog.methods.cliques.loglinear import LogLinear, family_of
from credalog.methods.cliques.search import Ending, Finding
from credalog.methods.cliques.slices import Rung, Slices
from credalog.methods.compiled import Compiled
from credalog.network.expressions import Part, Question
from credalog.network.formulas import TRUE, Variable, literals_of, scope
from credalog.network.graph import Markov
from credalog.network.problem import Problem, relevant_part, restrict, separate_parts
from credalog.network.sentences import Network, Query
from credalog.network.structure import Reading, ancestors
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.tolerances import FEASIBILITY
from credalog.program.program import Objective
from credalog.tables.distribution import Distribution
from credalog.trusted.check import violation

__all__ = ["Cliques", "Fragment", "entangled_in"]

CHECK_SECONDS = 0.3
"""How long a model may be checked when the time is up."""

MORE = 1.5
"""A verdict that was not reached is sought again by whoever has so many times the seconds spent on it."""


@dataclass(frozen=True)
class Cliques:
    """A compiled network, searched on cliques."""

    compiled: Compiled
    _facts: dict[frozenset[int], bool] = field(default_factory=dict, compare=False, repr=False)
    _spent: dict[frozenset[int], float] = field(default_factory=dict, compare=False, repr=False)
    _families: dict[tuple[int, ...], LogLinear | None] = field(
        default_factory=dict, compare=False, repr=False
    )

    def fragment(self, asked: Question | Part) -> Fragment:
        """Return what bears on a question."""
        number = self.compiled.number
        return Fragment(*relevant_part(self.compiled.problem, (number[v] for v in asked.scope)))

    def said_of(self, fragment: Fragment) -> Network:
        """Return what the network says about the variables of a fragment."""
        return self.compiled.network.about(fragment.problem.variables)

    def log_linear(self, fragment: Fragment) -> LogLinear | None:
        """Return the log-linear distributions of a fragment, if they suit it.

        Where walks among them start is the same for every question, so what satisfies the sentences is kept.
        """
        if fragment.kept not in self._families:
            sentences = self.said_of(fragment).sentences
            self._families[fragment.kept] = family_of(fragment.problem, sentences)
        return self._families[fragment.kept]

    def admits(
        self,
        distribution: Distribution,
        said: Network,
        asked: tuple[Variable, ...] = (),
        budget: Budget | None = None,
    ) -> bool:
        """Check a distribution against sentences and, of the independences, those of its variables.

        It need only stand for a model in what is said and asked. A check that is begun has a moment, if the
        time is nearly up.
        """
        markov = self.compiled.markov
        graph = None if markov is Markov.NONE else self.compiled.graph
        time = None if budget is None else Budget.of(max(budget.remaining, CHECK_SECONDS))
        missed = violation(distribution, said, graph, asked=asked, markov=markov, budget=time)
        return missed <= FEASIBILITY

    def extends(self, kept: Iterable[int], options: Options, budget: Budget) -> bool | None:
        """Tell whether models of a part extend to the whole network; None where that is not known."""
        inside = set(kept)
        try:
            with spending(budget):
                others = [part for part in self._anchored_parts if not part & inside]
                verdicts = [self._verdict(part, options, budget) for part in others]
        except OutOfTime:
            return None
        return False if False in verdicts else None if None in verdicts else True

    def models_beside(
        self, kept: Iterable[int], options: Options, budget: Budget
    ) -> list[Distribution] | None:
        """Return models of the parts beside some variables; None where one of them has none that is known."""
        inside = set(kept)
        found = [self._any_model(part, options, budget) for part in self._anchored_parts if not part & inside]
        models = [finding.witness.distribution for finding in found if finding.witness is not None]
        return models if len(models) == len(found) else None

    def anchored_fragments(self) -> list[Fragment]:
        """Return the parts that can be without a model, each by itself."""
        return [self._fragment_of(part) for part in self._anchored_parts]

    def learn_of_model(self, members: Iterable[int]) -> None:
        """Remember that some variables have a model, and so has every part among them."""
        inside = frozenset(members)
        self._facts.update({part: True for part in self._anchored_parts if part <= inside})

    def known_to_extend(self, kept: Iterable[int]) -> bool | None:
        """Tell the same from facts alone."""
        inside = set(kept)
        verdicts = [self._facts.get(part) for part in self._anchored_parts if not part & inside]
        return False if False in verdicts else None if None in verdicts else True

    @cached_property
    def _anchored_parts(self) -> tuple[frozenset[int], ...]:
        """Return the parts in which something is said beyond local polytopes: only these can be empty."""
        problem = self.compiled.problem
        stated = (x for s in problem.statements for x in s.scope)
        declared = (x for c in problem.declared for x in (*c.left, *c.right, *c.given))
        anchors = frozenset((*stated, *declared))
        needed = ancestors(problem.structure.parents, anchors)
        return tuple(part for part in separate_parts(problem, needed) if part & anchors)

    def _verdict(self, members: frozenset[int], options: Options, budget: Budget) -> bool | None:
        if members in self._facts or budget.remaining < MORE * self._spent.get(members, 0.0):
            return self._facts.get(members)
        began = budget.elapsed
        finding = self._any_model(members, options, budget)
        if finding.ending is Ending.INTERRUPTED:
            # A verdict is no answer that could say so itself.
            raise KeyboardInterrupt
        self._spent[members] = budget.elapsed - began
        if finding.ending is Ending.EMPTY:
            self._facts[members] = False
        elif finding.witness is not None:
            self._facts[members] = True
        return self._facts.get(members)

    def _fragment_of(self, members: frozenset[int]) -> Fragment:
        kept = tuple(sorted(members))
        return Fragment(restrict(self.compiled.problem, kept), kept)

    def _any_model(self, members: frozenset[int], options: Options, budget: Budget) -> Finding:
        return Ends(self, Query(TRUE), options, budget, self._fragment_of(members), Models()).any_model()


# ---- fragment ---------------------------------------------------------------------------------------------

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
        return bool(structure.core) and inside and prod(structure.sizes) <= JOINT_LIMIT

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
        evidence = {
            number[v]: v.values.index(value) for v, value in literals.items() if number[v] not in entangled
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
