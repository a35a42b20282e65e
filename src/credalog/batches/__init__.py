"""Many questions at once: read, grouped, shared out among workers, and answered in a file that can grow.

Input: a network or many, and questions in any of several forms. Output: `Outcome`s in order of completion.
Each question costs only itself: one that cannot be understood, or that kills the process that works on it,
is an outcome like any other. Workers are this process, others on this machine, or those of a Dask cluster.
"""

from credalog.batches.asking import Batch, batch
from credalog.batches.items import Outcome

__all__ = ["Batch", "Outcome", "batch"]
