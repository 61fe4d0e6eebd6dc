"""Declarations: what is stated once is known to all who ask, and a secret stays one."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import pickle
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import pytest

from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.option import (
    Declared,
    Secret,
    description_of,
    fact,
    label,
    nested,
    option,
    options_of,
    type_name,
)
from tailpipe.model.source import Source
from tailpipe.model.table import Column, Table
from tests.unit.model import foreign


def refuse(value: object) -> None:
    raise ValueError(value)


class Inner(Declared):
    """A block inside."""

    depth: int = option("How deep.", default=1)


class Vault(Connection):
    """A place for secrets.

    More is said here, and is not part of the description.
    """

    type: ClassVar[str] = "vault"
    token: Secret | None = option("Token.", default=None)


class Everything(Declared):
    """One option
    of each kind."""

    title: str = label("Its title.")
    kind: Literal["a", "b"] = option("Which.", default="a")
    count: int = option("How many.", default=3, config_default=5, check=refuse)
    from_: str | None = option("From when.", default=None)
    names: Sequence[str] = option("Names.", default=["x", "y"])
    map: Mapping[str, str] = option("Map.", default={"a": "b"})
    password: Secret = option("Password.")
    inner: Inner | None = nested("Inside.", block="inner_block", default=None)
    hidden: int = fact("Only for Python.", default=7)
    plain: int = 9


# Options


def test_options_are_told_in_order_under_the_names_that_config_uses() -> None:
    options = options_of(Everything)
    assert list(options) == ["title", "kind", "count", "from", "names", "map", "password", "inner"]
    assert [option.kind for option in options.values()] == ["label", *["option"] * 6, "block"]
    assert all(name == option.name for name, option in options.items())
    assert options["from"].field == "from_"
    assert options["inner"].block == "inner_block"
    assert options["kind"].description == "Which."


def test_defaults_are_those_of_config() -> None:
    options = options_of(Everything)
    assert {name: option.default for name, option in options.items() if not option.is_required} == {
        "kind": "a",
        "count": 5,
        "from": None,
        "names": ("x", "y"),
        "map": {"a": "b"},
        "inner": None,
    }
    assert [name for name, option in options.items() if option.is_required] == ["title", "password"]
    assert Everything(title="t", password=Secret("s")).count == 3


def test_a_check_is_kept_for_the_decoder_and_not_run_by_python() -> None:
    assert options_of(Everything)["count"].check is refuse
    assert Everything(title="t", password=Secret("s"), count=-1).count == -1


def test_annotations_are_types_even_where_they_were_written_as_text() -> None:
    options = options_of(Everything)
    assert options["names"].annotation == Sequence[str]
    assert options["inner"].annotation == Inner | None
    assert options["kind"].annotation == Literal["a", "b"]


def test_only_options_that_hold_a_secret_are_secret() -> None:
    class SecretsManager(Connection):
        """Its name alone makes nothing secret."""

        type: ClassVar[str] = "secrets_manager"

    class Reader(Declared):
        """Many shapes."""

        manager: SecretsManager | None = option("Where.", default=None)
        one: Secret = option("One.")
        maybe: Secret | None = option("Maybe.", default=None)
        many: Sequence[Secret] = option("Many.", default=())
        by_name: Mapping[str, Secret] = option("By name.", default={})
        text: str = option("A Secret in the description is none.", default="Secret")

    # Local classes cannot be found by the text of an annotation.
    Reader.__annotations__["manager"] = SecretsManager | None
    secret = [option.name for option in options_of(Reader).values() if option.is_secret]
    assert secret == ["one", "maybe", "many", "by_name"]


def test_a_map_or_list_that_is_a_default_is_shared_by_no_two_values() -> None:
    first, second = (Everything(title="t", password=Secret("s")) for _ in range(2))
    assert first.map == second.map == {"a": "b"}
    assert first.map is not second.map
    assert first.names == ("x", "y")


# Subclasses


def test_a_subclass_is_a_frozen_dataclass_with_keywords_only() -> None:
    value = Everything(title="t", password=Secret("s"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.title = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Everything("t", password=Secret("s"))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="title"):
        Everything(password=Secret("s"))  # type: ignore[call-arg]
    assert value == Everything(title="t", password=Secret("s"))
    assert value != Everything(title="t", password=Secret("other"))
    assert dataclasses.replace(value, count=4).count == 4


def test_a_value_without_annotation_in_a_subclass_is_the_new_default() -> None:
    given_map = {"c": "d"}

    class Preset(Everything):
        """Has other defaults."""

        title = "preset"
        names = ["z"]
        map = given_map
        password = Secret("preset")
        hidden = 8

    made: Any = Preset  # all its fields have defaults now, which its type cannot tell
    value = made()
    assert (value.title, value.names, value.map, value.hidden) == ("preset", ("z",), {"c": "d"}, 8)
    assert value.map is not given_map
    assert made().map is not value.map
    assert value.password.reveal() == "preset"
    assert made(title="given").title == "given"
    options = options_of(Preset)
    assert list(options) == list(options_of(Everything))
    assert not any(option.is_required for option in options.values())
    assert options["names"].default == ("z",)
    assert options["title"].kind == "label"
    assert options["title"].description == "Its title."
    assert options_of(Everything)["title"].is_required


def test_an_option_without_annotation_in_a_subclass_keeps_the_type_and_brings_its_own_facts() -> None:
    class Stricter(Everything):
        """Says it anew."""

        count = option("How many, at most ten.", default=10)

    assert Stricter(title="t", password=Secret("s")).count == 10
    assert options_of(Stricter)["count"].description == "How many, at most ten."
    assert options_of(Stricter)["count"].default == 10
    assert options_of(Stricter)["count"].check is None


def test_a_new_annotation_in_a_subclass_is_a_new_option() -> None:
    class Wider(Everything):
        """Has one more, and another type."""

        count: int | None = option("How many, if known.", default=None)  # type: ignore[assignment]
        more: bool = option("More.", default=False)

    assert options_of(Wider)["count"].annotation == int | None
    assert list(options_of(Wider))[-1] == "more"


def test_a_subclass_of_a_subclass_and_a_mixin_take_the_nearest_default() -> None:
    class Mixin:
        def hello(self) -> str:
            return "hello"

    class First(Everything):
        """First."""

        title = "first"
        count = 1

    class Second(Mixin, First):
        """Second."""

        count = 2

    made: Any = Second
    value = made(password=Secret("s"))
    assert (value.title, value.count, value.hello()) == ("first", 2, "hello")
    assert options_of(Second)["count"].annotation is int


def test_a_class_variable_is_no_option() -> None:
    class Other(Vault):
        """Another one."""

        type = "other"

    assert (Vault.type, Other.type, Other().type) == ("vault", "other", "other")
    assert list(options_of(Other)) == ["name", "token"]
    with pytest.raises(TypeError):
        Other(type="x")  # type: ignore[call-arg]


def test_a_module_that_imports_no_names_of_ours_can_give_new_defaults() -> None:
    assert options_of(foreign.Inherited)["format"].default == foreign.Plain()
    assert options_of(foreign.Inherited)["format"].annotation == Format | None
    assert options_of(foreign.AccessLog)["columns"].annotation == Sequence[Column]
    assert options_of(foreign.AccessLog)["columns"].default == tuple(foreign.COMBINED_COLUMNS)
    assert options_of(foreign.Plain)["description"].default == "Nothing is changed."


def test_declared_values_survive_pickling() -> None:
    everything = Everything(title="t", password=Secret("s"), inner=Inner(depth=2))
    for value in (everything, foreign.Inherited(), foreign.AccessLog(), Vault(token=Secret("x")), foreign.Plain()):  # type: ignore[call-arg]
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(value, protocol)) == value
        assert copy.deepcopy(value) == value


def test_an_option_without_any_annotation_is_refused_when_the_class_is_made() -> None:
    with pytest.raises(TypeError, match="no type annotation"):

        class Forgotten(Declared):
            x = option("No type.", default=1)


# Secrets


def test_a_secret_is_dots_wherever_it_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret("hunter2")
    holder = Vault(token=secret)
    logging.getLogger("test").warning("%s %r %s", secret, secret, holder)
    assert len(caplog.messages) == 1
    shown = [
        repr(secret),
        str(secret),
        format(secret),
        f"{secret} {secret!s} {secret!r} {secret:>10} {secret!r:<5}",
        "%s %r" % (secret, secret),  # noqa: UP031
        repr([secret]),
        repr({"k": secret}),
        repr(holder),
        str(dataclasses.asdict(holder)),
        repr(pickle.loads(pickle.dumps(holder))),
        repr(copy.copy(secret)),
        json.dumps({"k": secret}, default=str),
        *caplog.messages,
        "".join(traceback.format_exception(ValueError(secret))),
    ]
    for text in shown:
        assert "hunter2" not in text
        assert "•••" in text or "\\u2022" in text
    assert f"{secret:>6}" == "   •••"


def test_a_secret_has_no_attributes_that_a_dump_would_show() -> None:
    with pytest.raises(TypeError):
        vars(Secret("hunter2"))
    with pytest.raises(TypeError):
        json.dumps(Secret("hunter2"))


def test_a_secret_gives_itself_away_only_when_asked() -> None:
    secret = Secret("hunter2")
    assert secret.reveal() == "hunter2"
    assert pickle.loads(pickle.dumps(secret)).reveal() == "hunter2"


def test_equal_secrets_are_equal_and_no_text_is_equal_to_one() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert hash(Secret("a")) == hash(Secret("a"))
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2


# Words for people


@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        (str, "text"),
        (bool, "true or false"),
        (int, "integer"),
        (float, "number"),
        (Secret, "secret"),
        (str | None, "text"),
        (Secret | None, "secret"),
        (bool | str, "true or false or text"),
        (Literal["a", "b"], '"a" | "b"'),
        (Literal["a"] | None, '"a"'),
        (Sequence[str], "list of text"),
        (tuple[int, ...], "list of integer"),
        (list[float], "list of number"),
        (Mapping[str, str], "map of text"),
        (dict[str, int], "map of integer"),
        (Mapping[str, Sequence[str]], "map of list of text"),
        (Vault, "connection vault"),
        (Vault | None, "connection vault"),
        (Connection, "connection"),
        (foreign.Plain, "format plain"),
        (Format | None, "format"),
        (Inner, "block"),
        (Inner | None, "block"),
        (Sequence[Column], "list of block"),
        (Sequence[Source], "list of block"),
    ],
)
def test_a_type_has_a_name_that_a_person_would_use(annotation: object, name: str) -> None:
    assert type_name(annotation) == name


def test_every_option_of_the_model_has_a_type_name_and_a_description() -> None:
    for declared in (Table, Column, Vault, foreign.Inherited, foreign.Plain):
        for each in options_of(declared).values():
            assert type_name(each.annotation)
            assert each.description.endswith(".")


def test_the_description_is_the_first_paragraph_on_one_line() -> None:
    assert description_of(Vault) == "A place for secrets."
    assert description_of(Everything) == "One option of each kind."


def test_a_class_without_a_docstring_has_no_description() -> None:
    class Silent(Declared):
        x: int = option("X.", default=1)

    class Blank(Vault):
        """ """

    assert description_of(Silent) == ""
    assert description_of(Blank) == ""
    assert description_of(type("Bare", (), {})) == ""
