"""Credalog: Logical Credal Networks, answered with bounds you can trust."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credalog.batches import Outcome, batch
    from credalog.errors import (
        CredalogError,
        GroundingTooLarge,
        ImpossibleEvidence,
        InconsistentNetwork,
        LanguageError,
        MissingLibrary,
        ProblemTooLarge,
        Remedy,
        UnknownName,
    )
    from credalog.lcn import LCN, load, parse
    from credalog.methods.answer import Answer, Marginals
    from credalog.methods.intervals import Propagation
    from credalog.network.formulas import Variable, proposition, propositions
    from credalog.network.graph import DependencyGraph, Markov
    from credalog.network.sentences import Independence, Network, Query, Sentence
    from credalog.numbers.interval import Endpoint, Interval, Status, Warrant
    from credalog.questions.comparing import JointDecision
    from credalog.questions.decide import Decision
    from credalog.questions.diagnose import Conflict, Diagnosis, Repair
    from credalog.questions.explain import Explanation, Influence, Measurement
    from credalog.questions.map import BestAssignments, RankedAssignment
    from credalog.questions.maxent import MaximumEntropy
    from credalog.questions.measurements import Ranking
    from credalog.questions.repair_options import Repairs
    from credalog.show.plots import Recording
    from credalog.tables.distribution import Distribution
    from credalog.text.builder import E, P

__all__ = [
    "LCN",
    "Answer",
    "BestAssignments",
    "Conflict",
    "CredalogError",
    "Decision",
    "DependencyGraph",
    "Diagnosis",
    "Distribution",
    "E",
    "Endpoint",
    "Explanation",
    "GroundingTooLarge",
    "ImpossibleEvidence",
    "InconsistentNetwork",
    "Independence",
    "Influence",
    "Interval",
    "JointDecision",
    "LanguageError",
    "Marginals",
    "Markov",
    "MaximumEntropy",
    "Measurement",
    "MissingLibrary",
    "Network",
    "Outcome",
    "P",
    "ProblemTooLarge",
    "Propagation",
    "Query",
    "RankedAssignment",
    "Ranking",
    "Recording",
    "Remedy",
    "Repair",
    "Repairs",
    "Sentence",
    "Status",
    "UnknownName",
    "Variable",
    "Warrant",
    "__version__",
    "batch",
    "load",
    "parse",
    "proposition",
    "propositions",
]

_MODULES = {
    "batches": "Outcome batch",
    "errors": "CredalogError GroundingTooLarge ImpossibleEvidence InconsistentNetwork LanguageError"
    " MissingLibrary ProblemTooLarge Remedy UnknownName",
    "lcn": "LCN load parse",
    "methods.answer": "Answer Marginals",
    "methods.intervals": "Propagation",
    "network.formulas": "Variable proposition propositions",
    "network.graph": "DependencyGraph Markov",
    "network.sentences": "Independence Network Query Sentence",
    "numbers.interval": "Endpoint Interval Status Warrant",
    "questions.comparing": "JointDecision",
    "questions.decide": "Decision",
    "questions.diagnose": "Conflict Diagnosis Repair",
    "questions.maxent": "MaximumEntropy",
    "questions.explain": "Explanation Influence Measurement",
    "questions.map": "BestAssignments RankedAssignment",
    "questions.repair_options": "Repairs",
    "questions.measurements": "Ranking",
    "show.plots": "Recording",
    "tables.distribution": "Distribution",
    "text.builder": "E P",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}


def load_ipython_extension(shell: Any) -> None:
    """Bring `%%lcn` to a notebook: `%load_ext credalog`."""
    from credalog.notebook import load_ipython_extension as load_magics

    load_magics(shell)


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: the command line answers at once, and solvers wait their turn."""
    if name == "__version__":
        from importlib.metadata import version

        return version("credalog")
    if name not in _HOME:
        raise AttributeError(f"module credalog has no attribute {name}")
    found = getattr(import_module(f"credalog.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
