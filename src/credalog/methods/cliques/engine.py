"""Whether parts of a network have models, and which distributions are models: what searches on cliques share.

Input: a compiled network. Output: `Cliques`: the part that bears on a query, verdicts on the other parts, and
the check of witnesses. Only facts are remembered: that a part has a model, or has none. A search that ran out
of time is repeated by whoever has more, so no answer depends on what was asked before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from credalog.methods.answer import Options
from credalog.methods.cliques.ends import Ends, Models
from credalog.methods.cliques.fragment import Fragment
from credalog.methods.cliques.loglinear import LogLinear, family_of
from credalog.methods.cliques.search import Ending, Finding
from credalog.methods.compiled import Compiled
from credalog.network.expressions import Part, Question
from credalog.network.formulas import TRUE, Variable
from credalog.network.graph import Markov
from credalog.network.problem import relevant_part, restrict, separate_parts
from credalog.network.sentences import Network, Query
from credalog.network.structure import ancestors
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.tolerances import FEASIBILITY
from credalog.tables.distribution import Distribution
from credalog.trusted.check import violation

__all__ = ["Cliques"]

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
        return self.missed(distribution, said, asked, budget) <= FEASIBILITY

    def missed(
        self,
        distribution: Distribution,
        said: Network,
        asked: tuple[Variable, ...] = (),
        budget: Budget | None = None,
    ) -> float:
        """Return how far a distribution is from being such a model."""
        markov = self.compiled.markov
        graph = None if markov is Markov.NONE else self.compiled.graph
        time = None if budget is None else Budget.of(max(budget.remaining, CHECK_SECONDS))
        return violation(distribution, said, graph, asked=asked, markov=markov, budget=time)

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
