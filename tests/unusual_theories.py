"""Twenty-two unusual theories over any number of elements, each with questions about the first few.

Input: a number of elements. Output: the text. Three sorts, functions, negated guards, quantifiers
inside P(...), evidence on many elements, symmetric relations, constants in rules and questions, tau False,
steps along ranges, domains with one element or none, guards that nothing satisfies, rules that carry on.
In each of them more elements change no answer, once there are as many as `least`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unusual:
    """A theory for each number of elements, and questions that make sense for as many as `least`."""

    name: str
    rules: str
    questions: tuple[str, ...]
    least: int = 3
    is_decided: bool = True
    """Whether answers are exact among very many elements."""

    def text(self, elements: int) -> str:
        """Return the theory for so many elements."""
        return self.rules.replace("{n}", str(elements))


UNUSUAL = (
    Unusual(
        "three sorts in one rule",
        """domain Nurse = 1..{n}
domain Ward = {north, south}
domain Shift = {day, night}
predicate On(Nurse, Ward, Shift), Tired(Nurse)
forall x in Nurse, w in Ward, s in Shift: 0.1 <= P(On(x, w, s)) <= 0.3
forall x in Nurse, w in Ward: 0.5 <= P(Tired(x) | On(x, w, night)) <= 0.9
forall x in Nurse, w in Ward: 0.2 <= P(Tired(x) | On(x, w, day)) <= 0.6""",
        ("P(On(1, north, day) and On(2, north, day))", "P(Tired(1))"),
    ),
    Unusual(
        "a function between sorts",
        """domain Branch = {east, west}
domain Clerk = 1..{n}
predicate Open(Branch), Busy(Clerk)
function home(Clerk) in Branch = {1: east, 2: west, 3: east}
forall b in Branch: 0.3 <= P(Open(b)) <= 0.8
forall c in Clerk where c < 4: 0.6 <= P(Busy(c) | Open(home(c))) <= 0.7
forall c in Clerk: P(Busy(c)) <= 0.65""",
        ("P(Busy(1) and Busy(3))", "P(Open(east) | Busy(1))"),
    ),
    Unusual(
        "a negated relation as a guard",
        """domain Site = 1..{n}
predicate Dry(Site)
relation Near(Site, Site) = {(1, 2), (2, 3)}
forall x, y in Site, Near(x, y): P(Dry(x) xor Dry(y)) <= 0.1
forall x in Site, not Near(x, x): 0.2 <= P(Dry(x)) <= 0.5
forall x in Site, not Near(1, x), x != 1: P(Dry(x)) >= 0.3""",
        ("P(Dry(1) and Dry(2))", "P(Dry(3))", "P(Dry(1) | Dry(3))"),
        is_decided=False,
    ),
    Unusual(
        "somebody inside a claim",
        """domain Key = {red, blue}
domain Guest = 1..{n}
predicate Holds(Guest, Key), In(Guest)
forall g in Guest: P(exists k in Key: Holds(g, k)) <= 0.3
forall g in Guest: 0.7 <= P(In(g) | exists k in Key: Holds(g, k)) <= 0.9
forall g in Guest: P(In(g) | !(exists k in Key: Holds(g, k))) <= 0.1""",
        ("P(In(1))", "P(Holds(1, red))"),
        is_decided=False,
    ),
    Unusual(
        "everybody and nobody inside P(...)",
        """domain Vote = 1..3
domain Bill = 1..{n}
predicate Yes(Vote, Bill), Passed(Bill)
forall v in Vote, b in Bill: 0.4 <= P(Yes(v, b)) <= 0.6
forall b in Bill: P(Passed(b) | forall v in Vote: Yes(v, b)) >= 0.9
forall b in Bill: P(Passed(b) | !(exists v in Vote: Yes(v, b))) <= 0.05""",
        ("P(Passed(1))", "P(Yes(1, 1) and Yes(2, 1))"),
    ),
    Unusual(
        "evidence on many elements",
        """domain Pump = 1..{n}
predicate Leaks, Wet(Pump)
0.1 <= P(Leaks) <= 0.4
forall p in Pump: 0.6 <= P(Wet(p) | Leaks) <= 0.8
forall p in Pump: 0.1 <= P(Wet(p) | !Leaks) <= 0.3
evidence Wet(1), Wet(2), !Wet(3)""",
        ("P(Leaks)", "P(Wet(4))"),
        least=4,
    ),
    Unusual(
        "a symmetric predicate in a triangle",
        """domain Town = 1..{n}
