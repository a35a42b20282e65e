"""Interval propagation: the paper's modified belief propagation, and its sound twin.

Input: a ground network. Output: an interval for every variable, in time linear in the number of factors; or
sound bounds on any one query.
"""

from credalog.methods.intervals.propagation import Schedule, propagate
from credalog.methods.intervals.result import Propagation, Round, Variant
from credalog.methods.intervals.slices import Slices, bounds, sound_answer

__all__ = ["Propagation", "Round", "Schedule", "Slices", "Variant", "bounds", "propagate", "sound_answer"]
