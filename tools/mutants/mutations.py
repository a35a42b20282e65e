"""Small changes to a module, one at a time: what a slip of a programmer's hand would look like.

Input: the source of a module. Output: `Mutation`s, each with the whole changed source.

The operators of the known libraries leave out what matters most here: augmented assignments, conditions of
comprehensions, `min` for `max`, a lower end for an upper one, a conjunct or an operand that is gone, a number
that is not rounded outwards, or only one of two that the smaller is taken of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from hashlib import sha256

__all__ = ["Mutation", "mutations"]

TWINS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("lower", "upper"),
    ("low", "high"),
    ("below", "above"),
    ("left", "right"),
    ("numerator", "denominator"),
    ("round_down", "round_up"),
    ("LOWER", "UPPER"),
)
"""Names that stand for opposite things."""

TWIN = {**dict(TWINS), **{b: a for a, b in TWINS}}

ROUNDINGS = {"round_down", "round_up", "below", "above", "all_rounded_down", "abs"}
"""Functions of one number that may be forgotten."""

CHOICES = {"min", "max", "minimum", "maximum"}
"""Functions of several numbers of which one may be forgotten."""

OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}

UNTOUCHED_KEYWORDS = {"strict", "repr", "compare", "cache", "nogil", "key", "kind", "dtype"}
"""Arguments that assert, print, sort or speed up, and decide nothing."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change: where it is, the statement's lines before and after, and the whole module."""

    function: str
    before: str
    after: str
    lines: tuple[int, int]
    source: str
    is_within_function: bool
    """Whether nothing but the body of a function changes."""

    @property
    def fingerprint(self) -> str:
        """Name the mutation by what it makes of the module."""
        return sha256(self.source.encode()).hexdigest()[:16]


def mutations(source: str) -> Iterator[Mutation]:
    """Yield every mutation of a module, in the order of its text, each mutated module once."""
    tree = ast.parse(source)
    units = [*_outermost(tree), (1, source.count("\n"))]
    seen = {_meaning(source, unit) for unit in units}
    for place in _places(tree, "", is_within=False):
        for changed in _changes(place.node):
            mutation = _replaced(source, place, changed)
            first, last = next(u for u in units if u[0] <= mutation.lines[0] and mutation.lines[1] <= u[1])
            grown = mutation.source.count("\n") - source.count("\n")
            meaning = _meaning(mutation.source, (first, last + grown))
            if meaning not in seen:
                seen.add(meaning)
                yield mutation


