"""The drawn pictures of the documentation: `python docs/figures.py` writes them to docs/images.

Input: the numbers of examples/parity.lcn and a few positions. Output: SVG, the same bytes every time; a test
compares them with the files. Graphs that the engine draws are not made here but by the command that their
page names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from xml.sax.saxutils import escape

IMAGES = Path(__file__).parent / "images"

INK, PALE, PAPER = "#2b3442", "#5f6b7c", "#ffffff"
BLUE, GREEN, AMBER, GREY = "#cfe2f8", "#d5ecd2", "#fbe6bd", "#eef1f5"
STRONG, TIED = "#1f5fa8", "#b03a36"
HEAD = (
    '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
    f' orient="auto-start-reverse"><path d="M0 1 L10 5 L0 9 z" fill="{INK}"/></marker></defs>'
)


# ---- what pictures are made of --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Node:
    """A variable: a round box with its name."""

    name: str
    x: float
    y: float
    fill: str = BLUE
    width: float = 66.0
    height: float = 32.0

    def edge_towards(self, other: Node) -> tuple[float, float]:
        """Return where the line to the other node leaves this box."""
        dx, dy = other.x - self.x, other.y - self.y
        across = self.width / 2 / abs(dx) if dx else float("inf")
        down = self.height / 2 / abs(dy) if dy else float("inf")
        share = min(across, down)
        return self.x + share * dx, self.y + share * dy


def picture(width: int, height: int, parts: Iterable[str], *, says: str) -> str:
    """Return an SVG document on white paper, with a sentence for those who cannot see it."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="14" role="img">\n'
        f"<title>{escape(says)}</title>\n"
        f'{HEAD}\n<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n{body}\n</svg>\n'
    )


def box(node: Node) -> str:
    """Draw a variable."""
    left, top = node.x - node.width / 2, node.y - node.height / 2
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{node.width:.1f}" height="{node.height:.1f}" rx="15"'
        f' fill="{node.fill}" stroke="{INK}"/>' + words(node.name, node.x, node.y + 5)
    )


def arrow(start: Node, end: Node) -> str:
    """Draw an arrow from a parent to its child."""
    return f'<path d="{_path(start, end)}" stroke="{INK}" stroke-width="1.4" marker-end="url(#head)"/>'


def tie(one: Node, other: Node) -> str:
    """Draw the line that joins two variables which are parents of each other."""
    return f'<path d="{_path(one, other)}" stroke="{TIED}" stroke-width="2"/>'


def _path(start: Node, end: Node) -> str:
    (x1, y1), (x2, y2) = start.edge_towards(end), end.edge_towards(start)
    return f"M{x1:.1f} {y1:.1f} L{x2:.1f} {y2:.1f}"


def words(
    text: str, x: float, y: float, *, anchor: str = "middle", colour: str = INK, style: str = ""
) -> str:
    """Write a line of text; `style` adds attributes of SVG."""
    space = f" {style}" if style else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{space}>{escape(text)}</text>'
    )


def code(text: str, x: float, y: float) -> str:
    """Write a sentence of the language."""
    return words(text, x, y, style='font-family="DejaVu Sans Mono, Consolas, monospace" font-size="13"')


def line(x1: float, y1: float, x2: float, y2: float, *, colour: str = PALE, width: float = 1.0) -> str:
    """Draw a plain line."""
    path = f"M{x1:.1f} {y1:.1f} L{x2:.1f} {y2:.1f}"
    return f'<path d="{path}" stroke="{colour}" stroke-width="{width:g}" fill="none"/>'


# ---- which arrows a sentence draws ----------------------------------------------------------------------


