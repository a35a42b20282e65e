"""The object a user holds: a Logical Credal Network, and every question that can be asked of it.

`LCN` is made in `lcn`; from the bottom, it is `grounded`, understands the user's `wording`, and answers by
`inference` and `analysis`, which only delegate.
"""

from credalog.lcn.lcn import LCN, load, parse
from credalog.lcn.wording import Asked, GivenHere

__all__ = ["LCN", "Asked", "GivenHere", "load", "parse"]
