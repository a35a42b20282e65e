"""Compile first-order patterns into makers of ground formulas.

Input: a pattern, and the logical variables in scope. Output: the ground formula, where the pattern has
no logical variable; otherwise a function from an instance to its formula. Names, arities and sorts are
checked here, once per pattern and not once per instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any, TypeAlias, TypeVar, assert_never, overload

from credalog.errors import UnknownName
from credalog.grounding.amounts import Body, at_rows, traced
from credalog.grounding.guards import Guards, Instances, Test, holds, is_beyond
from credalog.grounding.terms import (
    Environment,
    Maker,
    Scope,
    Signature,
    Terms,
    Value,
    applied,
    as_maker,
    listed,
    nearest,
)
from credalog.network.formulas import (
    BOOLEAN,
    FALSE,
    TRUE,
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Truth,
    Variable,
    Xor,
    conjunction,
    disjunction,
)
from credalog.network.sentences import Contrast, Sentence, Source, Weighted
from credalog.theory import (
    Application,
    Assessment,
    Boolean,
    Comparison,
    Compound,
    Connective,
    Constant,
    ContrastAssessment,
    Declaration,
    Domain,
    Function,
    Misstatement,
    Name,
    NumberFunction,
    Order,
    Pattern,
    Predicate,
    Quantified,
    Quantifier,
    RandomFunction,
    Relation,
    Rule,
    Shifted,
    Term,
    normal_form,
    written,
)

Compiled: TypeAlias = Formula | Maker[Formula]
"""A formula, or its maker where it depends on the instance. A formula is never callable."""

T = TypeVar("T")

TRUTHS = ("true", "True", "false", "False")
"""How the language spells the values of a proposition."""


class Undefined(Misstatement):
    """An atom does not exist in this instance, which matters only where the rest does not decide."""


class Patterns:
    """A compiler of patterns; all it makes share their ground variables."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.terms = Terms(signature)
        self.guards = Guards(self.terms)
        self.variables: dict[str, Variable] = {}
        """Every ground variable made so far, by name."""
        self.expansion = 0
        """At most how many instances of inner quantifiers were met since this was set to 0."""
        self.assumed: set[str] = set()
        """The names taken for propositions without a declaration."""
        self.known: set[str] = set()
        """The names of propositions that occur in lines, which are not compiled one by one."""
        self._propositions: dict[str, Is] = {}
        # What is made of the same elements is made once, whichever pattern asks for it.
        self._ground_variables: dict[str, Callable[..., Variable]] = {}
        self._ground_atoms: dict[str, Callable[..., Is]] = {}
        self._compare = cache(compare)

    def forget_all_but(self, spoken_of: frozenset[str]) -> list[str]:
        """Take back the propositions assumed since then, and return their names."""
        new = sorted(self.assumed - spoken_of) if len(self.assumed) > len(spoken_of) else []
        for name in new:
            self.assumed.discard(name)
            self.variables.pop(name, None)
            self._propositions.pop(name, None)
        return new

    # ---- formulas -------------------------------------------------------------------------------------

    def formula(self, pattern: Pattern, scope: Scope) -> Compiled:
        """Compile a formula."""
        match pattern:
            case Boolean(value):
                return Truth(value)
            case Name() | Application():
                return self._atom(pattern, scope)
            case Comparison():
                return self._comparison(pattern, scope)
            case Compound(connective, operands):
                return _joined(BUILDERS[connective], [self.formula(part, scope) for part in operands])
            case Quantified():
                return self._quantified(pattern, scope)
            case Shifted():
                raise Misstatement("a sum of numbers is not a formula", advice="Compare it: day + 1 = 3.")
            case _:
                assert_never(pattern)

    def _atom(self, term: Name | Application, scope: Scope) -> Compiled:
        if isinstance(term, Name) and term.name not in scope and term.name in self._propositions:
            return self._propositions[term.name]
        match self._declared(term, scope):
            case Predicate() as predicate:
                return self._ground_atom(predicate, self.signature.resolved(term), scope)
            case Relation():
                return _certain(self.guards.test(term, scope))
            case RandomFunction() as variable:
                values = self.signature.values(variable)
                if (true := _spelt("true", values)) and _spelt("false", values):
                    return applied(lambda found: Is(found, true), [self.variable(term, scope)])
                shown = f"{term.name}(...)" if isinstance(term, Application) else term.name
                raise Misstatement(
                    f"{term.name} is not true or false; its values are {listed(values)}",
                    lexeme=term.name,
                    advice=f"Compare it with a value: {shown} = {values[0]}.",
                )
            case Function() | Domain() | Constant() | NumberFunction():
                raise Misstatement(
                    f"{term.name} is not a predicate, so not a formula",
                    lexeme=term.name,
                    advice="It is declared as something else: give one of the two another name.",
                )
            case None:
                return self._proposition(self._undeclared(term, scope))
            case other:
                assert_never(other)

    def _proposition(self, variable: Variable) -> Is:
        found = self._propositions.get(variable.name)
        if found is None:
            found = self._propositions[variable.name] = Is(variable)
        return found

    def _declared(self, term: Name | Application, scope: Scope) -> Declaration | None:
        if term.name in scope:
            raise Misstatement(
                f"{term.name} is a logical variable, not a formula",
                lexeme=term.name,
                advice=f"Apply a predicate to it, or compare it: {term.name} = ...",
            )
        return self.signature[self.signature.resolved(term).name]

    def _quantified(self, pattern: Quantified, scope: Scope) -> Compiled:
        instances, inner = self.guards.instances(pattern.prefix, scope)
        before, self.expansion = self.expansion, 0
        body = self.formula(pattern.body, inner)
        self.expansion = before + instances.most * max(1, self.expansion)
        build = _both if pattern.quantifier is Quantifier.FORALL else _either
        make: Maker[Formula] = as_maker(body)

        def maker(environment: Environment) -> Formula:
            try:
                return build(*[make(environment) for _ in instances.of(environment)])
            except Undefined:
                return _decided(build, (partial(make, environment) for _ in instances.of(environment)))

        # Even without a logical variable around it, it is not made before its size is known.
        return maker

    # ---- random variables -----------------------------------------------------------------------------

    def variable(self, term: Term, scope: Scope) -> Variable | Maker[Variable]:
        """Compile a term that denotes a random variable."""
        if isinstance(term, Shifted):
            raise Misstatement("a sum of numbers is not a random variable")
        match self._declared(term, scope):
            case Predicate() | RandomFunction() as declaration:
                return self._ground(declaration, self.signature.resolved(term), scope)
            case None:
                return self._undeclared(term, scope)
            case _:
                raise Misstatement(f"{term.name} is not random", lexeme=term.name)

    def _ground(
        self, declaration: Predicate | RandomFunction, term: Name | Application, scope: Scope
    ) -> Variable | Maker[Variable]:
        new = cache(partial(self._new_variable, declaration))
        variable = self._ground_variables.setdefault(declaration.name, new)
        return _deferred(variable, self.arguments(declaration, term, scope))

    def _ground_atom(self, predicate: Predicate, term: Name | Application, scope: Scope) -> Compiled:
        new = cache(lambda *elements: self._proposition(self._new_variable(predicate, *elements)))
        atom = self._ground_atoms.setdefault(predicate.name, new)
        return _deferred(atom, self.arguments(predicate, term, scope))

    def arguments(
        self, declaration: Predicate | RandomFunction, term: Name | Application, scope: Scope
    ) -> list[Value]:
        """Compile the arguments of a random term."""
        arguments = term.arguments if isinstance(term, Application) else ()
        return self.terms.arguments(declaration.name, declaration.sorts, arguments, scope)

    def _new_variable(self, declaration: Predicate | RandomFunction, *elements: str | None) -> Variable:
        present = self._checked(declaration, elements)
        values: tuple[str, ...] = BOOLEAN
        if isinstance(declaration, RandomFunction):
            values = self.signature.values(declaration)
        elif declaration.symmetric:
            present.sort(key=self.signature.ranks(declaration.sorts[0]).__getitem__)
        name = f"{declaration.name}({','.join(map(written, present))})" if present else declaration.name
        return self.variables.setdefault(name, Variable(name, values))

    def _checked(
        self, declaration: Predicate | RandomFunction, elements: tuple[str | None, ...]
    ) -> list[str]:
        """Return the arguments of an atom, all of them defined and in their domains."""
        present = [element for element in elements if element is not None]
        if len(present) < len(elements):
            raise Undefined(
                f"{declaration.name} is applied to a function's value that its table does not give",
                lexeme=declaration.name,
                advice="Complete the table, or guard the sentence: forall x, y in ..., f(x) = y: ...",
            )
        for element, sort in zip(present, declaration.sorts, strict=True):
            if element not in self.signature.ranks(sort):
                # A constant or variable was checked when compiled: this is a sum that left its range.
                raise Undefined(
                    f"{declaration.name}({','.join(present)}) does not exist: {element} is not in {sort}",
                    lexeme=declaration.name,
                    advice="Guard the sentence, for instance: forall d in Day, d < 7: ...",
                )
        return present

    def _undeclared(self, term: Name | Application, scope: Scope) -> Variable:
        """Take an undeclared name for a proposition, unless predicates are declared."""
        arguments = term.arguments if isinstance(term, Application) else ()
        constants = [a.name for a in arguments if isinstance(a, Name) and a.name not in scope]
        if self.signature.is_strict or len(constants) < len(arguments):
            what, shown = ("predicate", f"{term.name}(...)") if arguments else ("proposition", term.name)
            kinds = (Predicate, RandomFunction, Relation)
            advice = f"Declare it: predicate {shown}."
            if not arguments and self.signature.is_element(term.name):
                advice = f"It is an element: say something of it, as in Smokes({term.name})."
            raise self.signature.unknown(term.name, what, kinds, advice=advice)
        if not arguments and self.signature.is_listed(term.name):
            raise Misstatement(f"{term.name} is an element of a domain, not a formula", lexeme=term.name)
        # A letter may well name a value here and a proposition there; a word that does is a slip.
        is_word = not arguments and len(term.name) > 1
        if is_word and (variable := self.signature.variable_with.get(term.name)):
            raise Misstatement(
                f"{term.name} is a value, not a formula",
                lexeme=term.name,
                advice=f"It is a value of {variable}: write {variable} = {term.name}.",
            )
        name = f"{term.name}({','.join(map(written, constants))})" if constants else term.name
        found = self.variables.get(name)
        if found is None:
            found = self.variables[name] = Variable(name)
            if name not in self.known:
                self.assumed.add(name)
        return found

    # ---- comparisons ----------------------------------------------------------------------------------

    def _comparison(self, pattern: Comparison, scope: Scope) -> Compiled:
        for side, other in ((pattern.left, pattern.right), (pattern.right, pattern.left)):
            if _is_truth(other) and self._is_true_or_false(side, scope):
                return self._compared_with_truth(pattern.order, side, other, scope)
        left = self._random(pattern.left, pattern.right, scope)
        right = self._random(pattern.right, pattern.left, scope)
        if left is None and right is None:
            return _certain(self.guards.comparison(pattern, scope))
        first = self.variable(pattern.left, scope) if left else self._value(pattern, right, scope)
        second = self.variable(pattern.right, scope) if right else self._value(pattern, left, scope)
        return applied(lambda one, other: self._compared(pattern.order, one, other), [first, second])

    def _is_true_or_false(self, term: Term, scope: Scope) -> bool:
        """Tell whether a term is an atom, so that it may be compared with true and false."""
        if isinstance(term, Shifted) or term.name in scope or _is_truth(term):
            return False
        declaration = self.signature[self.signature.resolved(term).name]
        return isinstance(declaration, Predicate | Relation | None)

    def _compared_with_truth(self, order: Order, atom: Term, truth: Term, scope: Scope) -> Compiled:
        """Compile `rain = true` and its like."""
        if order not in (Order.EQUAL, Order.UNEQUAL):
            raise Misstatement("true and false have no order", advice="Write = or !=.")
        is_true = truth == Name("true") or truth == Name("True")
        formula = self.formula(atom, scope)
        return formula if is_true == (order is Order.EQUAL) else _joined(_negation, [formula])

    def _is_proposition(self, name: str) -> bool:
        """Tell whether a name that nobody declared was taken for a proposition."""
        return name in self.assumed or name in self.known

    def _random(self, term: Term, other: Term, scope: Scope) -> RandomFunction | None:
        """Return the variable of many values that a side of a comparison is, if it is one."""
        if isinstance(term, Shifted) or term.name in scope:
            return None
        declaration = self.signature[self.signature.resolved(term).name]
        if isinstance(declaration, RandomFunction):
            return declaration
        is_undeclared = declaration is None and not self.signature.is_element(term.name)
        is_proposition = isinstance(declaration, Predicate) or (
            is_undeclared and self._is_proposition(term.name)
        )
        if is_proposition and not self._is_value_of(term, other, scope):
            raise Misstatement(
                f"{term.name} is true or false, and is not compared",
                lexeme=term.name,
                advice=f"Write {term.name} or !{term.name}; for equivalence, write <->.",
            )
        return None

    def _is_value_of(self, term: Term, other: Term, scope: Scope) -> bool:
        """Tell whether a term names a value of the variable that it is compared with."""
        if isinstance(other, Shifted) or other.name in scope:
            return False
        declaration = self.signature[self.signature.resolved(other).name]
        if not isinstance(term, Name) or not isinstance(declaration, RandomFunction):
            return False
        return term.name in self.signature.values(declaration)

    def _value(self, pattern: Comparison, variable: RandomFunction | None, scope: Scope) -> Value:
        """Compile the value with which a random variable is compared."""
        if variable is None:
            raise AssertionError("one side of the comparison is random")
        term = pattern.right if self._random(pattern.left, pattern.right, scope) else pattern.left
        values = self.signature.values(variable)
        if not isinstance(term, Name) or term.name in scope:
            return self.terms.term(term, scope, self.terms.sort_of(term, scope))
        if term.name in values or is_beyond(pattern.order, term.name, values):
            return term.name
        if _is_truth(term) and (spelt := _spelt(term.name, values)):
            return spelt
        raise Misstatement(
            f"{variable.name} has no value {term.name}",
            lexeme=term.name,
            advice=nearest(term.name, values) or f"Its values are {listed(values)}.",
            kind=UnknownName,
        )

    def _compared(self, order: Order, left: Variable | str | None, right: Variable | str | None) -> Formula:
        return FALSE if left is None or right is None else self._compare(order, left, right)