def stamps() -> str:
    """Draw what each form of sentence adds to the graph of the variables."""
    panels = [
        ("P(wet)", "one variable: no arrow", _alone),
        ("P(wet | rain)", "a condition: an arrow", _given),
        ("P(ann xor bob)", "several in a claim: a tie", _tied),
        ("P(ann xor bob | kin)", "both at once", _tied_given),
        ("P(ann xor bob) ; tau=False", "a mere constraint: nothing", _untied),
    ]
    parts = []
    for i, (text, says, draw) in enumerate(panels):
        x = 110.0 + 220.0 * (i % 3)
        y = 30.0 + 185.0 * (i // 3)
        parts += [code(text, x, y), *draw(x, y + 40), words(says, x, y + 142, colour=PALE)]
    return picture(660, 370, parts, says="the arrows that five forms of sentences draw")


def _alone(x: float, y: float) -> list[str]:
    return [box(Node("wet", x, y + 30))]


def _given(x: float, y: float) -> list[str]:
    rain, wet = Node("rain", x, y), Node("wet", x, y + 62)
    return [box(rain), box(wet), arrow(rain, wet)]


def _tied(x: float, y: float) -> list[str]:
    ann, bob = Node("ann", x - 52, y + 30), Node("bob", x + 52, y + 30)
    return [box(ann), box(bob), tie(ann, bob)]


def _tied_given(x: float, y: float) -> list[str]:
    kin, ann, bob = Node("kin", x, y), Node("ann", x - 58, y + 62), Node("bob", x + 58, y + 62)
    return [box(kin), box(ann), box(bob), arrow(kin, ann), arrow(kin, bob), tie(ann, bob)]


def _untied(x: float, y: float) -> list[str]:
    return [box(Node("ann", x - 52, y + 30)), box(Node("bob", x + 52, y + 30))]


# ---- what is independent then ---------------------------------------------------------------------------


def independence() -> str:
    """Draw the network of the wet path, seen from one of its variables."""
    season = Node("season", 90, 40, GREY, 84)
    rain = Node("rain", 220, 110, AMBER)
    pollen = Node("pollen", 60, 130, GREY, 84)
    wet = Node("wet", 220, 190, BLUE)
    slip = Node("slip", 220, 270, GREEN)
    parts = [box(node) for node in (season, rain, pollen, wet, slip)]
    parts += [arrow(season, rain), arrow(season, pollen), arrow(rain, wet), arrow(wet, slip)]
    rows = [
        (BLUE, "a variable, wet"),
        (AMBER, "its parents: given these, wet …"),
        (GREY, "… is independent of these,"),
        (GREEN, "but not of its descendants"),
    ]
    for i, (fill, says) in enumerate(rows):
        y = 70.0 + 50 * i
        parts += [box(Node("", 350, y, fill, 34, 22)), words(says, 378, y + 5, anchor="start")]
    return picture(620, 310, parts, says="wet is independent of season and pollen, given rain")


def ties() -> str:
    """Draw a chain of ties, and who is whose parent there."""
    names = [("ann", AMBER), ("bob", BLUE), ("cem", AMBER), ("dan", GREY)]
    nodes = [Node(name, 70 + 120 * i, 45, fill) for i, (name, fill) in enumerate(names)]
    parts = [box(node) for node in nodes]
    parts += [tie(a, b) for a, b in pairwise(nodes)]
    says = "bob is independent of dan, given the two he is tied to: ann and cem"
    parts.append(words(says, 250, 100))
    return picture(500, 120, parts, says=says)


# ---- why an answer is an interval -----------------------------------------------------------------------

LOW, HIGH, STEPS = 0.3, 0.7, 20


def differs(x: float, y: float) -> float:
    """Return P(x xor y) of two independent variables."""
    return x + y - 2 * x * y


def interval() -> str:
    """Draw the models of examples/parity.lcn, a square, and the probability asked for at each."""
    parts = [*_square(), *_axes(), *_corners(), *_bars()]
    return picture(
        700, 400, parts, says="each point of a square is a model; P(x xor y) goes from 0.42 to 0.58"
    )


def _place(x: float, y: float) -> tuple[float, float]:
    return 80 + 300 * x, 350 - 300 * y


def _square() -> list[str]:
    """Shade the square of all models by the probability of x xor y."""
    side = (HIGH - LOW) / STEPS
    parts = []
    for i, j in product(range(STEPS), repeat=2):
        x, y = LOW + i * side, LOW + j * side
        share = (differs(x + side / 2, y + side / 2) - 0.42) / 0.16
        left, top = _place(x, y + side)
        shade = _between((0xE3, 0xEE, 0xFB), (0x1F, 0x5F, 0xA8), share)
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{300 * side + 0.3:.1f}"'
            f' height="{300 * side + 0.3:.1f}" fill="{shade}"/>'
        )
    return parts


