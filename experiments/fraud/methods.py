"""The rows of the paper's Table 2, each in closed form.

Input: the log likelihood ratio of the features, the antecedents that hold, the prior, the rules' intervals.
Output: for every method the transactions it calls fraud.

With r the likelihood ratio and post(p) = p r / (p r + 1 - p), a prior p of fraud before the features is all
that tells most methods apart. A method with an interval calls fraud where the upper bound of fraud
(maximax), or the lower bound (maximin), is at least that of its opposite; both mean lower + upper >= 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.fraud.bayes import Reals
from experiments.fraud.transactions import Flags

__all__ = ["PAPER", "Evidence", "lcn_interval", "predictions", "problog_posterior"]

PAPER: dict[str, tuple[float, float] | str] = {
    "Naive_Bayes": (0.408, 0.110),
    "Bayesian_midpoint": (0.090, 0.015),
    "Credal": (0.089, 0.015),
    "ProbLog_midpoint": (0.599, 0.048),
    "MLN_midpoint": (0.472, 0.094),
    "Nilsson": "intractable",
    "LCN": (0.630, 0.046),
    "Rule A1 alone": "not there",
}
"""F1 scores, mean and standard deviation over ten tasks, as printed; the last row is ours."""

NO_ANTECEDENT = 0.5
"""P(X | not A_j) in the noisy-or of Bayesian_midpoint, which the paper leaves open; see the results page."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of a batch of transactions, and of fraud in general."""

    log_ratio: Reals
    holds: Flags
    prior: float
    lower: Reals
    upper: Reals

    @property
    def midpoint(self) -> Reals:
        """Return the middle of each rule's interval."""
        return np.asarray((self.lower + self.upper) / 2)


def predictions(evidence: Evidence) -> dict[str, Flags]:
    """Return for each method which transactions it calls fraud."""
    prior, holds, middle = evidence.prior, evidence.holds, evidence.midpoint
    noisy_or = 1 - np.where(holds, 1 - middle, 1 - NO_ANTECEDENT).prod(axis=1)
    return {
        "Naive_Bayes": _posterior(prior, evidence) > 0.5,
        "Bayesian_midpoint": _posterior(noisy_or, evidence) > 0.5,
        "Credal": _calls_fraud(*_credal_interval(evidence)),
        "ProbLog_midpoint": problog_posterior(evidence) > 0.5,
        "MLN_midpoint": evidence.log_ratio + _logit(prior) + holds @ _logit(middle) > 0,
        "Nilsson": _calls_fraud(*_nilsson_interval(evidence)),
        "LCN": _calls_fraud(*lcn_interval(evidence)),
        "Rule A1 alone": holds[:, 0],
    }


def problog_posterior(evidence: Evidence) -> Reals:
    """Return the posterior of fraud where rules work by chance and fraud also happens without them."""
    fails = np.where(evidence.holds, 1 - evidence.midpoint, 1).prod(axis=1)
    return _posterior(1 - (1 - evidence.prior) * fails, evidence)


def lcn_interval(evidence: Evidence) -> tuple[Reals, Reals]:
    """Bound P(fraud | features, antecedents) in the Logical Credal Network of the paper's appendix.

    Given the antecedents, P(X) may be anything from 0 to c_X where none holds (P(X) = c_X is an average over
    all antecedents, and the others can absorb it); where some hold, anything from the noisy-or of the lower
    bounds to 1.
    """
    some = evidence.holds.any(axis=1)
    noisy_or = 1 - np.where(evidence.holds, 1 - evidence.lower, 1).prod(axis=1)
    lower = np.where(some, _posterior(noisy_or, evidence), 0.0)
    upper = np.where(some, 1.0, _posterior(evidence.prior, evidence))
    return lower, upper


def _credal_interval(evidence: Evidence) -> tuple[Reals, Reals]:
    """Bound the posterior in the credal network: the noisy-or of rules, each [0, 1] where it does not hold.

    Without P(X), which its parents displace, nothing bounds fraud where no antecedent holds.
    """
    least = 1 - np.where(evidence.holds, 1 - evidence.lower, 1).prod(axis=1)
    return _posterior(least, evidence), np.ones(len(least))


def _nilsson_interval(evidence: Evidence) -> tuple[Reals, Reals]:
    """Bound the posterior without any independence: nothing is known.

    No sentence bounds the probability of an antecedent, so all worlds with these antecedents may be
    fraud, or none, without touching any sentence.
    """
    count = len(evidence.log_ratio)
    return np.zeros(count), np.ones(count)


def _posterior(prior: Reals | float, evidence: Evidence) -> Reals:
    """Return post(prior), also where the prior is 0 or 1."""
    # The ratio is applied to whichever side keeps it below 1, lest it overflow.
    ratio = evidence.log_ratio
    fraud = prior * np.exp(np.minimum(ratio, 0))
    legitimate = (1 - prior) * np.exp(np.minimum(-ratio, 0))
    return np.asarray(fraud / (fraud + legitimate))


def _logit(p: Reals | float) -> Reals:
    return np.asarray(np.log(p) - np.log1p(-np.asarray(p)))


def _calls_fraud(lower: Reals, upper: Reals) -> Flags:
    """Decide by maximax, which here equals maximin; a tie is called fraud."""
    return np.asarray(lower + upper >= 1)
