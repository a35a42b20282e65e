"""Results as pictures and tables for notebooks.

Input: labelled intervals or probabilities, or rows of words. Output: an HTML table. An interval is a bar in
it, from 0 to 1: dark where values are attained, light where they are only not excluded. Everything is inline,
so that it survives being mailed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from credalog.numbers.interval import Endpoint, Interval
from credalog.numbers.printed import decimal
from credalog.numbers.tolerances import PROBABILITY, Scale

WIDTH, HEIGHT = 240, 14
DECIMALS = 4
MOST = 200
"""So many rows of a table are shown."""

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
    return _table(("", "lower", "upper", "0 … 1", ""), list(map(_row, bars)), heading, note)


def as_words(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, heading: str = "", note: str = ""
) -> str:
    """Return a table of words under a heading, with a note below it."""
    return _table(headings, [list(map(_words, row)) for row in rows], heading, note)


def as_chances(chances: Sequence[tuple[str, float]], *, heading: str = "", note: str = "") -> str:
    """Return a table of labelled probabilities, each with a bar as long as it is great."""
    rows = [
        [
            _words(label),
            f"<td>{chance:.{DECIMALS}f}</td>",
            f"<td>{_drawing(_box(0.0, chance, ATTAINED))}</td>",
        ]
        for label, chance in chances
    ]
    return _table(("", "probability", "0 … 1"), rows, heading, note)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], heading: str, note: str) -> str:
    """Return a table of finished cells; no more rows than a page can hold."""
    parts = [f"<p><b>{escape(heading)}</b></p>"] if heading else []
    names = "".join(f"<th>{escape(name)}</th>" for name in headings)
    parts += [
        "<table>",
        f"<tr>{names}</tr>",
        *(f"<tr>{''.join(row)}</tr>" for row in rows[:MOST]),
        "</table>",
    ]
    parts += [f"<p>… and {len(rows) - MOST:,} more.</p>"] if len(rows) > MOST else []
    parts += [f"<p>{escape(note)}</p>"] if note else []
    return "\n".join(parts)


def _words(text: str) -> str:
    return f'<td style="text-align:left">{escape(text)}</td>'


def _row(bar: Bar) -> Sequence[str]:
    lower, upper = bar.interval.lower, bar.interval.upper
    return (
        _words(bar.label),
        f'<td title="{escape(_warranty(lower))}">{decimal(lower.bound, down=True, digits=DECIMALS)}</td>',
        f'<td title="{escape(_warranty(upper))}">{decimal(upper.bound, down=False, digits=DECIMALS)}</td>',
        f"<td>{picture(bar.interval, threshold=bar.threshold)}{_ends(bar.interval.scale)}</td>",
        _words(bar.remark),
    )


def _ends(scale: Scale) -> str:
    """Name the ends of a bar that is not one of probabilities."""
    return "" if scale == PROBABILITY else f" {scale}"


def _warranty(end: Endpoint) -> str:
    attained = "no model was found" if end.witnessed is None else f"a model attains {end.witnessed:.9g}"
    return f"{end.bound:.9g}, {end.warrant.value}; {attained}"


def picture(interval: Interval, *, threshold: float | None = None) -> str:
    """Return the bar of an interval as an inline SVG, with a mark at the threshold if there is one."""
    lower, upper = interval.lower, interval.upper
    at = interval.scale.position
    parts = [_box(at(lower.bound), at(upper.bound), POSSIBLE)]
    if lower.witnessed is not None and upper.witnessed is not None:
        parts.append(_box(at(lower.witnessed), at(upper.witnessed), ATTAINED))
    if threshold is not None:
        x = f"{at(threshold) * WIDTH:.1f}"
        parts.append(f'<line x1="{x}" y1="0" x2="{x}" y2="{HEIGHT}" stroke="{THRESHOLD}" stroke-width="2"/>')
    return _drawing(*parts)


def _drawing(*parts: str) -> str:
    frame = _box(0.0, 1.0, "none", stroke=FRAME)
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img">{frame}{"".join(parts)}</svg>'


def _box(left: float, right: float, fill: str, *, stroke: str = "none") -> str:
    width = max((right - left) * WIDTH, 1.0)
    x = min(left * WIDTH, WIDTH - width)
    return (
        f'<rect x="{x:.1f}" y="1" width="{width:.1f}" height="{HEIGHT - 2}" fill="{fill}" stroke="{stroke}"/>'
    )
