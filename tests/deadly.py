"""A model whose questions about one atom kill the process that works on them."""

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
"""


class Deadly(LCN):
    """An LCN that ends its process when asked about poison."""

    def query(self, asked: Any, **options: Any) -> Answer:
        if "poison" in str(asked):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().query(asked, **options)

    def __reduce__(self) -> Any:
        return (deadly, ())


def deadly() -> Deadly:
    return Deadly(parse(TEXT).stated)