predicate Road(Town, Town) symmetric
forall x, y in Town distinct: 0.2 <= P(Road(x, y)) <= 0.5
forall x, y, z in Town distinct: P(Road(x, y) and Road(y, z)) <= 0.3""",
        ("P(Road(2, 1))", "P(Road(1, 2) and Road(2, 3))"),
    ),
    Unusual(
        "constants in rules and in the question",
        """domain Star = 1..{n}
predicate Bright(Star)
P(Bright(2)) = 0.5
forall x in Star, x != 2: 0.1 <= P(Bright(x) | Bright(2)) <= 0.4
forall x in Star, x != 2: 0.6 <= P(Bright(x) | !Bright(2)) <= 0.9
P(Bright(1) or Bright(3)) >= 0.4""",
        ("P(Bright(1) and Bright(2) and Bright(3))", "P(Bright(2) | Bright(1) & Bright(3))"),
        is_decided=False,
    ),
    Unusual(
        "tau is False in a claim of two",
        """domain Coin = 1..{n}
predicate Up(Coin)
forall x in Coin: 0.3 <= P(Up(x)) <= 0.7
forall x in Coin, x < 3: P(Up(x) or Up(x+1)) <= 0.8 ; tau=False""",
        ("P(Up(1) and Up(2))", "P(Up(2))"),
        is_decided=False,
    ),
    Unusual(
        "a step along a range",
        """domain Hour = 1..{n}
predicate Rain(Hour), Wet(Hour)
P(Rain(1)) = 0.5
forall h in Hour where h < {n}: 0.6 <= P(Rain(h+1) | Rain(h)) <= 0.7
forall h in Hour where h < {n}: 0.2 <= P(Rain(h+1) | !Rain(h)) <= 0.3
forall h in Hour: 0.9 <= P(Wet(h) | Rain(h)) <= 1
forall h in Hour: P(Wet(h) | !Rain(h)) <= 0.2""",
        ("P(Wet(2))", "P(Rain(1) | Wet(3))"),
    ),
    Unusual(
        "a step back along a range",
        """domain Hour = 1..{n}
predicate Warm(Hour)
forall h in Hour: 0.1 <= P(Warm(h)) <= 0.6
forall h in Hour where h > 1: 0.4 <= P(Warm(h-1) | Warm(h)) <= 0.6""",
        ("P(Warm(1))", "P(Warm(1) and Warm(2))"),
        is_decided=False,
    ),
    Unusual(
        "a sort of nobody",
        """domain Ghost = {}
domain Room = 1..{n}
predicate Haunts(Ghost, Room), Cold(Room)
forall g in Ghost, r in Room: P(Cold(r) | Haunts(g, r)) = 1
forall r in Room: 0.2 <= P(Cold(r) | !(exists g in Ghost: Haunts(g, r))) <= 0.3""",
        ("P(Cold(1))", "P(Cold(1) or Cold(2))"),
    ),
    Unusual(
        "a sort of one",
        """domain Boss = {ann}
domain Worker = 1..{n}
predicate Kind(Boss), Glad(Worker)
forall b in Boss: 0.4 <= P(Kind(b)) <= 0.6
forall b in Boss, w in Worker: 0.7 <= P(Glad(w) | Kind(b)) <= 0.9
forall b, c in Boss distinct: P(Kind(b) and Kind(c)) <= 0.01
forall b in Boss, w in Worker: P(Glad(w) | !Kind(b)) <= 0.5""",
        ("P(Kind(ann) | Glad(1) & !Glad(2))", "P(Glad(1))"),
    ),
    Unusual(
        "a guard that nothing satisfies",
        """domain Fish = 1..{n}
predicate Big(Fish)
relation Rare(Fish)
forall f in Fish, Rare(f): P(Big(f)) = 1
forall f, g in Fish, f < g, g < f: P(Big(f) and Big(g)) >= 0.9
forall f in Fish, not Rare(f): 0.1 <= P(Big(f)) <= 0.2""",
        ("P(Big(1))", "P(Big(1) and Big(2))"),
    ),
    Unusual(
        "rules that carry on along a relation",
        """domain Host = 1..{n}
