"""Declarations: an object's options are declared once, for decoding, `show`, docs and masking.

A subclass of `Declared` is a frozen dataclass whose fields say how config fills them:

    class Files(Source):
        '''Reads files from folders.'''
        type = "file"
        paths: tuple[str, ...] = option("Files, directories or globs.")
        recursive: bool = option("Whether directories are entered.", default=True)

The annotation is the type that the decoder checks; `Secret` keeps the value out of every output.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin, get_type_hints

from tailpipe.errors import Diagnostic
from tailpipe.frozen import frozen, make_frozen

D = TypeVar("D")

_KEY = "tailpipe"
Check = Callable[[Any], object]


class Secret:
    """Text that must never be shown: its `repr`, `str` and format are dots; `reveal()` gives it away."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The text itself, for the one call that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "•••"

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(("Secret", self._value))


@frozen
class Unresolved:
    """The value of an option that depends on something this machine lacks, such as an unset variable.

    Only the options of connections, stores and sources can hold one: reading commands work without them, and a
    collection raises the diagnostic before it starts.
    """

    call: str
    """What gives no value, as config writes it: `env("NAME")`."""
    diagnostic: Diagnostic

    def __repr__(self) -> str:
        return self.call


@frozen
class Option:
    """What is declared of one field: how config spells it, its type, its default and its meaning."""

    name: str
    field: str
    kind: Literal["option", "label", "block"]
    description: str
    annotation: Any
    default: Any
    """The value when config says nothing, or `dataclasses.MISSING` if it must say something."""
    check: Check | None = None
    block: str = ""
    is_verbatim: bool = False
    takes_paths: bool = False
    """Whether names that stand there without quotes are paths into the record, not references."""
    element: type | None = None
    """The class of the block that fills a map, or of a block that may stand in place of the argument."""

    @property
    def is_required(self) -> bool:
        """Whether config must give it."""
        return self.default is MISSING

    @property
    def is_secret(self) -> bool:
        """Whether its value must never be shown."""
        return _holds_secret(self.annotation)


def option(
    description: str,
    *,
    default: Any = MISSING,
    config_default: Any = MISSING,
    check: Check | None = None,
    is_verbatim: bool = False,
    takes_paths: bool = False,
    block: str = "",
) -> Any:
    """An argument of a block. `check` gets the value and raises `ValueError` or `UsageError` if it is wrong.

    `config_default` is the default in config where it differs from the one in Python. In a text that `is_verbatim`,
    `${name}` stands for itself. Where it `takes_paths`, names without quotes are paths. A format may also be written as
    a `block` inside.
    """
    return _field(
        default,
        kind="option",
        description=description,
        check=check,
        config_default=config_default,
        is_verbatim=is_verbatim,
        takes_paths=takes_paths,
        block=block,
    )


def label(description: str, *, default: Any = MISSING, check: Check | None = None) -> Any:
    """A label of a block, in the order of the fields."""
    return _field(default, kind="label", description=description, check=check)


def nested(description: str, *, block: str, default: Any = MISSING, element: type | None = None) -> Any:
    """Blocks inside the block: `tuple[T, ...]` for any number of them, `T | None` for at most one.

    With several classes, all of them variants, the first label of the block says which one it is. A field that is a
    map names the class of its block as `element`.
    """
    return _field(default, kind="block", description=description, block=block, element=element)


def fact(description: str, *, default: Any) -> Any:
    """What only Python declares; config cannot say it."""
    return _field(default, kind="fact", description=description)


def _field(default: Any, metadata: Mapping[Any, Any] | None = None, **facts: Any) -> Any:
    """A field whose default no two values share: a map is copied for each, a list becomes a tuple."""
    metadata = {_KEY: facts} if metadata is None else metadata
    if isinstance(default, dict):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=tuple(default) if isinstance(default, list) else default, metadata=metadata)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option, label, nested, fact))
