"""Theory -> ground network.

Enters: a `Theory`. Leaves: a `Network` of sentences over ground variables (`ground`), and the theory's
queries and evidence as ground formulas (`Grounder`).
"""

from credalog.grounding.network import LIMIT, Grounder, ground

__all__ = ["LIMIT", "Grounder", "ground"]
