"""What follows from a network: decisions, contradictions and repairs, what matters, the greatest entropy.

Input: statements, questions and options. Output: the findings of the modules of credalog.questions, each
imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from credalog.choices import MarkovName
from credalog.errors import CredalogError
from credalog.lcn.grounded import Asked, counted, options_of, precision_of, require
from credalog.lcn.inference import Inference
from credalog.network.graph import Markov
from credalog.network.sentences import Contrast, Number, Query, Sentence
from credalog.numbers.tolerances import TOLERANCE
from credalog.text.builder import Stated, sentence_of

if TYPE_CHECKING:
    from credalog.methods.answer import Options, Report
    from credalog.questions.comparing import JointDecision, Statement
    from credalog.questions.decide import Decision
    from credalog.questions.diagnose import Diagnosis
    from credalog.questions.explain import Explanation, Measurement
    from credalog.questions.maxent import MaximumEntropy
    from credalog.questions.measurements import Ranking
    from credalog.questions.repair_options import Repairs


class Analysis(Inference):
    """A network that decides, diagnoses and explains."""

    def decide(
        self,
        statement: str | Sentence | Contrast | Stated,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        report: Report | None = None,
    ) -> Decision:
        """Tell whether a statement such as P(a | b) >= 0.5 holds in every model, in none, or in some."""
        from credalog.questions.comparing import decided, decided_by

        options = options_of(timeout, tolerance, markov, report=report)
        compared = self._compared(statement)
        if self._is_large and not isinstance(compared.asked, Query):
            return decided_by(compared, self._combined(compared.asked, options))
        if self._is_first_order and isinstance(compared.asked, Query):
            return self._decided_around(compared, options)
        return decided(self._engine(options.markov, compared.asked), compared, options)

    def _decided_around(self, compared: Statement, options: Options) -> Decision:
        from credalog.questions.lifted import decide as decide_around

        asked, relation, threshold = compared.asked, compared.relation, compared.threshold
        assert isinstance(asked, Query)
        whole = None if self._is_large else partial(self._engine, options.markov, asked)
        lifted = self._around(options.markov)
        return decide_around(lifted, asked, threshold, options, relation=relation, whole=whole)

    def decide_together(
        self,
        *statements: str | Sentence | Contrast | Stated,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
    ) -> JointDecision:
        """Decide several statements one by one, and whether all of them hold at once."""
        from credalog.questions.comparing import decide_together

        options = options_of(timeout, tolerance, markov)
        compared = [self._compared(statement) for statement in statements]
        if not compared:
            raise CredalogError("there is nothing to decide", advice='Give statements: "P(a) >= 0.5".')
        engine = self._engine(options.markov, *(one.asked for one in compared))
        return decide_together(engine, compared, options)

    def hold_together(
        self,
        decisions: Sequence[Decision],
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
    ) -> JointDecision:
        """Tell whether statements that are decided one by one hold at once."""
        from credalog.questions.comparing import Statement, joined
        from credalog.questions.decide import Decision

        for one in decisions:
            require(one, Decision, "decision", "Give the results of lcn.decide(...).")
        options = options_of(timeout, tolerance, markov)
        engine = self._engine(options.markov, *(one.query for one in decisions))
        compared = [Statement(one.query, one.relation, one.threshold) for one in decisions]
        return joined(engine, compared, decisions, options)

    def _compared(self, statement: str | Sentence | Contrast | Stated) -> Statement:
        """Return a statement over the variables of this network."""
        from credalog.questions.comparing import Statement
        from credalog.questions.decide import Relation, statement_of

        if isinstance(statement, str):
            query, order, number = self.statement(statement)
            return Statement(query, Relation(order.value), number)
        asked, relation, threshold = statement_of(sentence_of(statement))
        return Statement(self.asked(asked), relation, threshold)

    def diagnose(
        self,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        weights: Mapping[str, float] | None = None,
    ) -> Diagnosis:
        """Decide whether there is a model; if not, name a minimal conflict and the cheapest repair.

        The weights say what widening a sentence costs, by its label or file; infinity forbids it.
        """
        from credalog.questions.diagnose import diagnose

        if weights is not None and not isinstance(weights, Mapping):
            raise CredalogError(f"{weights} are no weights", advice='Give them by name: {"expert 1": 2.0}.')
        options = options_of(timeout, tolerance, markov)
        found = diagnose(self._solvable(options.markov), options, weights=weights)
        if found.model is None or not self.ground().contrasts:
            return found
        from credalog.methods.reduction import without

        # What stands for comparisons across conditions is no variable of the user's.
        added = frozenset(v for factor in found.model.factors for v in factor.block) - self._mentioned.keys()
        return replace(found, model=without(found.model, added))

    def repairs(
        self,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        weights: Mapping[str, float] | None = None,
        most: int = 3,
    ) -> Repairs:
        """Find the cheapest repair of a contradiction, and runners-up to choose from."""
        from credalog.questions.repair_options import repairs

        options = options_of(timeout, tolerance, markov)
        counted(most, "most")
        return repairs(self._solvable(options.markov), options, weights=weights, most=most)

    def explain(
        self,
        asked: Asked,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        most: int = 20,
    ) -> Explanation:
        """Find the sentences that hold the ends of an interval; at most so many are tried."""
        from credalog.questions.explain import explain

        options = options_of(timeout, tolerance, markov)
        counted(most, "most")
        query = self.asked(asked)
        if self._is_large and isinstance(query, Query):
            from credalog.questions.lifted import explain as explain_around

            return explain_around(self._around(options.markov), query, options, most=most)
        network, stated = self._solvable(options.markov, query), len(self.ground().sentences)
        return explain(network, query, options, most=most, stated=stated)

    def measure(
        self,
        asked: Asked,
        measured: Asked,
        *,
        within: Number,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
    ) -> Measurement:
        """Bound a query as if another probability had been measured up to a precision, wherever it falls."""
        from credalog.questions.explain import measure

        options = options_of(timeout, tolerance, markov)
        query, target = self.asked(asked), self.question(measured)
        precision = precision_of(within)
        return measure(self._solvable(options.markov, query, target), query, target, precision, options)

    def rank(
        self,
        asked: Asked,
        *,
        within: Number = Fraction(1, 100),
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
        most: int = 20,
    ) -> Ranking:
        """Rank what sentences bound by what measuring it would be worth to a question."""
        from credalog.questions.measurements import rank

        options = options_of(timeout, tolerance, markov)
        counted(most, "most")
        query = self.asked(asked)
        return rank(self._solvable(options.markov, query), query, precision_of(within), options, most=most)

    def maxent(
        self,
        *,
        timeout: float = 30.0,
        tolerance: float = TOLERANCE,
        markov: MarkovName | Markov = Markov.LOCAL,
    ) -> MaximumEntropy:
        """Find the model of greatest entropy."""
        from credalog.questions.maxent import maximum_entropy

        options = options_of(timeout, tolerance, markov)
        if self.ground().contrasts:
            # The entropy of the variables that stand for comparisons would be counted.
            raise CredalogError(
                "the greatest entropy is not found beside sentences across conditions",
                advice="Leave them out, or bound each of their probabilities by a sentence of its own.",
            )
        return maximum_entropy(self.ground(), options)
