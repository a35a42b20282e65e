"""A model whose questions about some atoms kill the process that works on them, or take all its memory."""

from __future__ import annotations

import os
import signal
from typing import Any

from credalog.lcn import LCN, parse
from credalog.methods.answer import Answer

TEXT = """
0.3 <= P(a) <= 0.5
0.2 <= P(b | a) <= 0.4
0.6 <= P(b | !a) <= 0.7
0.1 <= P(poison) <= 0.2
0.1 <= P(once) <= 0.2
0.1 <= P(glutton) <= 0.2
"""


MOST_EATEN = 16
"""Four gigabytes: no test has a worker with so much."""


class Deadly(LCN):
    """An LCN that ends its process when asked about poison, and takes all memory when about a glutton."""

    def query(self, asked: Any, **options: Any) -> Answer:
        if "poison" in str(asked):
            os.kill(os.getpid(), signal.SIGKILL)
        if "glutton" in str(asked):
            # A quarter of a gigabyte after the other, all of it touched, until the system gives no more.
            eaten = list[bytearray]()
            while len(eaten) < MOST_EATEN:
                eaten.append(bytearray(b"x") * (1 << 28))
        return super().query(asked, **options)

    def __reduce__(self) -> Any:
        return (deadly, ())


def deadly() -> Deadly:
    return Deadly(parse(TEXT).stated)
