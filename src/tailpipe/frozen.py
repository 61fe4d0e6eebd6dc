"""`@frozen`: a frozen dataclass that costs next to nothing to declare.

`@dataclass(frozen=True)` compiles six functions for every class, which takes half a millisecond on Python 3.11, and a
command declares about a hundred classes before it does anything. Here all classes share five of the six, and
`__init__` is compiled when the first value is made. Everything else is as with the standard decorator: arguments,
defaults, `__post_init__`, equality, hash, `repr`, errors, pickling, and all functions of `dataclasses` (ADR 0013).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from inspect import Signature, signature
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass."""
    return make_frozen(cls)


def make_frozen(cls: type[T], *, kw_only: bool = False) -> type[T]:
    """Make a class a frozen dataclass, for a base class that does so with its subclasses."""
    own = cls.__dict__
    has_hash = own.get("__hash__") is not None  # Python sets it to None where a class has an `__eq__` of its own
    made = dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    given = {"__repr__": _repr, "__eq__": _eq, "__setattr__": _refuse, "__delattr__": _refuse, "__init__": _init(made)}
    for name, function in given.items():
        if name not in own:
            setattr(made, name, function)
    if not has_hash:
        made.__hash__ = _hash  # type: ignore[method-assign]
    compared = [one.name for one in fields(made) if one.compare]  # type: ignore[arg-type]
    made.__compared_values__ = _values_of(compared)  # type: ignore[attr-defined]
    hashed = [one.name for one in fields(made) if (one.compare if one.hash is None else one.hash)]  # type: ignore[arg-type]
    made.__hashed_values__ = _values_of(hashed)  # type: ignore[attr-defined]
    made.__signature__ = _Signature()  # type: ignore[attr-defined]
    return made


class _Signature:
    """The parameters of a class, for `help` and notebooks; computed on first use."""

    def __get__(self, value: object, owner: type) -> Signature:
        if "__compared_values__" not in vars(owner):
            raise AttributeError("__signature__")  # a subclass that may have its own `__init__`
        return signature(_compiled(owner).__get__(object()))


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the values of these fields as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    values = self.__class__.__compared_values__
    return values(self) == values(other)


def _hash(self: Any) -> int:
    return hash(self.__class__.__hashed_values__(self))


def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(_: object, name: str, *value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _init(cls: type) -> Callable[..., None]:
    def __init__(self: object, *arguments: Any, **named: Any) -> None:  # noqa: N807
        compiled = _compiled(cls)
        cls.__init__ = compiled  # type: ignore[misc]
        compiled(self, *arguments, **named)

    return __init__


def _compiled(cls: type) -> Callable[..., None]:
    """The `__init__` of a class: its fields are the parameters."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_absent": MISSING}
    plain, named, body = ["self"], ["*"], []
    for one in fields(cls):
        name, value, default = one.name, one.name, ""
        if one.default_factory is not MISSING:
            known[f"_make_{name}"] = one.default_factory
            value = f"_make_{name}() if {name} is _absent else {name}" if one.init else f"_make_{name}()"
            default = "=_absent"
        elif one.default is not MISSING:
            known[f"_default_{name}"] = one.default
            default = f"=_default_{name}"
        if one.init:
            (named if one.kw_only else plain).append(name + default)
        if one.init or one.default_factory is not MISSING:  # else a class attribute or `__post_init__` gives the value
            body.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*plain, *(named if len(named) > 1 else ())])
    exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), known)  # noqa: S102 - names of fields alone
    compiled: Callable[..., None] = known["__init__"]
    compiled.__qualname__ = f"{cls.__qualname__}.__init__"
    return compiled
