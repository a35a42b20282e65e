"""Bayesian networks: probabilities that are points, by one pass over a junction tree."""
