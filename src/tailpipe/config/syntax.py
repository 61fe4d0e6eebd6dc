"""The syntax tree of a config file. Spans are offsets into the text and take no part in equality."""

# ruff: noqa: RUF009 - every node declares its span the same way

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any
from typing import Literal as OneOf

Span = tuple[int, int]
_NOWHERE: Span = (0, 0)


class _Node:
    """Equality and `repr` of all nodes; compiled for each of them, they would double the time of the import."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other.__class__ is self.__class__ and _compared(self) == _compared(other)

    __hash__ = None  # type: ignore[assignment] # nodes are filled while they are read

    def __repr__(self) -> str:
        shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


def _compared(node: Any) -> tuple[Any, ...]:
    return tuple(getattr(node, one.name) for one in fields(node) if one.compare)


def _span() -> Span:
    where: Span = field(default=_NOWHERE, compare=False, repr=False)
    return where


@dataclass(slots=True, eq=False, repr=False)
class Literal(_Node):
    """A constant: text, number, boolean or null."""

    value: Any  # text, number, boolean or null; filled in for `each.value`, any value of the language
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class Template(_Node):
    """Text with values in it: `"a ${b} c"`. A part is plain text or an expression."""

    parts: list[str | Expression]
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class List(_Node):
    """`[a, b]`."""

    items: list[Expression]
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class Map(_Node):
    """`{ a = 1, b : 2 }`; a bare word as the key means itself."""

    items: list[tuple[Expression, Expression]]
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class Name(_Node):
    """A dotted name: `connection.aws.prod`."""

    parts: list[str]
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class Index(_Node):
    """`value[key]`, or `value.key` behind anything that is not a name."""

    value: Expression
    key: Expression
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class Call(_Node):
    """`function(a, b)`."""

    function: str
    arguments: list[Expression]
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class Unary(_Node):
    """`-a` or `!a`."""

    operator: OneOf["-", "!"]
    operand: Expression
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class Binary(_Node):
    """`a + b` and its like."""

    operator: str
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class Conditional(_Node):
    """`condition ? then : otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression
    span: Span = _span()


Expression = Literal | Template | List | Map | Name | Index | Call | Unary | Binary | Conditional


@dataclass(slots=True, eq=False, repr=False)
class Label(_Node):
    """A label of a block, quoted or bare."""

    text: str
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class Attribute(_Node):
    """`name = value`; the span is that of the name."""

    name: str
    value: Expression
    span: Span = _span()


@dataclass(slots=True, eq=False, repr=False)
class Block(_Node):
    """`type "label" … { body }`; the span is that of the type."""

    type: str
    labels: list[Label]
    body: Body
    span: Span = _span()
    each: tuple[str, Span] | None = field(default=None, compare=False, repr=False)
    """The key that `for_each` made it for, and the span of the `for_each`."""

    def attribute(self, name: str) -> Attribute | None:
        """The argument of that name, if the block has one."""
        return next((one for one in self.body.attributes if one.name == name), None)

    def span_of(self, name: str) -> Span:
        """The span of an argument's value, or that of the block without one."""
        attribute = self.attribute(name)
        return attribute.value.span if attribute else self.span

    def inner(self, kind: str) -> list[Block]:
        """The blocks of a type inside it."""
        return [one for one in self.body.blocks if one.type == kind]


@dataclass(slots=True, eq=False, repr=False)
class Body(_Node):
    """The content of braces, or of a whole file."""

    attributes: list[Attribute] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    is_broken: bool = field(default=False, compare=False, repr=False)
    """Whether a part could not be read, so that something missing is no further problem."""