def _is_truth(term: Term) -> bool:
    return isinstance(term, Name) and term.name in TRUTHS


def _spelt(truth: str, values: tuple[str, ...]) -> str | None:
    """Return how the values of a variable spell true or false, if they do."""
    return next((value for value in values if value.lower() == truth.lower()), None)


def _deferred(function: Callable[..., T], parts: list[Value]) -> T | Maker[T]:
    """Apply a function to compiled parts; what is not defined complains only where it is needed."""
    try:
        return applied(function, parts)
    except Undefined as error:
        undefined = error

    def maker(_environment: Environment) -> T:
        raise undefined

    return maker


def _joined(build: Callable[..., Formula], parts: list[Compiled]) -> Compiled:
    """Join compiled formulas; one that is not defined does not matter where the others decide."""
    if not any(map(callable, parts)):
        return build(*parts)
    makers: list[Maker[Formula]] = [as_maker(part) for part in parts]

    def maker(environment: Environment) -> Formula:
        try:
            return build(*[make(environment) for make in makers])
        except Undefined:
            return _decided(build, (partial(make, environment) for make in makers))

    return maker


def _decided(build: Callable[..., Formula], attempts: Iterable[Callable[[], Formula]]) -> Formula:
    """Join formulas of which one is not defined, if it makes no difference; complain otherwise."""
    parts: list[Formula] = []
    undefined: list[Undefined] = []
    for attempt in attempts:
        try:
            parts.append(attempt())
        except Undefined as error:
            undefined.append(error)
            parts.append(UNKNOWN)
    outcomes = {build(*[truth if part is UNKNOWN else part for part in parts]) for truth in (TRUE, FALSE)}
    # Two that are not defined might decide together, as in f(x) <-> g(x); that is not trusted.
    if len(outcomes) > 1 or (len(undefined) > 1 and build not in (_both, _either, _not_all)):
        raise undefined[0]
    return outcomes.pop()


