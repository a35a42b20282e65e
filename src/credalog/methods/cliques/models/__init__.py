"""Models at any size and width: worlds, sparse tables, and the model of greatest entropy."""

from credalog.methods.cliques.models.finding import Hint, find_models, uncertain_models

__all__ = ["Hint", "find_models", "uncertain_models"]
