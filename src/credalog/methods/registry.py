"""Every method of inference by name, and what it may truthfully claim.

Engine, command line, advice in errors, documentation and the conformance suite all read this one table. To
add a method: a package beside this module that answers a query, a row here, and a line in
`automatic.ANSWERS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from credalog.choices import MethodName
from credalog.network.graph import Markov
from credalog.numbers.interval import Warrant

__all__ = ["METHODS", "Method", "MethodName"]


@dataclass(frozen=True, slots=True)
class Method:
    """A method: what it does, on whose word its bounds stand, and to which queries it applies.

    `attains` says that its answers come with models. `markov` are the Markov conditions that it knows.
    """

    name: MethodName
    summary: str
    warrant: Warrant
    attains: bool
    markov: tuple[Markov, ...] = (Markov.LOCAL, Markov.GLOBAL)
    needs: str = "any network and query"
    extra: str | None = None


_ANY = (Markov.LOCAL, Markov.GLOBAL, Markov.NONE)
_PROVED = Warrant.CHECKED

METHODS: tuple[Method, ...] = (
    Method("auto", "the best of the exact methods that apply, joined", _PROVED, True, _ANY),
    Method(
        "points",
        "one pass over a junction tree",
        _PROVED,
        True,
        needs="a Bayesian network, or a query on which only point probabilities bear",
    ),
    Method("factorized", "branch and bound on the tables of cliques", _PROVED, True, _ANY),
    Method(
        "sets",
        "set propagation, then branch and bound over vertices",
        _PROVED,
        True,
        needs="a credal network: sentences that are all local, on an acyclic graph",
    ),
    Method("joint", "branch and bound on one table of all worlds", _PROVED, True, _ANY, "a dozen variables"),
    Method(
        "lifted",
        "slices of a theory around the question, and models in which the rest is certain",
        _PROVED,
        False,
        _ANY,
        needs="a theory: a ground network is asked as by auto",
    ),
    Method("nilsson", "column generation over worlds", _PROVED, True, (Markov.NONE,)),
    Method(
        "scip", "SCIP on the table of all worlds", Warrant.CLAIMED, True, _ANY, "a dozen variables", "scip"
    ),
    Method(
        "ipopt",
        "IPOPT on the table of all worlds: models, no bounds",
        _PROVED,
        True,
        _ANY,
        "a dozen variables",
        "ipopt",
    ),
    Method(
        "sound",
        "interval propagation whose bounds hold",
        _PROVED,
        False,
        _ANY,
    ),
    Method(
        "bp",
        "interval propagation, exact on polytrees",
        Warrant.HEURISTIC,
        False,
        needs="one variable, given literals",
        extra="propagation",
    ),
    Method(
        "printed",
        "interval propagation as the paper prints it",
        Warrant.HEURISTIC,
        False,
        needs="one variable, given literals",
        extra="propagation",
    ),
)

assert tuple(method.name for method in METHODS) == get_args(MethodName)
