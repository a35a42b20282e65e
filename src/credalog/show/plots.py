"""Draw results: intervals one below the other, before and after, as a tornado, and closing over time.

Input: labelled intervals, widths, or reports of a search. Output: a `Picture`. A light bar is what is not
excluded, a dark one what models attain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Protocol

from credalog.errors import CredalogError
from credalog.numbers.interval import Interval
from credalog.numbers.tolerances import PROBABILITY
from credalog.show.canvas import Picture, Point, Rectangle, Shape, Stroke, Words, moved, straight, text_width
from credalog.show.sketch import short, shortened

ROW, BAR = 24.0, 12.0
"""The height of a line of a plot, and of its bar."""

ACROSS, MARGIN, HEADING, FOOTING = 420.0, 16.0, 30.0, 34.0
"""How wide the bars are, and the space around them."""

MOST = 60
"""So many lines of a plot can be read."""

SMALL = 11.0


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot: of what the interval is, and what it was before."""

    label: str
    interval: Interval
    before: Interval | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """From which number to which an axis goes, and from which place to which."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a number; one beyond the axis stands at its end."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return about five round numbers on the axis."""
        step = 10.0 ** floor(log10(self.high - self.low))
        step *= next(f for f in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0) if (self.high - self.low) / (f * step) <= 6.0)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def _range(numbers: Iterable[float]) -> tuple[float, float]:
    """Return a range that holds all numbers, with a little room around them."""
    finite = [number for number in numbers if isfinite(number)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    room = 0.05 * (high - low) or 0.05 * max(abs(high), 0.2)
    return low - room, high + room


# ---- intervals ----------------------------------------------------------------------------------------


def interval_plot(lines: Sequence[Line], *, title: str = "") -> Picture:
    """Draw intervals one below the other; where there is one from before, it stands above in grey."""
    _require_lines(lines)
    shown, more = lines[:MOST], len(lines) - MOST
    is_probability = all(line.interval.scale == PROBABILITY for line in shown)
    ends = [end for line in shown for one in (line.interval, line.before) if one for end in one]
    low, high = (0.0, 1.0) if is_probability else _range(ends)
    frame = _Frame.around([line.label for line in shown], [_numbers(line) for line in shown], low, high)
    shapes = frame.shapes(title, len(shown))
    for i, line in enumerate(shown):
        shapes += frame.words(i, line.label, _numbers(line))
        shapes += _bars(line, frame.axis, frame.middle(i))
    notes = _notes(lines, more)
    return frame.finished(shapes, len(shown), notes, title)


def _require_lines(lines: Sequence[object]) -> None:
    if not lines:
        raise CredalogError("there is nothing to plot", advice="Ask for something first.")


def _numbers(line: Line) -> str:
    return short(line.interval) + (f"  {line.remark}" if line.remark else "")


def _bars(line: Line, axis: Axis, middle: float) -> list[Shape]:
    top, height = (middle - 1.0, BAR / 2 + 2.0) if line.before else (middle - BAR / 2, BAR)
    shapes: list[Shape] = []
    if line.before is not None:
        shapes.append(_bar("before", axis, tuple(line.before), (middle - BAR / 2 - 1.0, BAR / 2 - 1.0)))
    shapes.append(_bar("possible", axis, tuple(line.interval), (top, height)))
    lower, upper = line.interval.lower.witnessed, line.interval.upper.witnessed
    if lower is not None and upper is not None:
        shapes.append(_bar("attained", axis, (lower, upper), (top, height)))
    return shapes


def _bar(kind: str, axis: Axis, ends: tuple[float, ...], upright: Point) -> Rectangle:
    """Draw a bar, wide enough to be seen."""
    start, end = axis(ends[0]), axis(ends[1])
    width = max(end - start, 2.0)
    return Rectangle(kind, min(start, axis.end - width), upright[0], width, upright[1])


def _notes(lines: Sequence[Line], more: int) -> list[tuple[str, str]]:
    notes = [("possible", "not excluded"), ("attained", "attained by models")]
    notes = [("before", "before"), *notes] if any(line.before is not None for line in lines) else notes
    return [*notes, ("", f"… and {more:,} more")] if more > 0 else notes


@dataclass(frozen=True, slots=True)
class _Frame:
    """Labels on the left, an axis in the middle, numbers on the right."""

    axis: Axis
    numbers_width: float

    @classmethod
    def around(cls, labels: Sequence[str], numbers: Sequence[str], low: float, high: float) -> _Frame:
        left = MARGIN + max(text_width(shortened(label)) for label in labels) + 12.0
        width = max((text_width(text, SMALL) for text in numbers), default=0.0)
        return cls(Axis(low, high, left, left + ACROSS), width)

    def middle(self, row: int) -> float:
        return HEADING + ROW * (row + 0.5)

    def shapes(self, title: str, rows: int) -> list[Shape]:
        """Draw the title, the axis and its grid."""
        bottom = HEADING + ROW * rows
        shapes: list[Shape] = [Words("title", MARGIN, HEADING / 2, title, "start")] if title else []
        for tick in self.axis.ticks():
            x = self.axis(tick)
            shapes.append(Stroke("grid", straight((x, HEADING), (x, bottom))))
            shapes.append(Words("small", x, bottom + 12.0, f"{tick:.6g}"))
        shapes.append(Stroke("axis", straight((self.axis.start, bottom), (self.axis.end, bottom))))
        return shapes

    def words(self, row: int, label: str, numbers: str) -> list[Shape]:
        y = self.middle(row)
        return [
            Words("name", self.axis.start - 12.0, y, shortened(label), "end"),
            Words("small", self.axis.end + 12.0, y, numbers, "start"),
        ]

    def finished(
        self, shapes: Sequence[Shape], rows: int, notes: Sequence[tuple[str, str]], title: str
    ) -> Picture:
        """Add what the colours mean."""
        y = HEADING + ROW * rows + FOOTING
        legend: list[Shape] = []
        x = self.axis.start
        for kind, words in notes:
            if kind:
                legend.append(Rectangle(kind, x, y - 4.0, 14.0, 8.0))
            legend.append(Words("note", x + 20.0, y, words, "start"))
            x += 36.0 + text_width(words, SMALL)
        right = max(x, self.axis.end + 12.0 + self.numbers_width) + MARGIN
        right = max(right, text_width(title, 15.0) * 1.1 + 2 * MARGIN)
        return Picture(right, y + MARGIN, (*shapes, *legend), title or "intervals")


# ---- tornado ------------------------------------------------------------------------------------------


def tornado(
    whole: Line, without: Sequence[Line], *, title: str = "", held: str = "the interval as it stands"
) -> Picture:
    """Draw by how much each thing, dropped, widens an interval: the widest first, the whole marked."""
    _require_lines([whole])
    base = tuple(whole.interval)
    ranked = sorted(without, key=lambda line: -(line.interval.upper.bound - line.interval.lower.bound))[:MOST]
    low, high = _range([*base, *(end for line in ranked for end in line.interval)])
    rows = [whole, *ranked]
    frame = _Frame.around([row.label for row in rows], [_numbers(row) for row in rows], low, high)
    shapes = frame.shapes(title, len(rows))
    for i, row in enumerate(rows):
        shapes += frame.words(i, row.label, _numbers(row))
        place = (frame.middle(i) - BAR / 2, BAR)
        if i:
            shapes.append(_bar("possible", frame.axis, tuple(row.interval), place))
        shapes.append(_bar("attained", frame.axis, base, place))
    bottom = HEADING + ROW * len(rows)
    marks = [Stroke("mark", straight((frame.axis(end), HEADING), (frame.axis(end), bottom))) for end in base]
    notes = [("attained", held), ("possible", "how far it widens without")]
    return frame.finished([*shapes, *marks], len(rows), notes, title)


@dataclass(frozen=True, slots=True)
class Worth:
    """A measurement: of what, how wide the interval would be at most, and the widths that were met."""

    label: str
    at_most: float
    met: tuple[float, float] | None


def worth_plot(now: float, rows: Sequence[Worth], *, title: str = "") -> Picture:
    """Draw how wide an interval would be after each measurement, beside its width now."""
    _require_lines(rows)
    shown = rows[:MOST]
    high = 1.05 * max([now, *(row.at_most for row in shown if isfinite(row.at_most))]) or 1.0
    frame = _Frame.around([row.label for row in shown], [f"≤ {row.at_most:.3g}" for row in shown], 0.0, high)
    shapes = frame.shapes(title, len(shown))
    for i, row in enumerate(shown):
        shapes += frame.words(i, row.label, f"≤ {row.at_most:.3g}")
        place = (frame.middle(i) - BAR / 2, BAR)
        shapes.append(_bar("before", frame.axis, (0.0, now), place))
        shapes.append(_bar("possible", frame.axis, (0.0, row.at_most), place))
        if row.met is not None:
            shapes.append(_bar("attained", frame.axis, row.met, place))
    notes = [("before", "width now"), ("possible", "at most, once measured"), ("attained", "widths met")]
    return frame.finished(shapes, len(shown), notes, title)


# ---- convergence --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moment:
    """What was known of one end of an interval at a time."""

    end: str
    seconds: float
    bound: float
    witnessed: float | None


class Answered(Protocol):
    """An answer: to what, in which interval, and after how long."""

    @property
    def query(self) -> object:
        """Return the question."""

    @property
    def interval(self) -> Interval:
        """Return the interval."""

    @property
    def seconds(self) -> float:
        """Return how long it took."""


HEIGHT = 220.0
SERIES = (
    ("lower", "lower bound"),
    ("lower-witness", "least value attained"),
    ("upper", "upper bound"),
    ("upper-witness", "greatest value attained"),
)


def convergence_plot(moments: Sequence[Moment], *, title: str = "") -> Picture:
    """Draw how bounds and attained values approached each other while a question was worked on."""
    _require_lines(moments)
    series = {kind: _series(moments, kind) for kind, _ in SERIES}
    values = [value for points in series.values() for _, value in points]
    low, high = _range(values)
    last = max(moment.seconds for moment in moments) or 1e-3
    left = MARGIN + 48.0
    across = Axis(0.0, last, left, left + ACROSS)
    up = Axis(low, high, HEADING + HEIGHT, HEADING)
    shapes = _grid(across, up, title)
    for kind, points in series.items():
        # A bound holds until a better one is found.
        placed = [(across(t), up(value)) for t, value in points]
        steps = [placed[:1], *([(x, before[1]), (x, y)] for before, (x, y) in pairwise(placed))]
        corners = [point for step in steps for point in step]
        if corners:
            shapes.append(Stroke(kind, straight(*corners, (across.end, corners[-1][1]))))
    return _with_keys(shapes, across, [kind for kind in series if series[kind]], title)


def _series(moments: Sequence[Moment], kind: str) -> list[Point]:
    end, _, witness = kind.partition("-")
    found = ((m.seconds, m.witnessed if witness else m.bound) for m in moments if m.end == end)
    return [(t, v) for t, v in found if v is not None and isfinite(v)]


def _grid(across: Axis, up: Axis, title: str) -> list[Shape]:
    shapes: list[Shape] = [Words("title", MARGIN, HEADING / 2, title, "start")] if title else []
    for tick in up.ticks():
        y = up(tick)
        shapes.append(Stroke("grid", straight((across.start, y), (across.end, y))))
        shapes.append(Words("small", across.start - 6.0, y, f"{tick:.6g}", "end"))
    for tick in across.ticks():
        shapes.append(Words("small", across(tick), up.start + 12.0, f"{tick:.6g} s"))
    shapes.append(Stroke("axis", straight((across.start, up.start), (across.end, up.start))))
    shapes.append(Stroke("axis", straight((across.start, up.start), (across.start, up.end))))
    return shapes


def _with_keys(shapes: list[Shape], across: Axis, used: Sequence[str], title: str) -> Picture:
    x, y = across.end + 14.0, HEADING + 10.0
    names = dict(SERIES)
    for i, kind in enumerate(used):
        at = y + 20.0 * i
        shapes.append(Stroke(kind, straight((x, at), (x + 22.0, at))))
        shapes.append(Words("note", x + 28.0, at, names[kind], "start"))
    widest = max((text_width(names[kind], SMALL) for kind in used), default=0.0)
    width, height = x + 28.0 + widest + MARGIN, HEADING + HEIGHT + FOOTING
    return Picture(width, height, tuple(shapes), title or "convergence")


def stacked(pictures: Sequence[Picture]) -> Picture:
    """Put pictures one below the other."""
    shapes: list[Shape] = []
    top = 0.0
    for picture in pictures:
        shapes += [moved(shape, (0.0, top)) for shape in picture.shapes]
        top += picture.height
    width = max(picture.width for picture in pictures)
    return Picture(width, top, tuple(shapes), "; ".join(picture.title for picture in pictures))


class Recording:
    """A report that remembers: pass it as `report=`, then plot how the interval closed.

    It may hand every report on to another, such as one that shows a bar.
    """

    def __init__(self, then: Callable[[object], None] | None = None) -> None:
        self.moments: list[Moment] = []
        self._then = then

    def __call__(self, progress: object) -> None:
        """Remember what is known of an end; other reports are only handed on."""
        end = getattr(progress, "task", "")
        if end in ("lower", "upper"):
            found = (getattr(progress, name) for name in ("seconds", "bound", "witnessed"))
            self.moments.append(Moment(end, *found))
        if self._then is not None:
            self._then(progress)

    def plot(self, answer: Answered | None = None, *, title: str = "") -> Picture:
        """Draw how bounds and attained values approached each other; an answer is where they ended."""
        last = [] if answer is None else _ending(answer)
        said = title or ("" if answer is None else str(answer.query))
        return convergence_plot([*self.moments, *last], title=said)


def _ending(answer: Answered) -> list[Moment]:
    ends = (("lower", answer.interval.lower), ("upper", answer.interval.upper))
    return [Moment(name, answer.seconds, end.bound, end.witnessed) for name, end in ends]
