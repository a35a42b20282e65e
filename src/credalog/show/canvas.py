"""A picture as a list of shapes, written as SVG or painted by matplotlib.

Input: rectangles, curves and words, each of a named kind. Output: `Picture`, which is text (SVG), bytes
(PNG), a file of either, or something that a notebook shows. What a kind looks like is said once, in `KINDS`;
a page may say it anew, because every kind is a class of the style sheet, `lcn-` and its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from html import escape
from io import BytesIO
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from credalog.errors import CredalogError, MissingLibrary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point: TypeAlias = tuple[float, float]
Curve: TypeAlias = tuple[Point, ...]
"""A point, then two control points and an end for each piece of a cubic Bézier curve."""

Anchor: TypeAlias = Literal["start", "middle", "end"]

FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
SIZE = 13.0
"""The height of letters, unless a kind has its own."""

HEAD = 7.0
"""The length of the head of an arrow."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a kind of shape is painted; lines and letters have no filling of their own."""

    fill: str = "none"
    line: str = "none"
    width: float = 1.0
    size: float = SIZE
    is_bold: bool = False
    dashes: tuple[float, ...] = ()


INK, PAPER, SHADE, FAINT = "#2b3442", "#ffffff", "#dfe7f3", "#c4cad4"
POSSIBLE, ATTAINED, ACCENT, SECOND = "#9ecae1", "#08519c", "#b0413e", "#d98b2b"

KINDS = {
    "paper": Look(PAPER),
    "variable": Look(SHADE, INK),
    "formula": Look(PAPER, INK),
    "observed": Look("#f6e3b4", INK),
    "brace": Look(ACCENT, ACCENT),
    "plate": Look("none", "#7d8899", 1.2),
    "arrow": Look("none", INK, 1.1),
    "tie": Look("none", ACCENT, 1.8),
    "name": Look(INK),
    "title": Look(INK, size=15.0, is_bold=True),
    "small": Look(INK, size=11.0),
    "note": Look("#5b6675", size=11.0),
    "possible": Look(POSSIBLE),
    "attained": Look(ATTAINED),
    "frame": Look(PAPER, FAINT),
    "axis": Look("none", INK),
    "grid": Look("none", "#e6e9ee"),
    "mark": Look("none", ACCENT, 1.6),
    "before": Look("#d5d9e0"),
    "lower": Look("none", ATTAINED, 1.8),
    "upper": Look("none", SECOND, 1.8),
    "lower-witness": Look("none", ATTAINED, 1.4, dashes=(4.0, 3.0)),
    "upper-witness": Look("none", SECOND, 1.4, dashes=(4.0, 3.0)),
}
"""What every kind of shape looks like."""


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A rectangle, its corners rounded."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    radius: float = 0.0