def _between(low: tuple[int, int, int], high: tuple[int, int, int], share: float) -> str:
    mixed = (round(a + (b - a) * share) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{one:02x}" for one in mixed)


def _axes() -> list[str]:
    (left, bottom), (right, top) = _place(0, 0), _place(1, 1)
    parts = [line(left, bottom, right, bottom, colour=INK), line(left, bottom, left, top, colour=INK)]
    for mark in (0.0, LOW, HIGH, 1.0):
        across, up = _place(mark, 0)[0], _place(0, mark)[1]
        parts += [words(f"{mark:g}", across, bottom + 20), words(f"{mark:g}", left - 8, up + 5, anchor="end")]
    parts += [words("P(x)", (left + right) / 2, bottom + 38), words("P(y)", left - 45, (top + bottom) / 2)]
    return parts


def _corners() -> list[str]:
    parts = []
    for x, y in product((LOW, HIGH), repeat=2):
        across, up = _place(x, y)
        outwards = (-26 if x == LOW else 26, 20 if y == LOW else -8)
        parts += [
            f'<circle cx="{across:.1f}" cy="{up:.1f}" r="4" fill="{INK}"/>',
            words(f"{differs(x, y):.2f}", across + outwards[0], up + outwards[1], style='font-weight="bold"'),
        ]
    return parts


def _bars() -> list[str]:
    """Draw the interval with and without the independence."""
    low, high = differs(LOW, LOW), differs(LOW, HIGH)
    rows = [
        (130.0, low, high, f"P(x xor y): [{low:.2f}, {high:.2f}]", "x and y independent: the square"),
        (250.0, 0.0, 1.0, "P(x xor y): [0, 1]", "--markov none: any distribution"),
    ]
    parts = []
    for y, start, end, answer, says in rows:
        parts += [
            words(answer, 440, y - 22, anchor="start", style='font-weight="bold"'),
            line(440, y, 660, y, width=2),
            line(440 + 220 * start, y, 440 + 220 * end, y, colour=STRONG, width=12),
            words("0", 440, y + 24, colour=PALE),
            words("1", 660, y + 24, colour=PALE),
            words(says, 550, y + 46, colour=PALE),
        ]
    return parts


# ---- what an answer is worth ----------------------------------------------------------------------------


def answer() -> str:
    """Draw one interval with the four numbers that it is made of."""
    left, right, y = 60.0, 640.0, 92.0
    bound, attained = (190.0, 520.0), (226.0, 490.0)
    parts = [line(left, y, right, y, width=2)]
    parts += [words("0", left, y + 30, colour=PALE), words("1", right, y + 30, colour=PALE)]
    parts.append(line(*(bound[0], y), *(bound[1], y), colour="#9dc3ee", width=16))
    parts.append(line(*(attained[0], y), *(attained[1], y), colour=STRONG, width=16))
    for at in bound:
        parts.append(line(at, y - 18, at, y + 18, colour=INK, width=2))
    parts += [
        words("no model is outside: the bound, proved", 355, 40, colour=INK),
        line(195, 46, bound[0], y - 20, colour=PALE),
        line(515, 46, bound[1], y - 20, colour=PALE),
        words("a model attains this: witnessed, checked", 358, 150, colour=STRONG),
        line(230, 138, attained[0], y + 10, colour=PALE),
        line(486, 138, attained[1], y + 10, colour=PALE),
        words(
            "the gap is the light part; where it is below the tolerance, the answer is exact",
            350,
            186,
            colour=PALE,
        ),
    ]
    return picture(
        700, 206, parts, says="an interval: bounds outside, witnessed values inside, a gap between them"
    )


PICTURES: dict[str, Callable[[], str]] = {
    "stamps.svg": stamps,
    "independence.svg": independence,
    "ties.svg": ties,
    "interval.svg": interval,
    "answer.svg": answer,
}


def main(folder: Path = IMAGES) -> None:
    """Write every picture to a folder."""
    folder.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (folder / name).write_text(draw(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
