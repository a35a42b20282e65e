"""Shared Hypothesis strategies: formulas, sentences, networks and theories at random.

Everything is small, so that brute force can follow, and nothing is excluded that the language allows:
cyclic and overlapping sentences, tau False, linear sentences, multi-valued variables. Strategies are built
once for the same arguments, because building them costs more than drawing.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

from hypothesis import strategies as st

from credalog.network.formulas import (
    TRUE,
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Variable,
    Xor,
    scope,
    truth_table,
)
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.theory import (
    YES,
    Application,
    Assessment,
    Binder,
    Boolean,
    Comparison,
    Compound,
    Connective,
    Domain,
    Evidence,
    Function,
    IndependenceRule,
    Name,
    Order,
    Pattern,
    Predicate,
    Prefix,
    Quantified,
    Quantifier,
    QueryRule,
    RandomFunction,
    Relation,
    Rule,
    Shifted,
    Term,
    Theory,
)

PROPOSITIONS = tuple(Variable(name) for name in ["a", "b", "c", "d", "e", "f"])
COLORS = tuple(Variable(name, ("red", "green", "blue")) for name in ("K", "L"))


# ---- ground values ------------------------------------------------------------------------------------


@cache
def variables(
    least: int = 1, most: int = 4, *, many_valued: bool = True
) -> st.SearchStrategy[tuple[Variable, ...]]:
    """Draw distinct variables; some have three values unless `many_valued` is False."""
    pool = PROPOSITIONS + (COLORS if many_valued else ())
    return st.lists(st.sampled_from(pool), min_size=least, max_size=most, unique=True).map(tuple)


@cache
def atoms(over: tuple[Variable, ...]) -> st.SearchStrategy[Formula]:
    """Draw an atom: a proposition, or a variable with one of its values."""
    choices = [Is(v, value) for v in over for value in (("true",) if v.is_proposition else v.values)]
    return st.sampled_from(choices)


@cache
def literals(over: tuple[Variable, ...]) -> st.SearchStrategy[Formula]:
    """Draw an atom or its negation."""
    return st.one_of(atoms(over), atoms(over).map(Not))


def grown(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    """Draw a formula that joins others, by every connective."""
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        parts.map(Not),
        several.map(And),
        several.map(Or),
        several.map(Xor),
        st.builds(Implies, parts, parts),
        st.builds(Iff, parts, parts),
    )


@cache
def formulas(over: tuple[Variable, ...], *, most_leaves: int = 4) -> st.SearchStrategy[Formula]:
    """Draw a formula with every connective; constants do not occur."""
    return st.recursive(literals(over), grown, max_leaves=most_leaves)


@cache
def conditions(over: tuple[Variable, ...]) -> st.SearchStrategy[Formula]:
    """Draw what may stand behind the bar: often nothing, a literal, or a formula."""
    return st.one_of(st.just(TRUE), literals(over), formulas(over))


@cache
def fractions() -> st.SearchStrategy[Fraction]:
    """Draw a probability: a short decimal, or a fraction that has no decimal."""
    return st.one_of(
        st.integers(0, 100).map(lambda n: Fraction(n, 100)),
        st.fractions(min_value=0, max_value=1, max_denominator=9),
    )


@cache
def bounds() -> st.SearchStrategy[tuple[Fraction, Fraction]]:
    """Draw a lower and an upper probability."""
    return st.tuples(fractions(), fractions()).map(lambda pair: (min(pair), max(pair)))


@cache
@st.composite
def sentences(draw: st.DrawFn, over: tuple[Variable, ...]) -> Sentence:
    """Draw one of the paper's sentences, about any formulas; it need not be satisfiable."""
    claim, given = draw(formulas(over)), draw(conditions(over))
    lower, upper = draw(bounds())
    return Sentence(((Fraction(1), claim),), given, lower, upper, draw(st.booleans()))


@cache
@st.composite
def linear_sentences(draw: st.DrawFn, over: tuple[Variable, ...]) -> Sentence:
    """Draw a linear sentence of two or three different claims under one condition."""
    claims = draw(st.lists(formulas(over), min_size=2, max_size=3, unique=True))
    weights = [Fraction(draw(st.sampled_from([-2, -1, 1, 2, 3])), draw(st.integers(1, 3))) for _ in claims]
    least, greatest = sum(w for w in weights if w < 0), sum(w for w in weights if w > 0)
    low, high = draw(bounds())
    span = greatest - least
    terms = tuple(zip(weights, claims, strict=True))
    return Sentence(
        terms, draw(conditions(over)), least + low * span, least + high * span, draw(st.booleans())
    )


@cache
@st.composite
def independences(draw: st.DrawFn, over: tuple[Variable, ...]) -> Independence:
    """Draw a declared independence between disjoint blocks of at least two variables."""
    order = draw(st.permutations(over))
    cut = draw(st.integers(1, len(order) - 1))
    end = draw(st.integers(cut + 1, len(order)))
    return Independence(tuple(order[:cut]), tuple(order[cut:end]), tuple(order[end:]))


