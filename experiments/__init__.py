"""Reproduction of the paper's experiments: one folder and one command per table."""
