"""A picture of Table 2: our F1 scores beside the paper's.

Input: the rows of the table. Output: a PNG file.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from experiments.fraud.report import Row

__all__ = ["draw"]


def draw(rows: list[Row], path: Path) -> None:
    """Draw one line per method, best at the top: mean and standard deviation, the paper's above ours."""
    ordered = sorted(rows, key=lambda row: row.overall[0])
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    for y, row in enumerate(ordered):
        if not isinstance(row.paper, str):
            axes.errorbar(row.paper[0], y + 0.14, xerr=row.paper[1], fmt="o", color="#999999", capsize=3)
        axes.errorbar(row.overall[0], y - 0.14, xerr=row.overall[1], fmt="o", color="#2c6fbb", capsize=3)
    axes.errorbar([], [], xerr=[], fmt="o", color="#999999", label="paper")
    axes.errorbar([], [], xerr=[], fmt="o", color="#2c6fbb", label="here")
    axes.set_yticks(range(len(ordered)), [row.method for row in ordered])
    axes.set(xlabel="F1 score, mean and standard deviation over ten tasks", xlim=(0, 0.85))
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=130)
