"""Credalog: Logical Credal Networks, answered with bounds you can trust."""

from credalog.errors import (
    CredalogError,
    GroundingTooLarge,
    ImpossibleEvidence,
    InconsistentNetwork,
    LanguageError,
    UnknownName,
)
from credalog.lcn import LCN, load, parse
from credalog.network.formulas import Variable, proposition, propositions
from credalog.network.graph import Markov
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.numbers.interval import Interval, Status, Warrant
from credalog.text.builder import P

__all__ = [
    "LCN",
    "CredalogError",
    "GroundingTooLarge",
    "ImpossibleEvidence",
    "InconsistentNetwork",
    "Independence",
    "Interval",
    "LanguageError",
    "Markov",
    "Network",
    "P",
    "Query",
    "Sentence",
    "Status",
    "UnknownName",
    "Variable",
    "Warrant",
    "load",
    "parse",
    "proposition",
    "propositions",
]
