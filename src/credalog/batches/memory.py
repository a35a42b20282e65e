"""How much memory a process has, and may have.

Input: nothing, or a limit in bytes. Output: bytes. What a system does not tell is infinite.
"""

from __future__ import annotations

import os
from contextlib import suppress
from math import inf
from pathlib import Path

__all__ = ["available", "limit_memory", "resident"]

CONTAINER = Path("/sys/fs/cgroup/memory.max")
STATUS = Path("/proc/self/statm")


def available() -> float:
    """Return the memory of the machine, or of the container that stands for one."""
    found = inf
    with suppress(ValueError, OSError, AttributeError):
        found = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ValueError, OSError):
        found = min(found, float(CONTAINER.read_text(encoding="utf-8")))
    return found


def resident() -> float:
    """Return the memory that this process takes now; 0 where the system does not say."""
    try:
        pages = int(STATUS.read_text(encoding="utf-8").split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def limit_memory(most: float) -> None:
    """Let this process allocate so many bytes at most: what needs more fails, and nothing else does."""
    if most == inf:
        return
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (int(most), hard))
