"""How much the page may ask for: bytes, seconds, memory, and things to draw.

Input: nothing. Output: numbers, each with its reason.
"""

from __future__ import annotations

__all__ = [
    "ANSWERING",
    "CERTIFYING",
    "DRAWN",
    "GRACE",
    "LINES",
    "LISTED",
    "LONGEST",
    "MEMORY",
    "MOST_BYTES",
    "MOST_FILES",
    "READING",
    "SENTENCES",
    "STOPPING",
    "WAITING",
]

MOST_BYTES = 1_000_000
"""The longest body of a request: a model of some ten thousand sentences with its tables."""

MOST_FILES = 50
"""So many files may come with a text."""

READING = 10.0
"""Seconds after which a reading is given up: its worker is killed."""

ANSWERING = 30.0
"""Seconds for a question, unless the page says otherwise."""

LONGEST = 600.0
"""The most seconds that the page may say."""

CERTIFYING = 20.0
"""Seconds for each bound that is to be proved."""

GRACE = 5.0
"""Seconds beyond its limit after which a job that does not end by itself is killed."""

STOPPING = 1.5
"""Seconds in which a job that was stopped may still say what it has found."""

WAITING = 2
"""So many jobs are under way at a time; others wait."""

MEMORY = 6 << 30
"""Bytes of address space for a worker; most of it is never touched."""

SENTENCES = 50_000
"""A theory with more instances is asked around the question, and not drawn."""

DRAWN = 90
"""So many variables are drawn; of a larger network the part around a variable is."""

LISTED = 2_000
"""So many names, sentences or entries of tables are listed."""

LINES = 5
"""So many mistakes of a text are shown at a time."""