@dataclass(frozen=True, slots=True)
class Stroke:
    """A curve, with the head of an arrow at its end or without."""

    kind: str
    curve: Curve
    has_head: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text; y is the middle of its height."""

    kind: str
    x: float
    y: float
    text: str
    anchor: Anchor = "middle"


@dataclass(frozen=True, slots=True)
class Group:
    """Shapes that stand for one thing: its name, and what is said when one points at it."""

    name: str
    title: str
    shapes: tuple[Rectangle | Stroke | Words, ...]


Shape: TypeAlias = Rectangle | Stroke | Words | Group


def straight(*points: Point) -> Curve:
    """Return a polyline as a curve."""
    curve = [points[0]]
    for one, other in pairwise(points):
        curve += [_between(one, other, 1 / 3), _between(one, other, 2 / 3), other]
    return tuple(curve)


def _between(one: Point, other: Point, share: float) -> Point:
    return one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1])


def text_width(text: str, size: float = SIZE) -> float:
    """Estimate how wide a text is; a little too wide does no harm."""
    return size * sum(map(_em, text))


def _em(letter: str) -> float:
    if letter in "iljI.,:;|!'()[] ftr":
        return 0.36
    return 0.88 if letter in "mwMW@%" else 0.72 if letter.isupper() or ord(letter) > 127 else 0.57


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """Shapes on a page of a size in points; `title` says to those who do not see it what it shows."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str = ""

    def __repr__(self) -> str:
        return f"<picture of {self.width:.0f} by {self.height:.0f}: {self.title}>"

    def svg(self) -> str:
        """Return the picture as a stand-alone SVG file, which may as well stand in a page."""
        return "\n".join(_svg(self)) + "\n"

    def _repr_svg_(self) -> str:
        return self.svg()

    def figure(self) -> Figure:
        """Return the picture as a figure of matplotlib, of its own size."""
        require_painter()
        from matplotlib.figure import Figure

        # One unit of the layout is a point at 72 dots per inch; twice as many dots look sharp.
        figure = Figure(figsize=(self.width / 72, self.height / 72), dpi=144)
        self.draw(figure.add_axes((0, 0, 1, 1)))
        return figure

    def draw(self, axes: Axes) -> Axes:
        """Paint the picture on axes of matplotlib, and return them."""
        paint(self, axes)
        return axes

    def png(self) -> bytes:
        """Return the picture as a PNG file; needs matplotlib."""
        return self._file("png")

    def save(self, path: str | Path) -> None:
        """Write the picture to a file whose ending says how: .svg, or .png and .pdf with matplotlib."""
        from credalog.text.statements import writable

        with writable(path) as target:
            target.write_bytes(self.in_form(target.suffix.lower().removeprefix(".")))

    def in_form(self, form: str) -> bytes:
        """Return the file of a form by its usual ending."""
        if form not in FORMS:
            known = ", ".join(f".{one}" for one in FORMS)
            raise CredalogError(
                f"there are no pictures of the form .{form}", advice=f"Choose one of {known}."
            )
        return self.svg().encode() if form == "svg" else self._file(form)

    def _file(self, form: str) -> bytes:
        image = BytesIO()
        metadata = {"png": {"Software": None}, "pdf": {"CreationDate": None}}[form]
        self.figure().savefig(image, format=form, metadata=metadata)
        return image.getvalue()


FORMS = ("svg", "png", "pdf")
"""The files that a picture can be written as."""


