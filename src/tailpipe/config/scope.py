"""Names of blocks: which there are, and what a reference to one, or to an argument of one, gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tailpipe.config.convert import Reference
from tailpipe.config.evaluator import Evaluator
from tailpipe.config.functions import Surroundings
from tailpipe.config.syntax import Block, Expression, Literal, Name
from tailpipe.config.text import Absent, ConfigText, Problem
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean, nearest
from tailpipe.model.option import Option, options_of

LABELS: Mapping[str, int] = {
    "workspace": 1,
    "connection": 2,
    "store": 1,
    "format": 2,
    "table": 1,
    "partition": 2,
    "schema": 1,
    "dataset": 1,
    "query": 1,
    "queries": 1,
    "notifier": 2,
    "detection": 1,
    "detections": 1,
    "sigma": 1,
    "dashboard": 1,
}
"""How many labels name a block of each kind."""

_CHAIN_LIMIT = 30


class _Circle(Problem):
    """A value that depends on itself."""


@frozen
class Located:
    """A block and the text that contains it."""

    text: ConfigText
    block: Block


@dataclass
class Scope:
    """Resolves names in expressions. Arguments are evaluated on first use, which finds cycles."""

    around: Surroundings
    classes: Mapping[str, Mapping[str, type]]
    """For each kind of block, its class by first label; `*` where the label does not matter."""
    made: Mapping[Reference, Any]
    """What exists without a block: default connections and presets."""
    blocks: dict[Reference, Located] = field(default_factory=dict)
    members: Callable[[Reference], Mapping[str, Reference] | None] = lambda _: None
    """The blocks by key that `for_each` has made of the block of that name; None if it has none."""
    _asking: list[str] = field(default_factory=list)
    _answers: dict[str, Any] = field(default_factory=dict)
    _hints: dict[Reference, str] = field(default_factory=dict)

    def evaluate(self, text: ConfigText, expression: Expression) -> Any:
        """The value of an expression in a file; `file()` reads from that file's directory."""
        if isinstance(expression, Literal):
            return expression.value
        around = dataclasses.replace(self.around, directory=text.directory)
        try:
            return Evaluator(around, self._name).value(expression)
        except RecursionError:
            raise Problem("the value is nested too deep", expression.span) from None

    def _name(self, name: Name) -> Any:
        kind = name.parts[0]
        if kind == "each":
            raise Problem('"each" is known in blocks with for_each', name.span, 'add for_each = ["…"] to the block')
        if kind not in LABELS:
            hint = did_you_mean(kind, LABELS, f'text needs quotes: "{".".join(name.parts)}"')
            raise Problem(f'unknown name "{kind}"', name.span, hint)
        count = LABELS[kind]
        if len(name.parts) <= count:
            shape = ".".join([kind, *("TABLE" if kind == "partition" else "TYPE", "NAME")[-count:]])
            raise Problem(f'"{".".join(name.parts)}" is an incomplete name', name.span, f"write {shape}")
        reference = Reference(kind, tuple(name.parts[1 : count + 1]))
        rest = name.parts[count + 1 :]
        if reference not in self.blocks and reference not in self.made:
            try:
                members = self.members(reference)
            except ValueError as error:
                raise _Circle(str(error), name.span) from None
            if members is None:
                raise Problem(f"there is no {reference}", name.span, self._nearest(reference))
            if not rest:
                return dict(members)
            if rest[0] not in members:
                hint = did_you_mean(rest[0], members, f'choose one by its key: {reference}["…"]')
                raise Problem(f'{reference} has for_each and no key "{rest[0]}"', name.span, hint)
            reference, rest = members[rest[0]], rest[1:]
        return self._argument(reference, rest, name) if rest else reference

    def _nearest(self, reference: Reference) -> str:
        """A hint with another name of the same type, or another type with the same name."""
        if reference in self._hints:
            return self._hints[reference]
        *types, name = reference.labels
        known = [other.labels for other in (*self.made, *self.blocks) if other.kind == reference.kind]
        same_type = [labels[-1] for labels in known if labels[:-1] == tuple(types)]
        same_name = [labels[0] for labels in known if labels[-1] == name]
        quoted = " ".join(f'"{label}"' for label in reference.labels)
        hint = f"add it to the config: {reference.kind} {quoted} {{ … }}"
        if near := nearest(name, same_type):
            hint = f'did you mean "{Reference(reference.kind, (*types, near))}"?'
        elif types and (near := nearest(types[0], same_name)):
            hint = f'did you mean "{Reference(reference.kind, (near, name))}"?'
        self._hints[reference] = hint
        return hint

    def _argument(self, reference: Reference, rest: list[str], name: Name) -> Any:
        option = self._option(reference, rest[0], name)
        if option.is_secret:
            message = f'"{rest[0]}" of {reference} is a secret, which cannot be referred to'
            raise Problem(message, name.span, 'set it here too, for example with env("NAME")')
        value, address = self._value(reference, option, name), f"{reference}.{rest[0]}"
        for part in rest[1:]:
            if not isinstance(value, dict) or part not in value:
                hint = did_you_mean(part, value) if isinstance(value, dict) else ""
                raise Problem(f'{address} has no part "{part}"', name.span, hint)
            value, address = value[part], f"{address}.{part}"
        return value

    def _option(self, reference: Reference, argument: str, name: Name) -> Option:
        classes = self.classes[reference.kind]
        declared = classes.get(reference.labels[0]) or classes.get("*")
        options = {} if declared is None else options_of(declared)
        known = {key: option for key, option in options.items() if option.kind == "option"}
        if argument not in known:
            otherwise = "there are: " + ", ".join(known) if known else ""
            hint = did_you_mean(argument, known, otherwise)
            raise Problem(f'{reference} has no argument "{argument}"', name.span, hint)
        return known[argument]

    def _value(self, reference: Reference, option: Option, name: Name) -> Any:
        if reference not in self.blocks:
            return _plain(getattr(self.made[reference], option.field))
        located = self.blocks[reference]
        if attribute := located.block.attribute(option.name):
            return self._guarded(f"{reference}.{option.name}", located, attribute.value, name)
        if option.is_required:
            raise Problem(f'{reference} does not say "{option.name}"', name.span, "add it there")
        return _plain(option.default)

    def _guarded(self, address: str, located: Located, expression: Expression, name: Name) -> Any:
        if address in self._answers:
            return self._answers[address]
        if address in self._asking:
            circle = " → ".join([*self._asking[self._asking.index(address) :], address])
            raise _Circle(f"the value depends on itself: {circle}", name.span)
        if len(self._asking) > _CHAIN_LIMIT:
            raise _Circle(f"more than {_CHAIN_LIMIT} references in a row", name.span)
        self._asking.append(address)
        try:
            self._answers[address] = self.evaluate(located.text, expression)
            return self._answers[address]
        except _Circle as circle:
            raise _Circle(circle.message, name.span) from None
        except Problem as problem:
            # Its own place is told where that block is decoded.
            message = f"{address} has no value: {problem.message}"
            if isinstance(problem, Absent):
                raise Absent(message, name.span, problem.hint, call=problem.call) from None
            raise Problem(message, name.span, problem.hint) from None
        finally:
            self._asking.pop()


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