def _certain(test: Test) -> Compiled:
    if callable(test):
        return lambda environment: TRUE if test(environment) else FALSE
    return TRUE if test else FALSE


def compare(order: Order, left: Variable | str, right: Variable | str) -> Formula:
    """Expand a comparison of random variables over their values."""
    if order is Order.UNEQUAL:
        return _negation(compare(Order.EQUAL, left, right))
    if left == right:
        return FALSE if order in (Order.LESS, Order.GREATER) else TRUE
    values = _ordered_values(order, left, right)
    ranks = {value: i for i, value in enumerate(values)}
    return _either(
        *(
            _both(said, also_said)
            for (value, said), (other, also_said) in product(_options(left), _options(right))
            if holds(order, value, other, ranks)
        )
    )


def _ordered_values(order: Order, left: Variable | str, right: Variable | str) -> tuple[str, ...]:
    """Return the values in the order that both sides share; complain if they have none."""
    lists = [side.values for side in (left, right) if isinstance(side, Variable)]
    is_same = lists[0] == lists[-1] or order is Order.EQUAL
    if not is_same and not all(is_beyond(order, value, lists[0]) for value in lists[-1]):
        raise Misstatement(
            f"{left} and {right} list their values differently, so that there is no order between them",
            lexeme=str(left),
            advice="Let both take their values from one domain: variable A, B in Level.",
        )
    return lists[0]


