"""Blocks → objects: the one decoder, which follows what a class declares of its options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Union, get_args, get_origin

from tailpipe.config.convert import Reference, convert
from tailpipe.config.former import former_argument, former_inner_block, meant_type, other_place
from tailpipe.config.scope import LABELS
from tailpipe.config.syntax import Attribute, Binary, Block, Expression, Label, List, Literal, Name, Span, Template
from tailpipe.config.text import Absent, ConfigText, Problem
from tailpipe.errors import Diagnostic, Note, UsageError
from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.nearest import did_you_mean, nearest
from tailpipe.model.notifier import Notifier
from tailpipe.model.option import Option, Unresolved, Variant, construct, options_of, variants_of
from tailpipe.model.paths import is_plain_path
from tailpipe.model.source import Source
from tailpipe.model.store import Store

_TYPED = ("connection", "format", "notifier", "source")
"""Blocks whose first label is a type."""


@dataclass
class Decoder:
    """Turns blocks into values of declared classes, and collects every problem on the way."""

    types: Mapping[str, Mapping[str, type]]
    """For each typed block, the classes by the name of their type."""
    evaluate: Callable[[ConfigText, Expression], Any]
    resolve: Callable[[Reference], Any]
    problems: list[Diagnostic] = field(default_factory=list)
    unresolved: list[Diagnostic] = field(default_factory=list)
    """What this machine lacks of connections, stores and sources; a problem only for whoever uses them."""
    spans: dict[str, tuple[ConfigText, Span]] = field(default_factory=dict)
    """Where each block and argument stands, by address."""
    _failures: int = 0
    """How many blocks could not be made; one that holds such a block cannot be made either."""

    def decode(
        self,
        text: ConfigText,
        block: Block,
        declared: type,
        address: str,
        *,
        may_wait: bool = False,
        parent: str | None = None,
    ) -> Any:
        """The block as a value, or None if it has problems, which are reported.

        A format inside the block `parent` may have no name, and then has that one's.

        In a connection, notifier, store or source, and where it `may_wait` because it is inside of one, an option that
        depends on an unset variable stays unresolved.
        """
        may_wait = may_wait or issubclass(declared, Connection | Notifier | Source | Store)
        text = text.in_each(*block.each) if block.each else text
        before = (len(self.problems), self._failures)
        self.spans[address] = (text, block.span)
        labels = block.labels[1:] if _is_typed(block.type, declared) else block.labels
        values = self._labels(text, block, labels, declared, is_inner=parent is not None)
        if parent is not None and issubclass(declared, Format):
            values.setdefault("name", parent)
        values |= self._attributes(text, block, declared, address, may_wait=may_wait)
        values |= self._nested(text, block, declared, address, may_wait=may_wait)
        self._require(text, block, declared, values)
        if block.body.is_broken or (len(self.problems), self._failures) != before:
            self._failures += 1
            return None
        fields = {options_of(declared)[name].field: value for name, value in values.items()}
        return self._answer(text, block.span, lambda: construct(declared, fields))

    def type_of(self, text: ConfigText, block: Block, variants: Mapping[str, type] | None = None) -> type | None:
        """The class of a typed block, by its first label: one that a plugin brings, or one of the `variants`."""
        known = self.types[block.type] if variants is None else variants
        argument = block.attribute("type")
        given = _text(argument.value) if argument else None
        meant = meant_type(given, known) if given else None
        if not block.labels:
            has_name = variants is None and block.type != "source"
            hint = f'write {block.type} "{meant or given or "TYPE"}"' + (' "NAME"' if has_name else "") + " { … }"
            hint += f"; there are: {', '.join(known)}" if variants else ""
            self.report(text, Problem(f'the block "{block.type}" has no type', block.span, hint))
            return None
        name = block.labels[0].text
        if name not in known:
            plugin = name.split("_")[0]
            otherwise = f"is its plugin installed? tailpipe plugin install {plugin}" if plugin.isalnum() else ""
            otherwise = otherwise if variants is None else "there are: " + ", ".join(known)
            near = meant_type(name, known)
            hint = f'did you mean "{near}"?' if near else otherwise
            if meant:
                hint = f'write the type first: {block.type} "{meant}" "{name}" {{ … }}'
            self.report(text, Problem(f'unknown {block.type} type "{name}"', block.labels[0].span, hint))
        return known.get(name)

    def report(self, text: ConfigText, problem: Problem, *notes: Note) -> None:
        """Keep a problem, with its place."""
        self.problems.append(text.diagnostic(problem, *notes))

    def report_all(self, text: ConfigText, problems: Iterable[Problem]) -> None:
        """Keep problems, with their places."""
        self.problems += map(text.diagnostic, problems)

    def _labels(
        self, text: ConfigText, block: Block, given: list[Label], declared: type, *, is_inner: bool
    ) -> dict[str, Any]:
        wanted = [option for option in options_of(declared).values() if option.kind == "label"]
        values: dict[str, Any] = {}
        for option, label in zip(wanted, given, strict=False):
            self._check(text, option, label.text, label.span)
            values[option.name] = label.text
        missing = [option.name for option in wanted[len(given) :] if option.is_required]
        if block.type in ("connection", "format") and not given and not is_inner:
            missing = ["name"]
        hint = f"write {_shape(block.type, declared)}"
        if missing:
            shown = f' "{block.labels[0].text}"' if block.labels else ""
            self.report(text, Problem(f'the block "{block.type}"{shown} has no {missing[0]}', block.span, hint))
        for label in given[len(wanted) :]:
            self.report(text, Problem(f'"{label.text}" is an unexpected label of "{block.type}"', label.span, hint))
        return values

    def _attributes(
        self, text: ConfigText, block: Block, declared: type, address: str, *, may_wait: bool
    ) -> dict[str, Any]:
        options = options_of(declared)
        first: dict[str, Attribute] = {}
        values: dict[str, Any] = {}
        for attribute in block.body.attributes:
            option = options.get(attribute.name)
            if option is None or option.kind != "option":
                self.report(text, self._unknown(block, attribute, options))
            elif attribute.name in first:
                note = ("first here", first[attribute.name].span)
                self.report(text, Problem(f'the argument "{attribute.name}" is duplicated', attribute.span, "", note))
            else:
                first[attribute.name] = attribute
                self.spans[f"{address}.{attribute.name}"] = (text, attribute.value.span)
                self._value(text, attribute, option, values, may_wait=may_wait)
        return values

    def _value(
        self, text: ConfigText, attribute: Attribute, option: Option, values: dict[str, Any], *, may_wait: bool
    ) -> None:
        expression = attribute.value
        values[option.name] = None  # it is there, even if it has a problem
        try:
            value = _verbatim(expression) if option.is_verbatim else None
            value = _paths(expression) if option.takes_paths else value
            value = self.evaluate(text, expression) if value is None else value
            if value is None and not option.is_required:
                del values[option.name]  # null counts as no value
                return
            values[option.name] = convert(option.annotation, value, expression, self.resolve)
        except Problem as problem:
            if may_wait and isinstance(problem, Absent):
                self.unresolved.append(text.diagnostic(problem))
                values[option.name] = Unresolved(problem.call, self.unresolved[-1])
                return
            if option.is_secret and _is_bare(expression):
                hint = 'write it in quotes, or take it from env("NAME")'
                problem = Problem("a secret must be text", expression.span, hint)
            self.report(text, problem)
        else:
            self._check(text, option, values[option.name], expression.span)

    def _nested(
        self, text: ConfigText, block: Block, declared: type, address: str, *, may_wait: bool
    ) -> dict[str, Any]:
        options = options_of(declared)
        by_block = {option.block: option for option in options.values() if option.block}
        values: dict[str, Any] = {}
        first: dict[str, Span] = {}
        for inner in block.body.blocks:
            option = by_block.get(inner.type)
            if option is None:
                self.report(text, self._unknown_block(block, inner, options, by_block))
                continue
            if option.kind == "option" and (argument := block.attribute(option.name)):
                note = ("first here", argument.span)
                self.report(text, Problem(f'"{inner.type}" is both an argument and a block', inner.span, "", note))
            element, is_many = _element(option.annotation) if option.element is None else (option.element, False)
            variants = variants_of(option.annotation)
            kind = self.type_of(text, inner, variants or None) if variants or inner.type in _TYPED else element
            inner_address = ".".join([address, inner.type, *(label.text for label in inner.labels[-1:])])
            parent = block.labels[-1].text if block.labels else ""
            value = self.decode(text, inner, kind, inner_address, may_wait=may_wait, parent=parent) if kind else None
            if is_many:
                values[option.name] = (*values.get(option.name, ()), value)
            elif option.name in values:
                note = ("first here", first[inner.type])
                self.report(text, Problem(f'the block "{inner.type}" is duplicated', inner.span, "", note))
            else:
                values[option.name] = value
                first[inner.type] = inner.span
        return values

    def _require(self, text: ConfigText, block: Block, declared: type, values: dict[str, Any]) -> None:
        options = options_of(declared)
        by_name = {option.block or option.name: option for option in options.values() if option.kind != "label"}
        for name, option in by_name.items():
            if option.name in values:
                continue
            if isinstance(option.annotation, type) and issubclass(option.annotation, Connection):
                values[option.name] = self.resolve(Reference("connection", (option.annotation.type, "default")))
            elif not option.is_required:
                values[option.name] = option.default
            elif not block.body.is_broken and not _is_misspelt(name, block, by_name):
                what = "block" if option.kind == "block" else "argument"
                hint = f"{name}: {option.description[:1].lower()}{option.description[1:].rstrip('.')}"
                self.report(text, Problem(f'{_title(block)} has no {what} "{name}"', block.span, hint))

    def _check(self, text: ConfigText, option: Option, value: Any, span: tuple[int, int]) -> None:
        if option.check is not None and value is not None:
            check = option.check
            self._answer(text, span, lambda: check(value))

    def _answer(self, text: ConfigText, span: Span, answer: Callable[[], Any]) -> Any:
        """What a declared class answers; whatever it raises is a problem at the span."""
        try:
            return answer()
        except (UsageError, ValueError) as error:
            self.report(text, Problem(str(error), span, getattr(error, "hint", "")))
        except Exception as error:  # noqa: BLE001 - a plugin's code, on a value that a user wrote
            hint = "this is a mistake in the plugin, not in the config"
            self.report(text, Problem(f"cannot be checked: {type(error).__name__}: {error}", span, hint))
        return None

    def _unknown(self, block: Block, attribute: Attribute, options: Mapping[str, Option]) -> Problem:
        name = attribute.name
        for option in options.values():
            if option.kind == "block" and name in (option.name, option.block):
                hint = f"write it as a block: {_shape(option.block, option.element or _element(option.annotation)[0])}"
                if (given := _text(attribute.value)) in self.types.get(name, ()):
                    hint = hint.replace('"TYPE"', f'"{given}"')
                return Problem(f'"{name}" is a block, not an argument', attribute.span, hint)
            if option.kind == "label" and name == option.name:
                hint = f'write it after "{block.type}", in quotes and without ='
                return Problem(f'"{name}" is a label, not an argument', attribute.span, hint)
        known = [option.name for option in options.values() if option.kind == "option"]
        otherwise = "there are: " + ", ".join(known) if known else "it takes none"
        present = former_argument(name, known)
        hint = f'it is called "{present}"' if present else did_you_mean(name, known, otherwise)
        hint = other_place(block, attribute, known, self._of_sources(block)) or hint
        return Problem(f'unknown argument "{name}" in {_title(block)}', attribute.span, hint)

    def _of_sources(self, block: Block) -> set[str]:
        """The arguments that the sources in a block take."""
        types = {inner.labels[0].text for inner in block.inner("source") if inner.labels}
        sources = [declared for name, declared in self.types["source"].items() if name in types]
        return {option.name for one in sources for option in options_of(one).values() if option.kind == "option"}

    def _unknown_block(
        self, block: Block, inner: Block, options: Mapping[str, Option], by_block: Mapping[str, Option]
    ) -> Problem:
        option = options.get(inner.type)
        if option is not None and option.kind == "option" and not option.block:
            value = "{ … }" if get_origin(option.annotation) in (Mapping, dict) else "…"
            hint = f"write it as an argument: {inner.type} = {value}"
            return Problem(f'"{inner.type}" is an argument, not a block', inner.span, hint)
        otherwise = "there are: " + ", ".join(by_block) if by_block else "it takes none"
        hint = did_you_mean(inner.type, by_block, otherwise)
        if present := former_inner_block(block.type, inner.type, by_block):
            hint = f'it is called "{present}"'
        elif inner.type in LABELS:
            hint = 'it stands in no other block; is a "}" missing before it?'
        return Problem(f'unknown block "{inner.type}" in {_title(block)}', inner.span, hint)


def _is_misspelt(name: str, block: Block, known: Mapping[str, Option]) -> bool:
    """Whether the block has an unknown argument or block that is a misspelling of this name."""
    words = [*(attribute.name for attribute in block.body.attributes), *(inner.type for inner in block.body.blocks)]
    return any(name in (nearest(word, known), former_argument(word, known)) for word in words)


def _verbatim(expression: Expression) -> str | None:
    """The source of a text in which each `${…}` is a single name; None for anything else."""
    if not isinstance(expression, Template):
        return None
    if not all(isinstance(part, str) or (isinstance(part, Name) and len(part.parts) == 1) for part in expression.parts):
        return None
    return "".join(part if isinstance(part, str) else f"${{{part.parts[0]}}}" for part in expression.parts)  # type: ignore[union-attr]


def _paths(expression: Expression) -> Any:
    """Names without quotes as a list of paths; None if there are none."""
    if isinstance(expression, Name):
        return [".".join(part if is_plain_path(part) else f'"{part}"' for part in expression.parts)]
    if isinstance(expression, List) and any(isinstance(item, Name) for item in expression.items):
        items = [_paths(item)[0] if isinstance(item, Name) else _text(item) for item in expression.items]
        return None if any(item is None for item in items) else items
    return None


def _text(expression: Expression) -> str | None:
    return expression.value if isinstance(expression, Literal) and isinstance(expression.value, str) else None


def _is_bare(expression: Expression) -> bool:
    """Whether it may be a secret without quotes, which a message must not show."""
    if isinstance(expression, Binary):
        return _is_bare(expression.left) or _is_bare(expression.right)
    return isinstance(expression, Literal) or (isinstance(expression, Name) and expression.parts[0] not in LABELS)


def _title(block: Block) -> str:
    labels = ".".join(label.text for label in block.labels)
    return f'{block.type} "{labels}"' if labels else f'block "{block.type}"'


def _shape(kind: str, declared: type) -> str:
    """How a block is written, with its labels."""
    labels = [option for option in options_of(declared).values() if option.kind == "label"]
    names = [option.name for option in labels if option.is_required or kind in ("connection", "format")]
    typed = ["type"] if _is_typed(kind, declared) else []
    return " ".join([kind, *(f'"{name.upper()}"' for name in [*typed, *names]), "{ … }"])


def _is_typed(kind: str, declared: type) -> bool:
    """Whether the first label of the block is its type."""
    return kind in _TYPED or issubclass(declared, Variant)


def _element(annotation: Any) -> tuple[Any, bool]:
    """The class of a nested block, and whether there may be many."""
    arguments = get_args(annotation)
    if not arguments:
        return annotation, False
    if get_origin(annotation) in (Union, UnionType):
        return next(argument for argument in arguments if argument is not type(None)), False
    return arguments[0], True
