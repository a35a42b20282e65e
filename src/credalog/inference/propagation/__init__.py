"""Interval propagation: the paper's modified belief propagation, and its sound twin."""

from credalog.inference.propagation.flow import Propagation, Round, Schedule, Variant, propagate

__all__ = ["Propagation", "Round", "Schedule", "Variant", "propagate"]
