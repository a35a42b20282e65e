"""Intervals as pictures for notebooks.

Enters: labelled intervals. Leaves: an HTML table in which each interval is a bar from 0 to 1: dark where
values are attained, light where they are only not excluded. Everything is inline, so that it survives being
mailed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor

from credalog.numerics import Endpoint, Interval

__all__ = ["Bar", "as_html", "picture"]

WIDTH, HEIGHT = 240, 14
DECIMALS = 4
NOISE = 1e-8
"""A bound this near to a shown decimal is shown as that decimal; any other is rounded outwards."""

POSSIBLE, ATTAINED, THRESHOLD, FRAME = "#9ecae1", "#08519c", "#d62728", "#bbbbbb"


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: what the interval is of, the interval, and a remark."""

    label: str
    interval: Interval
    remark: str = ""
    threshold: float | None = None


def as_html(bars: Sequence[Bar], *, heading: str = "", note: str = "") -> str:
    """Return a table of bars under a heading, with a note below it."""
    parts = [f"<p><b>{escape(heading)}</b></p>"] if heading else []
    parts += ["<table>", _head(), *map(_row, bars), "</table>"]
    parts += [f"<p>{escape(note)}</p>"] if note else []
    return "\n".join(parts)


def _head() -> str:
    names = ("", "lower", "upper", "0 … 1", "")
    return f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"


def _row(bar: Bar) -> str:
    lower, upper = bar.interval.lower, bar.interval.upper
    cells = (
        f'<td style="text-align:left">{escape(bar.label)}</td>',
        f'<td title="{escape(_warranty(lower))}">{_decimal(lower.bound, down=True)}</td>',
        f'<td title="{escape(_warranty(upper))}">{_decimal(upper.bound, down=False)}</td>',
        f"<td>{picture(bar.interval, threshold=bar.threshold)}</td>",
        f'<td style="text-align:left">{escape(bar.remark)}</td>',
    )
    return f"<tr>{''.join(cells)}</tr>"


def _warranty(end: Endpoint) -> str:
    attained = "no model was found" if end.witnessed is None else f"a model attains {end.witnessed:.9g}"
    return f"{end.bound:.9g}, {end.warrant.value}; {attained}"


def _decimal(value: float, *, down: bool) -> str:
    scaled = value * 10**DECIMALS
    near = round(scaled)
    outwards = floor(scaled) if down else ceil(scaled)
    return f"{(near if abs(scaled - near) <= NOISE * 10**DECIMALS else outwards) / 10**DECIMALS:.{DECIMALS}f}"


def picture(interval: Interval, *, threshold: float | None = None) -> str:
    """Return the bar of an interval as an inline SVG, with a mark at the threshold if there is one."""
    lower, upper = interval.lower, interval.upper
    parts = [_box(0.0, 1.0, "none", stroke=FRAME), _box(lower.bound, upper.bound, POSSIBLE)]
    if lower.witnessed is not None and upper.witnessed is not None:
        parts.append(_box(lower.witnessed, upper.witnessed, ATTAINED))
    if threshold is not None:
        x = f"{threshold * WIDTH:.1f}"
        parts.append(f'<line x1="{x}" y1="0" x2="{x}" y2="{HEIGHT}" stroke="{THRESHOLD}" stroke-width="2"/>')
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img">{"".join(parts)}</svg>'


def _box(left: float, right: float, fill: str, *, stroke: str = "none") -> str:
    width = max((right - left) * WIDTH, 1.0)
    x = min(left * WIDTH, WIDTH - width)
    return (
        f'<rect x="{x:.1f}" y="1" width="{width:.1f}" height="{HEIGHT - 2}" fill="{fill}" stroke="{stroke}"/>'
    )
