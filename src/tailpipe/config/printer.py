"""Syntax tree → text: what is printed is read back as the same tree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tailpipe.config import syntax

_WORD = re.compile(r"[^\W\d][\w-]*")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LINE_WIDTH = 100
_SHORT = ("column",)
"""Blocks of which there are many: each is on one line if it fits."""


def print_body(body: syntax.Body, indent: str = "") -> str:
    """A body with its attributes first, `=` in one column, and a blank line between blocks."""
    width = max((len(attribute.name) for attribute in body.attributes), default=0)
    lines = [f"{indent}{a.name:<{width}} = {print_expression(a.value, indent)}\n" for a in body.attributes]
    for position, block in enumerate(body.blocks):
        is_run = position and block.type in _SHORT and body.blocks[position - 1].type == block.type
        if (lines or position) and not is_run:
            lines.append("\n")
        lines.append(_print_block(block, indent))
    return "".join(lines)


def print_expression(value: syntax.Expression, indent: str = "") -> str:
    """An expression on one line, or with one item on each line if that would be too long."""
    match value:
        case syntax.Literal():
            return _print_literal(value.value)
        case syntax.Template():
            return '"' + "".join(_print_part(value.parts, i) for i in range(len(value.parts))) + '"'
        case syntax.List():
            return _print_items("[", [print_expression(item, indent + "  ") for item in value.items], "]", indent)
        case syntax.Map():
            pairs = [f"{_print_key(key)} = {print_expression(item, indent + '  ')}" for key, item in value.items]
            return _print_items("{ ", pairs, " }", indent) if pairs else "{}"
        case syntax.Name():
            return ".".join(value.parts)
        case syntax.Index():
            return f"{_operand(value.value)}[{print_expression(value.key)}]"
        case syntax.Call():
            return f"{value.function}({', '.join(print_expression(argument) for argument in value.arguments)})"
        case syntax.Unary():
            # Brackets, because -5 would be read as a number and not as a sign before one.
            operand = print_expression(value.operand)
            return f"{value.operator}({operand})"
        case syntax.Binary():
            return f"{_operand(value.left)} {value.operator} {_operand(value.right)}"
        case syntax.Conditional():
            then, otherwise = _operand(value.then), _operand(value.otherwise)
            return f"{_operand(value.condition)} ? {then} : {otherwise}"


def literal(value: object) -> syntax.Expression:
    """A plain Python value as an expression."""
    if isinstance(value, Mapping):
        return syntax.Map([(syntax.Literal(str(key)), literal(item)) for key, item in value.items()])
    if isinstance(value, Sequence) and not isinstance(value, str):
        return syntax.List([literal(item) for item in value])
    if value is None or isinstance(value, str | int | float):
        return syntax.Literal(value)
    raise TypeError(f"{type(value).__name__} has no place in a config")


def quote(text: str) -> str:
    """Text in quotes, with everything escaped that would mean something else there."""
    escaped = "".join(_ESCAPES.get(c) or (c if c.isprintable() else _code(c)) for c in text)
    return '"' + escaped.replace("${", "$${") + '"'


def _print_block(block: syntax.Block, indent: str) -> str:
    labels = "".join(f" {quote(label.text)}" for label in block.labels)
    if block.type in _SHORT and not block.body.blocks:
        items = " ".join(f"{one.name} = {print_expression(one.value, indent)}" for one in block.body.attributes)
        line = f"{indent}{block.type}{labels} {{ {items} }}\n"
        if "\n" not in items and len(line) <= _LINE_WIDTH + 20:
            return line
    inner = print_body(block.body, indent + "  ")
    return f"{indent}{block.type}{labels} {{\n{inner}{indent}}}\n"


def _print_literal(value: str | int | float | bool | None) -> str:
    if isinstance(value, str):
        is_clearer_raw = ("\\" in value or '"' in value) and "`" not in value and value.isprintable()
        return f"`{value}`" if is_clearer_raw else quote(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def _print_part(parts: list[str | syntax.Expression], position: int) -> str:
    part = parts[position]
    if not isinstance(part, str):
        return "${" + print_expression(part) + "}"
    text = quote(part)[1:-1]
    # A dollar right before ${ would make it $${, which means plain text.
    return text[:-1] + _code("$") if text.endswith("$") and position + 1 < len(parts) else text


def _print_key(key: syntax.Expression) -> str:
    if isinstance(key, syntax.Literal) and isinstance(key.value, str) and _WORD.fullmatch(key.value):
        return key.value
    text = print_expression(key)
    # A bare word as the key means itself, so whatever begins with one needs brackets.
    is_plain = isinstance(key, syntax.Template | syntax.List | syntax.Map) or (
        isinstance(key, syntax.Literal) and key.value is not None and not isinstance(key.value, bool)
    )
    return text if is_plain else f"({text})"


def _operand(value: syntax.Expression) -> str:
    text = print_expression(value)
    is_negative = isinstance(value, syntax.Literal) and isinstance(value.value, int | float) and text.startswith("-")
    return f"({text})" if isinstance(value, syntax.Binary | syntax.Conditional | syntax.Unary) or is_negative else text


def _print_items(opening: str, items: list[str], closing: str, indent: str) -> str:
    line = opening + ", ".join(items) + closing
    if len(line) + len(indent) <= _LINE_WIDTH:
        return line
    inner = "".join(f"{indent}  {item},\n" for item in items)
    return f"{opening.strip()}\n{inner}{indent}{closing.strip()}"


def _code(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}"
