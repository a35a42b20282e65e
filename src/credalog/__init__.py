"""Credalog: Logical Credal Networks, answered with bounds you can trust."""

from credalog.builder import P
from credalog.errors import (
    CredalogError,
    GroundingTooLarge,
    ImpossibleEvidence,
    InconsistentNetwork,
    LanguageError,
    UnknownName,
)
from credalog.lcn import LCN, load, parse
from credalog.logic import Variable, proposition, propositions
from credalog.markov import Markov
from credalog.model import Independence, Network, Query, Sentence
from credalog.numerics import Interval, Status, Warrant

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