@cache
@st.composite
def networks(
    draw: st.DrawFn, *, most_variables: int = 4, most_sentences: int = 5, many_valued: bool = True
) -> Network:
    """Draw any network: cyclic or not, with overlapping sentences; it need not be consistent."""
    over = draw(variables(1, most_variables, many_valued=many_valued))
    said = st.one_of(sentences(over), sentences(over), linear_sentences(over))
    chosen = draw(st.lists(said, min_size=1, max_size=most_sentences))
    declared = draw(st.lists(independences(over), max_size=1)) if len(over) > 1 else []
    return _network(over, chosen, tuple(declared))


@cache
@st.composite
def consistent_networks(
    draw: st.DrawFn, *, most_variables: int = 4, most_sentences: int = 5, many_valued: bool = True
) -> Network:
    """Draw a network that has a model.

    Bounds are put around the values of one distribution under which all variables are independent, so
    that it satisfies every independence, whatever the graph.
    """
    over = draw(variables(1, most_variables, many_valued=many_valued))
    weights = {
        v: draw(st.lists(st.integers(1, 5), min_size=len(v.values), max_size=len(v.values))) for v in over
    }
    model = {v: [Fraction(w, sum(ws)) for w in ws] for v, ws in weights.items()}
    shapes = st.tuples(formulas(over), conditions(over), st.booleans())
    chosen = [
        draw(_around(claim, given, tau, model))
        for claim, given, tau in draw(st.lists(shapes, min_size=1, max_size=most_sentences))
    ]
    return _network(over, chosen, ())


def _around(
    claim: Formula, given: Formula, tau: bool, model: dict[Variable, list[Fraction]]
) -> st.SearchStrategy[Sentence]:
    """Put an interval around the probability that a product distribution gives."""
    condition = _probability(given, model)
    value = _probability(And((claim, given)), model) / condition if condition else Fraction(1, 2)
    below, above = (
        st.integers(0, 3).map(lambda n: Fraction(n, 10)),
        st.integers(0, 3).map(lambda n: Fraction(n, 10)),
    )
    return st.builds(
        lambda low, high: Sentence(
            ((Fraction(1), claim),), given, max(value - low, Fraction(0)), min(value + high, Fraction(1)), tau
        ),
        below,
        above,
    )


def _probability(formula: Formula, model: dict[Variable, list[Fraction]]) -> Fraction:
    over = scope(formula)
    table = truth_table(formula, over)
    total = Fraction(0)
    for world in product(*(range(len(v.values)) for v in over)):
        if table[world]:
            weight = Fraction(1)
            for variable, state in zip(over, world, strict=True):
                weight *= model[variable][state]
            total += weight
    return total


def _network(
    over: tuple[Variable, ...], chosen: list[Sentence], declared: tuple[Independence, ...]
) -> Network:
    labelled = tuple(
        Sentence(s.claims, s.given, s.lower, s.upper, s.tau, f"s{i}") for i, s in enumerate(chosen, start=1)
    )
    occurring = dict.fromkeys(v for s in labelled for v in s.scope) | dict.fromkeys(
        v for i in declared for v in (*i.left, *i.right, *i.given)
    )
    return Network(tuple(v for v in over if v in occurring), labelled, declared)


@cache
@st.composite
def queries(draw: st.DrawFn, network: Network) -> Query:
    """Draw a question about a network."""
    return Query(draw(formulas(network.variables)), draw(conditions(network.variables)))


# ---- first-order theories -----------------------------------------------------------------------------

DECLARATIONS = (
    Domain("Person", ("Tim", "Tom", "Ann Lee")),
    Domain("Day", ("1", "2", "3")),
    Predicate("Sm", ("Person",)),
    Predicate("Fr", ("Person", "Person"), True),
    Predicate("Wet", ("Day",)),
    Predicate("rain"),
    RandomFunction("Shade", ("dark", "light", "none at all"), ("Person",)),
    RandomFunction("Count", "Day", ()),
    Relation("Near", ("Person", "Person"), (("Tim", "Tom"), ("Tom", "Ann Lee"))),
    Function("boss", ("Person",), "Person", ((("Tim",), "Tom"), (("Tom",), "Tom"), (("Ann Lee",), "Tim"))),
)

Scope = tuple[tuple[str, str], ...]
"""The logical variables in scope, with their domains."""


def _elements(sort: str) -> tuple[str, ...]:
    return next(d.elements for d in DECLARATIONS if isinstance(d, Domain) and d.name == sort)


@cache
def terms(sort: str, within: Scope) -> st.SearchStrategy[Term]:
    """Draw a term of a sort: a constant, a variable in scope, or a function of one."""
    plain = [Name(element) for element in _elements(sort)] + [Name(x) for x, s in within if s == sort]
    simple: st.SearchStrategy[Term] = st.sampled_from(plain)
    if sort == "Person":
        return st.one_of(simple, simple, simple.map(lambda t: Application("boss", (t,))))
    return simple