predicate Bad(Host), Alert(Host)
relation Link(Host, Host) = {(1, 2), (2, 3)}
forall h in Host: 0.05 <= P(Bad(h)) <= 0.2
forall h, g in Host, Link(h, g): 0.3 <= P(Bad(g) | Bad(h)) <= 0.6
forall h in Host: 0.8 <= P(Alert(h) | Bad(h)) <= 0.9
forall h in Host: P(Alert(h) | !Bad(h)) <= 0.1""",
        ("P(Bad(1) and Bad(3))", "P(Alert(2))", "P(Bad(3) | Alert(1))"),
    ),
    Unusual(
        "rules that carry on around a cycle",
        """domain Host = 1..{n}
predicate Bad(Host)
relation Link(Host, Host) = {(1, 2), (2, 3), (3, 1)}
forall h in Host: 0.05 <= P(Bad(h)) <= 0.2
forall h, g in Host, Link(h, g): 0.3 <= P(Bad(g) | Bad(h)) <= 0.6""",
        ("P(Bad(1))", "P(Bad(1) and Bad(2))", "P(Bad(1) | Bad(2))"),
    ),
    Unusual(
        "what protects, and two neighbours",
        """domain Cell = 1..{n}
predicate Dead(Cell), Treated(Cell)
relation Feeds(Cell, Cell) = {(1, 3), (2, 3)}
forall c in Cell: 0.3 <= P(Dead(c)) <= 0.9
forall c in Cell: P(Treated(c)) <= 0.2
forall c, d in Cell, Feeds(c, d): P(Dead(d) | Treated(c)) <= 0.1""",
        ("P(Dead(3))", "P(Treated(1) | Dead(3))", "P(Treated(1) and Treated(2) and Dead(3))"),
    ),
    Unusual(
        "a linear claim about two predicates",
        """domain Shop = 1..{n}
predicate Tea(Shop), Milk(Shop)
forall s in Shop: P(Tea(s)) + 2 P(Milk(s)) <= 1
forall s in Shop: P(Tea(s)) >= P(Milk(s)) + 0.1
forall s in Shop: P(Milk(s) | Tea(s)) >= 0.2""",
        ("P(Milk(1))", "P(Tea(1) and Tea(2))"),
    ),
    Unusual(
        "many values and equal ones",
        """domain Flag = 1..{n}
variable Hue(Flag) in {red, green, blue}
forall f in Flag: 0.2 <= P(Hue(f) = red) <= 0.3
forall f, g in Flag, f + 1 = g: P(Hue(f) = Hue(g)) >= 0.8
forall f in Flag, f = 2: P(Hue(f) = blue) >= 0.5""",
        ("P(Hue(1) = green)", "P(Hue(1) = blue | Hue(2) = blue)"),
    ),
    Unusual(
        "propositions beside everybody",
        """domain Child = 1..{n}
predicate Snow, Home(Child), Plays(Child, Child)
0.3 <= P(Snow) <= 0.5
forall c in Child: 0.7 <= P(Home(c) | Snow) <= 0.9
forall c in Child: P(Home(c) | !Snow) <= 0.2
forall c, d in Child distinct: P(Plays(c, d) | Home(c) & Home(d)) <= 0.1
forall c, d in Child distinct: 0.3 <= P(Plays(c, d) | !Home(c)) <= 0.6""",
        ("P(Plays(1, 2))", "P(Snow | Home(1) & Home(2))", "P(Home(1) | Plays(1, 2))"),
    ),
    Unusual(
        "everybody depends on everybody before",
        """domain Guest = 1..{n}
predicate Late(Guest)
forall g in Guest: 0.2 <= P(Late(g)) <= 0.5
forall g, h in Guest, g < h, h < 4: 0.4 <= P(Late(h) | Late(g)) <= 0.8""",
        ("P(Late(3))", "P(Late(1) and Late(3))", "P(Late(1) | Late(2) & Late(3))"),
        is_decided=False,
    ),
    Unusual(
        "a certain few in a relation of one",
        """domain Bird = 1..{n}
predicate Flies(Bird), Sings(Bird)
relation Penguin(Bird) = {(2), (3)}
forall b in Bird, Penguin(b): P(Flies(b)) = 0
forall b in Bird, not Penguin(b): P(Flies(b)) >= 0.9
forall b, c in Bird distinct: P(Sings(b) xor Sings(c) | Flies(b)) <= 0.3""",
        ("P(Flies(1) and Flies(2))", "P(Sings(1))", "P(Sings(1) | Flies(1))"),
    ),
)
