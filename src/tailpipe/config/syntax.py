"""The syntax tree of a config file. Spans are offsets into the text and take no part in equality."""

# ruff: noqa: RUF009 - every node declares its span the same way

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf

__all__ = [
    "Attribute",
    "Binary",
    "Block",
    "Body",
    "Call",
    "Conditional",
    "Expression",
    "Index",
    "Label",
    "List",
    "Literal",
    "Map",
    "Name",
    "Span",
    "Template",
    "Unary",
]

Span = tuple[int, int]
_NOWHERE: Span = (0, 0)


def _span() -> Span:
    where: Span = field(default=_NOWHERE, compare=False, repr=False)
    return where


@dataclass(slots=True)
class Literal:
    """A value that stands there as it is: text, number, boolean or null."""

    value: str | int | float | bool | None
    span: Span = _span()


@dataclass(slots=True)
class Template:
    """Text with values in it: `"a ${b} c"`. A part is plain text or an expression."""

    parts: list[str | Expression]
    span: Span = _span()


@dataclass(slots=True)
class List:
    """`[a, b]`."""

    items: list[Expression]
    span: Span = _span()


@dataclass(slots=True)
class Map:
    """`{ a = 1, b : 2 }`; a bare word as the key means itself."""

    items: list[tuple[Expression, Expression]]
    span: Span = _span()


@dataclass(slots=True)
class Name:
    """A dotted name: `connection.aws.prod`."""

    parts: list[str]
    span: Span = _span()


@dataclass(slots=True)
class Index:
    """`value[key]`, or `value.key` behind anything that is not a name."""

    value: Expression
    key: Expression
    span: Span = _span()


@dataclass(slots=True)
class Call:
    """`function(a, b)`."""

    function: str
    arguments: list[Expression]
    span: Span = _span()


@dataclass(slots=True)
class Unary:
    """`-a` or `!a`."""

    operator: OneOf["-", "!"]
    operand: Expression
    span: Span = _span()


@dataclass(slots=True)
class Binary:
    """`a + b` and its like."""

    operator: str
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(slots=True)
class Conditional:
    """`condition ? then : otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression
    span: Span = _span()


Expression = Literal | Template | List | Map | Name | Index | Call | Unary | Binary | Conditional


@dataclass(slots=True)
class Label:
    """A label of a block, quoted or bare."""

    text: str
    span: Span = _span()


@dataclass(slots=True)
class Attribute:
    """`name = value`; the span is that of the name."""

    name: str
    value: Expression
    span: Span = _span()


@dataclass(slots=True)
class Block:
    """`type "label" … { body }`; the span is that of the type."""

    type: str
    labels: list[Label]
    body: Body
    span: Span = _span()


@dataclass(slots=True)
class Body:
    """What stands between braces, or in a whole file."""

    attributes: list[Attribute] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    is_broken: bool = field(default=False, compare=False, repr=False)
    """Whether a part could not be read, so that something missing is no further problem."""
