"""Credalog: Logical Credal Networks, answered with bounds you can trust."""

from credalog.lcn import LCN, load, parse

__all__ = ["LCN", "load", "parse"]
