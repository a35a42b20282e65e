"""The object a user holds: a Logical Credal Network, and every question that can be asked of it.

`LCN` is made in `lcn`; from the bottom, it is `grounded`, which also understands how questions are
worded, and answers by `inference` and `analysis`, which only delegate.
"""

from credalog.lcn.grounded import Asked, GivenHere
from credalog.lcn.lcn import LCN, load, parse

__all__ = ["LCN", "Asked", "GivenHere", "load", "parse"]