@cache
def certain_atoms(within: Scope) -> st.SearchStrategy[Pattern]:
    """Draw an atom that no chance enters."""
    people, days = terms("Person", within), terms("Day", within)
    return st.one_of(
        st.builds(lambda x, y: Application("Near", (x, y)), people, people),
        st.builds(Comparison, st.sampled_from([Order.EQUAL, Order.UNEQUAL]), people, people),
        st.builds(Comparison, st.sampled_from(list(Order)), days, days),
        st.builds(lambda d, e: Comparison(Order.EQUAL, Shifted(d, 1), e), days, days),
    )


@cache
def random_atoms(within: Scope) -> st.SearchStrategy[Pattern]:
    """Draw an atom of every random kind."""
    people, days = terms("Person", within), terms("Day", within)
    shades = people.map(lambda x: Application("Shade", (x,)))
    return st.one_of(
        st.just(Name("rain")),
        people.map(lambda x: Application("Sm", (x,))),
        days.map(lambda d: Application("Wet", (d,))),
        st.builds(lambda x, y: Application("Fr", (x, y)), people, people),
        st.builds(
            lambda s, v: Comparison(Order.EQUAL, s, Name(v)), shades, st.sampled_from(["dark", "none at all"])
        ),
        st.builds(lambda s, t: Comparison(Order.UNEQUAL, s, t), shades, shades),
        st.builds(lambda o, d: Comparison(o, Name("Count"), d), st.sampled_from(list(Order)), days),
    )


@cache
@st.composite
def prefixes(draw: st.DrawFn, within: Scope = ()) -> tuple[Prefix, Scope]:
    """Draw a prefix, and return it with the scope inside it."""
    fresh = [x for x in "stuvwxyz" if x not in dict(within)]
    groups = draw(
        st.lists(st.tuples(st.sampled_from(["Person", "Day"]), st.integers(1, 2)), min_size=1, max_size=2)
    )
    binders, inner = [], within
    for sort, count in groups:
        names = tuple(fresh.pop(0) for _ in range(count))
        binders.append(Binder(names, sort, draw(st.booleans())))
        inner += tuple((name, sort) for name in names)
    guard = draw(st.one_of(st.just(YES), certain_atoms(inner), _joined(certain_atoms(inner))))
    return Prefix(tuple(binders), guard), inner


@cache
def _joined(parts: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    many = st.sampled_from([Connective.AND, Connective.OR, Connective.XOR, Connective.NAND])
    two = st.sampled_from([Connective.IMPLIES, Connective.IFF])
    return st.one_of(
        parts.map(lambda p: Compound(Connective.NOT, (p,))),
        st.builds(Compound, many, several),
        st.builds(lambda c, p, q: Compound(c, (p, q)), two, parts, parts),
    )


@cache
@st.composite
def patterns(draw: st.DrawFn, within: Scope = ()) -> Pattern:
    """Draw a first-order formula, quantifiers included."""
    plain = draw(_grown(within, most_leaves=4))
    if len(within) < 4 and draw(st.integers(0, 3)) == 0:
        prefix, inner = draw(prefixes(within))
        body = draw(_grown(inner, most_leaves=2))
        quantified = Quantified(draw(st.sampled_from(Quantifier)), prefix, body)
        return Compound(draw(st.sampled_from([Connective.AND, Connective.OR])), (plain, quantified))
    return plain


@cache
def _grown(within: Scope, most_leaves: int) -> st.SearchStrategy[Pattern]:
    atom = random_atoms(within)
    leaf = st.one_of(atom, atom, certain_atoms(within), st.just(Boolean(True)))
    return st.recursive(leaf, _joined, max_leaves=most_leaves)


@cache
@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Draw a first-order sentence."""
    prefix, inner = draw(st.one_of(st.just((Prefix(), ())), prefixes()))
    lower, upper = draw(bounds())
    given = draw(st.one_of(st.just(YES), patterns(inner)))
    return Rule(
        Assessment(((Fraction(1), draw(patterns(inner))),), given, lower, upper), prefix, draw(st.booleans())
    )


@cache
@st.composite
def theories(draw: st.DrawFn) -> Theory:
    """Draw a theory with everything the language has."""
    chosen = draw(st.lists(rules(), min_size=1, max_size=3))
    labelled = tuple(
        Rule(rule.assessment, rule.prefix, rule.tau, f"r{i}") for i, rule in enumerate(chosen, start=1)
    )
    prefix, inner = draw(prefixes())
    return Theory(
        declarations=DECLARATIONS,
        rules=labelled,
        independences=(
            IndependenceRule((Name("rain"),), (Name("Count"),), (Application("Sm", (Name("Tim"),)),)),
        ),
        queries=(QueryRule(draw(patterns(inner)), YES, prefix),),
        evidence=(Evidence(draw(patterns())),),
    )
