"""Mastermind with a lying code-maker: the paper's Table 1."""
