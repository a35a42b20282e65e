"""Models at any size and width: worlds, sparse tables, and the explicit model of an answer about ties."""

from credalog.methods.cliques.models.finding import Hint, find_models, uncertain_models
from credalog.methods.cliques.models.scaling import Explicit, explicit_model

__all__ = ["Explicit", "Hint", "explicit_model", "find_models", "uncertain_models"]
