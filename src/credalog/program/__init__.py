"""Optimization problems over nonnegative columns, and the solvers that make claims about them."""
