"""Paint a picture with matplotlib: the same shapes, in the same places and colours as in SVG.

Input: a `Picture` and axes. Output: artists on these axes.
"""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING, Any

from credalog.show.canvas import HEAD, KINDS, Curve, Group, Picture, Point, Rectangle, Shape, Stroke, Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
