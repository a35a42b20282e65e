"""Credal networks: set propagation, and branch and bound over the vertices of local credal sets."""