def _options(side: Variable | str) -> list[tuple[str, Formula]]:
    if isinstance(side, str):
        return [(side, TRUE)]
    return [(value, Is(side, value)) for value in side.values]


# ---- connectives ------------------------------------------------------------------------------------------
# Relations and comparisons become constants when ground; what they decide leaves the formula.


def _negation(operand: Formula) -> Formula:
    return Truth(not operand.value) if isinstance(operand, Truth) else Not(operand)


_FOLDED = (Truth, And)

UNKNOWN = Is(Variable("?"))
"""Stands for a formula that is not defined, until it is known whether that matters."""


def _both(*parts: Formula) -> Formula:
    if len(parts) > 1 and not any(isinstance(part, _FOLDED) for part in parts):
        return And(parts)
    return FALSE if FALSE in parts else conjunction(parts)


def _either(*parts: Formula) -> Formula:
    return TRUE if TRUE in parts else disjunction(parts)


def _not_all(*parts: Formula) -> Formula:
    return _negation(_both(*parts))


def _parity(*parts: Formula) -> Formula:
    odd = sum(part == TRUE for part in parts) % 2 == 1
    rest = tuple(part for part in parts if not isinstance(part, Truth))
    whole = FALSE if not rest else rest[0] if len(rest) == 1 else Xor(rest)
    return _negation(whole) if odd else whole