def _outermost(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Yield the lines of functions and methods: to read one of them again is faster than the whole module."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.lineno, node.end_lineno or 0
        elif isinstance(node, ast.ClassDef):
            yield from _outermost(node)


def _meaning(source: str, lines: tuple[int, int]) -> tuple[int, str]:
    """Write down what some lines say, however they say it."""
    first, last = lines
    text = "\n".join(source.split("\n")[first - 1 : last])
    return first, ast.dump(ast.parse(f"if True:\n{text}" if text.startswith(" ") else text))


@dataclass(frozen=True, slots=True)
class _Place:
    """A node that may change, the function it is in, and whether it is in its body."""

    function: str
    node: ast.AST
    is_within: bool


def _places(node: ast.AST, function: str, *, is_within: bool) -> Iterator[_Place]:
    """Yield the nodes that may change, with the function each is in; annotations and decorators may not."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"} or _is_declaration(value):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_declaration(child):
                continue
            inner = function
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{function}.{child.name}".lstrip(".")
            deep = is_within or (isinstance(node, ast.FunctionDef) and name == "body")
            yield _Place(inner, child, deep)
            yield from _places(child, inner, is_within=deep)


def _is_declaration(node: object) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.keyword(arg=arg):
            return arg in UNTOUCHED_KEYWORDS
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.AnnAssign(value=None):
            return True
        case ast.AnnAssign(value=ast.Call(func=ast.Name(id="field"))):
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
    return False


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in a node's place."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield from (_with(node, op=other()) for other in OPERATORS.get(type(op), ()))
            if isinstance(op, ast.Add | ast.Sub | ast.BitAnd | ast.BitOr):
                yield left
            if isinstance(op, ast.Add | ast.BitAnd | ast.BitOr):
                yield right
        case ast.Compare(ops=ops):
            for i, comparison in enumerate(ops):
                for opposite in COMPARISONS[type(comparison)]:
                    yield _with(node, ops=[*ops[:i], opposite(), *ops[i + 1 :]])
        case ast.BoolOp(op=joined, values=values):
            yield _with(node, op=ast.Or() if isinstance(joined, ast.And) else ast.And())
            for i in range(len(values)):
                rest = [*values[:i], *values[i + 1 :]]
                yield _with(node, values=rest) if len(rest) > 1 else rest[0]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[_, *_] as args, keywords=[]):
            yield from _forgotten(node, name, args)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Constant(value=value):
            yield from (ast.Constant(other) for other in _other_constants(value))
        case ast.Name(id=name) if name in TWIN:
            yield _with(node, id=TWIN[name])
        case ast.Attribute(attr=name) if name in TWIN:
            yield _with(node, attr=TWIN[name])
        case _:
            yield from _changed_statements(node)


def _forgotten(call: ast.Call, name: str, args: list[ast.expr]) -> Iterator[ast.AST]:
    """Yield a call without one of its numbers, or the number that it rounds."""
    if name in ROUNDINGS and len(args) == 1:
        yield args[0]
    if name in CHOICES and len(args) > 1:
        for i in range(len(args)):
            rest = [*args[:i], *args[i + 1 :]]
            yield _with(call, args=rest) if len(rest) > 1 else rest[0]


def _changed_statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.If():
            yield from (_with(node, test=ast.Constant(value)) for value in (True, False))
        case ast.comprehension(ifs=ifs):
            yield from (_with(node, ifs=[*ifs[:i], *ifs[i + 1 :]]) for i in range(len(ifs)))
        case ast.AugAssign(op=op):
            yield from (_with(node, op=other()) for other in OPERATORS.get(type(op), ()))
            yield ast.Pass()
        case ast.Assign(targets=[ast.Name() | ast.Attribute()]) | ast.Assign(targets=[ast.Tuple()]):
            return
        case ast.Assign() | ast.Expr() | ast.Break() | ast.Continue():
            yield ast.Pass()


def _other_constants(value: object) -> Iterator[bool | int | float]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1)
        case float():
            yield from (1.0,) if value == 0.0 else (0.0, value + 1.0)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _replaced(source: str, place: _Place, changed: ast.AST) -> Mutation:
    """Put a node in another's place, as text: all else keeps its lines."""
    node = place.node
    rows = source.splitlines(keepends=True)
    first, start, last, stop = _extent(node)
    head, tail = rows[first - 1].encode()[:start].decode(), rows[last - 1].encode()[stop:].decode()
    text = _written(node, changed, indent=len(head))
    before = "".join(rows[first - 1 : last])
    after = head + text + tail
    return Mutation(
        place.function or "module",
        " ".join(before.split()),
        " ".join(after.split()),
        (first, last),
        "".join(rows[: first - 1]) + after + "".join(rows[last:]),
        place.is_within,
    )


def _extent(node: ast.AST) -> tuple[int, int, int, int]:
    """Return where the text that changes begins and ends: line and column, in bytes."""
    if isinstance(node, ast.If):
        node = node.test
    if isinstance(node, ast.comprehension):
        last = node.ifs[-1]
        return node.target.lineno, node.target.col_offset, last.end_lineno or 0, last.end_col_offset or 0
    assert isinstance(node, ast.expr | ast.stmt)
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _written(node: ast.AST, changed: ast.AST, *, indent: int) -> str:
    if isinstance(changed, ast.If):
        changed = changed.test
    if isinstance(changed, ast.comprehension):
        return ast.unparse(changed).strip().removeprefix("for ")
    if isinstance(changed, ast.Constant | ast.Name | ast.Attribute) or not isinstance(changed, ast.expr):
        return ast.unparse(changed)
    return f"({ast.unparse(changed)})"
