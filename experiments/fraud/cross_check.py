"""One transaction as a Logical Credal Network in text, and as a ProbLog program.

Input: a test transaction with what naive Bayes and the rules say of it. Output: the texts, and the answers
of the general engine, of Nilsson's logic and of ProbLog beside the closed forms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.fraud.bayes import NaiveBayes
from experiments.fraud.history import ANTECEDENTS
from experiments.fraud.methods import Evidence, lcn_interval, problog_posterior
from experiments.fraud.transactions import FEATURES, Transactions

__all__ = ["Case", "Comparison", "case_of", "compare", "lcn_text", "problog_program", "question"]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One transaction: its values, P(value | legitimate), P(value | fraud), and the rest of the evidence."""

    values: tuple[str, ...]
    likelihood: tuple[tuple[float, float], ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Comparison:
    """A transaction's posterior of fraud by closed forms and by general software."""

    antecedents: tuple[str, ...]
    closed: tuple[float, float]
    engine: tuple[float, float]
    nilsson: tuple[float, float]
    problog: float
    problog_closed: float
    status: str
    seconds: float


def case_of(transactions: Transactions, row: int, bayes: NaiveBayes, evidence: Evidence) -> Case:
    """Collect the texts and numbers of one transaction; its evidence is that of a single row."""
    categories = transactions.categories[row]
    values = tuple(names[c] for names, c in zip(transactions.values, categories, strict=True))
    likelihood = tuple(
        (float(table[0, c]), float(table[1, c])) for table, c in zip(bayes.tables, categories, strict=True)
    )
    return Case(values, likelihood, evidence)


def compare(case: Case, *, timeout: float) -> Comparison:
    """Ask the engine, Nilsson's logic and ProbLog about one transaction."""
    import credalog

    network = credalog.parse(lcn_text(case))
    exact = network.query(question(case), timeout=timeout)
    nilsson = network.query(question(case), timeout=timeout, markov="none")
    (lower,), (upper,) = lcn_interval(case.evidence)
    return Comparison(
        antecedents=tuple(np.array(ANTECEDENTS)[case.evidence.holds[0]].tolist()),
        closed=(float(lower), float(upper)),
        engine=(exact.lower, exact.upper),
        nilsson=(nilsson.lower, nilsson.upper),
        problog=_ask_problog(case),
        problog_closed=float(problog_posterior(case.evidence)[0]),
        status=exact.status.name.lower(),
        seconds=exact.seconds,
    )


def question(case: Case) -> str:
    """Ask for the posterior of fraud given all features and antecedents."""
    signs = ["" if holds else "!" for holds in case.evidence.holds[0]]
    history = [f"{sign}A{j + 1}" for j, sign in enumerate(signs)]
    return f"P(X | {' & '.join([*_names(case), *history])})"


def _names(case: Case) -> list[str]:
    """Name the proposition that a feature has the value seen."""
    return [f'"{feature}={value}"' for feature, value in zip(FEATURES, case.values, strict=True)]


def lcn_text(case: Case) -> str:
    """Write a transaction as the network of the paper's appendix; only the values seen matter."""
    evidence = case.evidence
    features = [
        line
        for name, (legitimate, fraud) in zip(_names(case), case.likelihood, strict=True)
        for line in (f"P({name} | !X) = {legitimate:.12g}", f"P({name} | X) = {fraud:.12g}")
    ]
    rules = [
        f"{lower:.12g} <= P(A{j}') <= {upper:.12g}"
        for j, (lower, upper) in enumerate(zip(evidence.lower, evidence.upper, strict=True), start=1)
    ]
    return "\n".join(
        [
            "# Is this transaction fraudulent? X: it is. The first sentences are naive Bayes.",
            f"P(X) = {evidence.prior:.12g}",
            *features,
            "",
            *(
                f"# A{j}: {name} of the account, before this transaction."
                for j, name in enumerate(ANTECEDENTS, 1)
            ),
            "# A rule works (A') with a probability known within bounds; then its antecedent means fraud.",
            *rules,
            *(f"P(X | A{j} & A{j}') = 1" for j in range(1, len(rules) + 1)),
            "",
            f"query {question(case)}",
            "",
        ]
    )


def problog_program(case: Case) -> str:
    """Write a transaction as a ProbLog program: rules that work by chance, and a leak."""
    evidence = case.evidence
    rules = [
        line
        for j, (p, holds) in enumerate(zip(evidence.midpoint, evidence.holds[0], strict=True), start=1)
        for line in (f"{p:.12g}::works{j}.", f"fraud :- works{j}.")
        if holds
    ]
    features = [
        line
        for i, (legitimate, fraud) in enumerate(case.likelihood)
        for line in (
            f"{fraud:.12g}::seen{i} :- fraud.",
            f"{legitimate:.12g}::seen{i} :- \\+fraud.",
            f"evidence(seen{i}).",
        )
    ]
    return "\n".join(
        [f"{evidence.prior:.12g}::leak.", "fraud :- leak.", *rules, *features, "query(fraud).", ""]
    )


def _ask_problog(case: Case) -> float:
    from problog import get_evaluatable
    from problog.program import PrologString

    ((_, value),) = get_evaluatable().create_from(PrologString(problog_program(case))).evaluate().items()
    return float(value)