def _implication(premise: Formula, conclusion: Formula) -> Formula:
    if isinstance(premise, Truth):
        return conclusion if premise.value else TRUE
    if isinstance(conclusion, Truth):
        return TRUE if conclusion.value else _negation(premise)
    return Implies(premise, conclusion)


def _equivalence(left: Formula, right: Formula) -> Formula:
    if isinstance(left, Truth):
        return right if left.value else _negation(right)
    if isinstance(right, Truth):
        return left if right.value else _negation(left)
    return Iff(left, right)


BUILDERS: dict[Connective, Callable[..., Formula]] = {
    Connective.NOT: _negation,
    Connective.AND: _both,
    Connective.NAND: _not_all,
    Connective.XOR: _parity,
    Connective.OR: _either,
    Connective.IMPLIES: _implication,
    Connective.IFF: _equivalence,
}


# ---- compiled rules ---------------------------------------------------------------------------------------
# Rules ready to be instantiated.
# Input: a rule whose formulas and numbers are compiled, and the instances of its prefix. Output: its
# sentences and comparisons across conditions, one by one.

_ZERO = Fraction(0)


@overload
def made(compiled: Compiled, environment: Environment) -> Formula: ...
@overload
def made(compiled: Variable | Maker[Variable], environment: Environment) -> Variable: ...
def made(compiled: Any, environment: Environment) -> Any:
    """Return what was compiled, for one binding of the logical variables."""
    return compiled(environment) if callable(compiled) else compiled


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule ready to be instantiated."""

    rule: Rule
    instances: Instances
    claims: tuple[Compiled, ...]
    given: Compiled
    numbers: Body | Assessment | ContrastAssessment
    width: int
    expansion: int
    """At most how many instances of quantifiers the formulas of one sentence have."""
    searched: int
    """At most how many instances of quantifiers a guard looks through."""
    scope: Scope
    """The logical variables that the rule binds."""
    givens: tuple[Compiled, ...] = ()
    """The conditions of a rule across conditions, one for each claim."""

    @property
    def most(self) -> int:
        """Return a number that the sentences and the instances of their quantifiers do not exceed."""
        return self.instances.most * max(1, self.expansion)

    @property
    def search(self) -> int:
        """Return at most how many instances the quantifiers of all its guards look through."""
        return self.instances.most * self.searched

    def contrasts(self) -> Iterator[Contrast]:
        """Yield the instances of a rule across conditions; where a condition is false it says nothing."""
        rule, environment = self.rule, [""] * self.width
        for _ in self.instances.of(environment):
            givens = [made(given, environment) for given in self.givens]
            if FALSE in givens:
                continue
            claims = [made(claim, environment) for claim in self.claims]
            weights, lower, upper, rows = self._numbers_across(environment)
            terms = tuple(map(Weighted, weights, claims, givens))
            source = traced(rule.source, rows)
            yield Contrast(terms, lower, upper, rule.tau, self._label(environment), source)

    def _numbers_across(
        self, environment: Environment
    ) -> tuple[list[Fraction], Fraction, Fraction, tuple[Source, ...]]:
        numbers = self.numbers
        if isinstance(numbers, ContrastAssessment):
            return [term.weight for term in numbers.terms], numbers.lower, numbers.upper, ()
        assert isinstance(numbers, Body)
        weights, (low, high), rows = numbers.of(environment)
        try:
            # Claims under different conditions are never joined.
            terms, lower, upper = normal_form(
                tuple((weight, i) for i, weight in enumerate(weights)), low, high
            )
        except Misstatement as error:
            raise at_rows(error, rows) from None
        kept = dict.fromkeys(range(len(weights)), _ZERO) | {i: weight for weight, i in terms}
        return list(kept.values()), lower, upper, rows

    def _label(self, environment: Environment) -> str:
        label, bound = self.rule.label, len(self.instances.levels)
        return f"{label}[{','.join(map(written, environment[:bound]))}]" if bound and label else label

    def sentences(self) -> Iterator[Sentence]:
        """Yield the instances of a rule under one condition."""
        environment = [""] * self.width
        for _ in self.instances.of(environment):
            if (sentence := self.sentence(environment, self._label(environment))) is not None:
                yield sentence

    def sentence(self, environment: Environment, label: str) -> Sentence | None:
        """Return the sentence of one instance; None where its condition is false."""
        # The condition comes first: where it is false, the claims need not even be defined.
        given = made(self.given, environment)
        if given == FALSE:
            return None
        claims = [made(claim, environment) for claim in self.claims]
        rule, numbers = self.rule, self.numbers
        assert not isinstance(numbers, ContrastAssessment)
        if isinstance(numbers, Assessment):
            terms = tuple([(weight, made) for (weight, _), made in zip(numbers.claims, claims, strict=True)])
            lower, upper, source = numbers.lower, numbers.upper, rule.source
        else:
            weights, (low, high), rows = numbers.of(environment)
            weighted = tuple(zip(weights, claims, strict=True))
            try:
                terms, lower, upper = normal_form(weighted, low, high, is_about=numbers.is_about)
            except Misstatement as error:
                raise at_rows(error, rows) from None
            source = traced(rule.source, rows)
        return Sentence(terms, given, lower, upper, rule.tau, label, source, rule.learned)
