"""A small network that several tests ask about, each with another probability of its rare condition.

Input: that probability. Output: the network as text, and what is true of it by arithmetic.
"""

LEAST = 1 / 9
"""The least P(a | b & c) of a rare core, however rare c is.

P(a, b) >= 0.1 >= P(a, not b): so P(b | a) >= 1/2, whatever c is, and P(a, b | c) >= 0.2 / 2 against at most
P(not a | c) = 0.8: the odds of a given b and c are 1/8 or more.
"""


def rare_core(probability: str) -> str:
    """Return two tied atoms, each with a parent, one of which is rare."""
    return f"""
P(c) = {probability}
P(d) = 0.5
0.1 <= P(a & b) <= 1
0.2 <= P(a | c) <= 0.3
0 <= P(a | !c) <= 0.9
0.9 <= P(b | d) <= 1
0.9 <= P(b | !d) <= 1
"""