class Declared:
    """The base of everything that config can build: subclasses become frozen dataclasses by themselves."""

    def __init_subclass__(cls, *, kw_only: bool = True, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _adopt_defaults(cls)
        make_frozen(cls, kw_only=kw_only)


def _adopt_defaults(cls: type) -> None:
    """Let `name = value` in a class body be the new default of an inherited field."""
    inherited: dict[str, dataclasses.Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited.update(getattr(base, "__dataclass_fields__", {}))
    own = dict(inspect.get_annotations(cls))
    for name, field in inherited.items():
        is_class_variable = str(field.type).removeprefix("typing.").startswith("ClassVar")
        if name in own or name not in cls.__dict__ or is_class_variable:
            continue
        value = cls.__dict__[name]
        # As a value, because its text would be read with the names of another module.
        own[name] = next(_hints(base)[name] for base in cls.__mro__[1:] if name in inspect.get_annotations(base))
        if not isinstance(value, dataclasses.Field):  # `name = option(…)` brings its own facts
            setattr(cls, name, _field(value, field.metadata))
    cls.__annotations__ = own


@cache
def _hints(declared: Any) -> Mapping[str, Any]:
    return get_type_hints(declared)


def _holds_secret(annotation: Any) -> bool:
    return annotation is Secret or any(_holds_secret(argument) for argument in get_args(annotation))


def options_of(declared: type[Any]) -> Mapping[str, Option]:
    """The options, labels and nested blocks of a declared class, by the name that config uses."""
    return _options_of(declared)  # type: ignore[arg-type] # a class is hashable


@cache
def _options_of(declared: Any) -> Mapping[str, Option]:
    hints = get_type_hints(declared)
    found: dict[str, Option] = {}
    for field in dataclasses.fields(declared):
        facts = dict(field.metadata.get(_KEY, {"kind": "fact"}))
        if facts["kind"] == "fact":
            continue
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if (config_default := facts.pop("config_default", MISSING)) is not MISSING:
            default = config_default
        name = field.name.rstrip("_")  # `from_`, because `from` is a word of Python
        found[name] = Option(name, field.name, annotation=hints[field.name], default=default, **facts)
    return found


def construct(declared: type[D], fields: Mapping[str, Any]) -> D:
    """An instance with these fields. If one of them is unresolved, the class's own checks are skipped."""
    if not unresolved_in(fields):
        return declared(**fields)
    instance = object.__new__(declared)
    for field in dataclasses.fields(declared):  # type: ignore[arg-type] # every declared class is a dataclass
        if field.name in fields:
            value = fields[field.name]
        else:
            value = field.default if field.default_factory is MISSING else field.default_factory()
        object.__setattr__(instance, field.name, value)
    return instance


def unresolved_in(value: Any) -> tuple[Diagnostic, ...]:
    """The diagnostics of all unresolved values in an option, a noun or a collection of nouns, each once."""
    return tuple(dict.fromkeys(one.diagnostic for one in _leaves(value) if isinstance(one, Unresolved)))


def secrets_in(value: Any) -> tuple[str, ...]:
    """The texts of all secrets in an option, a noun or a collection of nouns: of a source, also its connection's."""
    return tuple(dict.fromkeys(one.reveal() for one in _leaves(value) if isinstance(one, Secret)))


def _leaves(value: Any) -> Iterator[Any]:
    """The values of all options, at any depth."""
    if isinstance(value, Declared):
        parts: Iterable[Any] = [getattr(value, field.name) for field in dataclasses.fields(value)]  # type: ignore[arg-type]
    elif isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, tuple | list):
        parts = value
    else:
        yield value
        return
    for part in parts:
        yield from _leaves(part)


class Variant(Declared):
    """One of several kinds of a nested block; the first label of the block is its `type`."""

    type: ClassVar[str] = ""


def variants_of(annotation: Any) -> Mapping[str, type[Variant]]:
    """The variants that the annotation of a nested block names, by their types; none if it has no variants."""
    found = (annotation, *get_args(annotation))
    return {one.type: one for one in found if isinstance(one, type) and issubclass(one, Variant)}


def description_of(declared: type) -> str:
    """The first paragraph of a class's docstring, on one line; empty for one that dataclass made up."""
    text = (declared.__doc__ or "").strip()
    if text.startswith(declared.__name__ + "("):
        return ""
    return " ".join(text.split("\n\n")[0].split())


def type_name(annotation: Any) -> str:
    """What a person calls the type of an option."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(type_name(argument) for argument in arguments if argument is not type(None))
    if origin is Literal:
        return " | ".join(f'"{argument}"' for argument in arguments)
    if origin in (Sequence, tuple, list):
        return f"list of {type_name(arguments[0])}"
    if origin in (Mapping, dict):
        return f"map of {type_name(arguments[1])}"
    plain = {str: "text", bool: "true or false", int: "integer", float: "number", Secret: "secret", Any: "any value"}
    if annotation in plain:
        return plain[annotation]
    kind = annotation.__mro__[-3 if annotation.__mro__[-2] is Declared else -2].__name__.lower()
    if kind in ("connection", "format", "notifier", "store"):
        return f"{kind} {getattr(annotation, 'type', '')}".strip()
    return "block"
