"""The well of the tutorial in ProbLog, with the middle of each interval, beside every model of the intervals.

python examples/compare/with_problog.py        (needs problog)
"""

from __future__ import annotations

from problog import get_evaluatable
from problog.program import PrologString

import credalog

POINTS = r"""
0.075::spill.
0.75::bad :- spill.
0.03::bad :- \+spill.
0.9::strip :- bad.
0.06::strip :- \+bad.
evidence(strip).
query(bad).
"""

INTERVALS = """
0.05 <= P(spill) <= 0.1
0.6 <= P(bad | spill) <= 0.9
0.01 <= P(bad | !spill) <= 0.05
0.85 <= P(strip | bad) <= 0.95
0.02 <= P(strip | !bad) <= 0.1
"""

MIDDLES = """
P(spill) = 0.075
P(bad | spill) = 0.75
P(bad | !spill) = 0.03
P(strip | bad) = 0.9
P(strip | !bad) = 0.06
"""


def main() -> None:
    """Print P(bad | strip) three times."""
    (number,) = get_evaluatable().create_from(PrologString(POINTS)).evaluate().values()
    print(f"ProbLog, middles      {number:.6f}")
    for name, text in {"here, middles": MIDDLES, "here, intervals": INTERVALS}.items():
        answer = credalog.parse(text).query("P(bad | strip)")
        print(f"{name:20}  {answer.lower:.6f} … {answer.upper:.6f}")


if __name__ == "__main__":
    main()