def require_painter() -> None:
    """Complain if there is no library that paints anything but SVG."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as missing:
        otherwise = "draw an SVG, which needs nothing"
        raise MissingLibrary.of("matplotlib", "figures", otherwise=otherwise) from missing


# ---- SVG ----------------------------------------------------------------------------------------------


def _svg(picture: Picture) -> Iterator[str]:
    width, height = round(picture.width), round(picture.height)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lcn" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{escape(FONT)}" font-size="{SIZE:g}" role="img" '
        f'aria-label="{escape(picture.title)}">'
    )
    yield f"<style>{''.join(map(_rule, sorted(set(_used(picture.shapes)) | {'paper'})))}</style>"
    yield (
        '<defs><marker id="lcn-head" viewBox="0 0 10 10" refX="9" refY="5" '
        f'markerUnits="userSpaceOnUse" markerWidth="{HEAD:g}" markerHeight="{HEAD:g}" orient="auto">'
        f'<path class="lcn-head" d="M0 1 L10 5 L0 9 z" fill="{INK}"/></marker></defs>'
    )
    yield f'<rect class="lcn-paper" width="{width}" height="{height}"/>'
    yield from map(_element, picture.shapes)
    yield "</svg>"


def _used(shapes: Sequence[Shape]) -> Iterator[str]:
    for shape in shapes:
        if isinstance(shape, Group):
            yield from _used(shape.shapes)
        else:
            yield shape.kind


def _rule(kind: str) -> str:
    look = KINDS[kind]
    parts = [f"fill:{look.fill}"]
    parts += [f"stroke:{look.line}", f"stroke-width:{look.width:g}"] if look.line != "none" else []
    parts += [f"font-size:{look.size:g}px"] if look.size != SIZE else []
    parts += ["font-weight:bold"] if look.is_bold else []
    parts += [f"stroke-dasharray:{' '.join(f'{dash:g}' for dash in look.dashes)}"] if look.dashes else []
    return f".lcn-{kind}{{{';'.join(parts)}}}"


def _element(shape: Shape) -> str:
    match shape:
        case Rectangle(kind, x, y, width, height, radius):
            round_ = f' rx="{radius:g}"' if radius else ""
            place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
            return f'<rect class="lcn-{kind}" {place}{round_}/>'
        case Stroke(kind, curve, has_head):
            head = ' marker-end="url(#lcn-head)"' if has_head else ""
            return f'<path class="lcn-{kind}" d="{_path(curve)}"{head}/>'
        case Words(kind, x, y, text, anchor):
            # The middle of letters is a third of their height above the line they stand on.
            line = y + 0.35 * KINDS[kind].size
            place = f'x="{x:.1f}" y="{line:.1f}" text-anchor="{anchor}"'
            return f'<text class="lcn-{kind}" {place}>{escape(text)}</text>'
        case Group(name, title, shapes):
            inner = "".join(map(_element, shapes))
            return f'<g class="lcn-node" data-name="{escape(name)}"><title>{escape(title)}</title>{inner}</g>'


def _path(curve: Curve) -> str:
    numbers = [f"{x:.1f} {y:.1f}" for x, y in curve]
    pieces = [f"C{' '.join(numbers[i : i + 3])}" for i in range(1, len(numbers), 3)]
    return f"M{numbers[0]}{''.join(pieces)}"


def moved(shape: Shape, by: Point) -> Shape:
    """Return a shape in another place."""
    dx, dy = by
    match shape:
        case Stroke(kind, curve, has_head):
            return Stroke(kind, tuple((x + dx, y + dy) for x, y in curve), has_head)
        case Group(name, title, shapes):
            inner = tuple(moved(one, by) for one in shapes)
            return Group(name, title, inner)  # type: ignore[arg-type]
        case Rectangle() | Words():
            values = {field.name: getattr(shape, field.name) for field in fields(shape)}
            return type(shape)(**values | {"x": shape.x + dx, "y": shape.y + dy})


# ---- painting with matplotlib -----------------------------------------------------------------------------
# Paint a picture with matplotlib: the same shapes, in the same places and colours as in SVG.
# Input: a `Picture` and axes. Output: artists on these axes.

ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def paint(picture: Picture, axes: Axes) -> None:
    """Paint all shapes; the axes show the page and nothing else."""
    axes.set(xlim=(0, picture.width), ylim=(picture.height, 0), aspect="equal")
    axes.set_axis_off()
    for shape in picture.shapes:
        _paint(shape, axes)


def _paint(shape: Shape, axes: Axes) -> None:
    match shape:
        case Rectangle():
            _paint_rectangle(shape, axes)
        case Stroke():
            _paint_stroke(shape, axes)
        case Words(kind, x, y, text, anchor):
            look = KINDS[kind]
            # A name may hold dollar signs that are not mathematics.
            axes.text(
                x, y, text, ha=ANCHORS[anchor], va="center", color=look.fill, parse_math=False,
                fontsize=0.92 * look.size, fontweight="bold" if look.is_bold else "normal",
            )  # fmt: skip
        case Group(shapes=shapes):
            for one in shapes:
                _paint(one, axes)


def _paint_rectangle(shape: Rectangle, axes: Axes) -> None:
    from matplotlib.patches import FancyBboxPatch
    from matplotlib.patches import Rectangle as Plain

    look = KINDS[shape.kind]
    style: dict[str, Any] = {"facecolor": look.fill, "edgecolor": look.line, "linewidth": look.width}
    corner = (shape.x, shape.y)
    if shape.radius:
        rounded = f"round,pad=0,rounding_size={shape.radius}"
        axes.add_patch(FancyBboxPatch(corner, shape.width, shape.height, rounded, **style))
    else:
        axes.add_patch(Plain(corner, shape.width, shape.height, **style))


def _paint_stroke(shape: Stroke, axes: Axes) -> None:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    look = KINDS[shape.kind]
    codes = [Path.MOVETO, *[Path.CURVE4] * (len(shape.curve) - 1)]
    style: dict[str, Any] = {"edgecolor": look.line, "linewidth": look.width}
    style |= {"linestyle": (0, look.dashes)} if look.dashes else {}
    axes.add_patch(PathPatch(Path(list(shape.curve), codes), facecolor="none", **style))
    if shape.has_head:
        axes.add_patch(Polygon(head(shape.curve), closed=True, facecolor=look.line, edgecolor="none"))


def head(curve: Curve) -> list[Point]:
    """Return the three corners of the head of an arrow, whose tip is the end of the curve."""
    (x, y), (fx, fy) = curve[-1], next(p for p in curve[-2::-1] if p != curve[-1])
    length = hypot(x - fx, y - fy)
    dx, dy = HEAD * (x - fx) / length, HEAD * (y - fy) / length
    return [(x, y), (x - dx - 0.4 * dy, y - dy + 0.4 * dx), (x - dx + 0.4 * dy, y - dy - 0.4 * dx)]
