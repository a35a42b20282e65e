"""Theory -> ground network.

Input: a `Theory`. Output: a `Network` of sentences over ground variables (`ground`), and the theory's
queries and evidence as ground formulas (`Grounder`). A wrong name is answered with the nearest right one
(`nearest`).
"""

from credalog.grounding.network import LIMIT, Grounder, ground
from credalog.grounding.terms import nearest

__all__ = ["LIMIT", "Grounder", "ground", "nearest"]
