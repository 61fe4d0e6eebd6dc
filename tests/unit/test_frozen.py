"""`@frozen` does what `@dataclass(frozen=True)` does: each test holds one against the other."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import pytest

from tailpipe.frozen import frozen, make_frozen

MAKERS = [frozen, dataclass(frozen=True)]
Make = Callable[[type], Any]


def body() -> type:
    """A class with a field of every kind, not yet made."""

    class Parcel:
        """A thing on its way."""

        kind: ClassVar[str] = "parcel"
        to: str
        weight: int = 1
        stamps: list[str] = field(default_factory=list)
        note: str = field(default="", compare=False)
        secret: str = field(default="x", repr=False, kw_only=True)
        marks: list[str] = field(default_factory=list, init=False, compare=False, repr=False)
        state: str = field(default="new", init=False, repr=False)

        @cached_property
        def heavy(self) -> bool:
            return self.weight > 10

    return Parcel


@frozen
class Letter:
    """Here, because what is pickled must be found by its name."""

    to: str
    pages: tuple[int, ...] = ()


@pytest.fixture(params=MAKERS, ids=["frozen", "dataclass"])
def parcel(request: pytest.FixtureRequest) -> Any:
    return request.param(body())


def raised(call: Callable[[], object]) -> tuple[type[BaseException], str]:
    with pytest.raises((TypeError, AttributeError)) as caught:
        call()
    return caught.type, str(caught.value)


def test_arguments_and_defaults(parcel: Any) -> None:
    one = parcel("Rome", 12, note="fragile", secret="s")
    assert (one.to, one.weight, one.stamps, one.note, one.secret, one.kind) == (
        "Rome",
        12,
        [],
        "fragile",
        "s",
        "parcel",
    )
    assert one.stamps is not parcel("Rome").stamps
    assert (one.heavy, one.marks, one.state) == (True, [], "new")
    assert repr(one) == "body.<locals>.Parcel(to='Rome', weight=12, stamps=[], note='fragile')"


@pytest.mark.parametrize(
    "call",
    [
        lambda made: made(),
        lambda made: made("a", too="b"),
        lambda made: made("a", 1, [], "", "secret"),
        lambda made: made("a", to="b"),
        lambda made: made("a", state="old"),
        lambda made: setattr(made("a"), "to", "b"),
        lambda made: setattr(made("a"), "other", "b"),
        lambda made: delattr(made("a"), "to"),
        lambda made: hash(made("a")),
        lambda made: made("a") < made("b"),
    ],
)
def test_the_same_mistakes_are_refused_in_the_same_words(call: Callable[[Any], object]) -> None:
    ours, theirs = (raised(lambda make=make: call(make(body()))) for make in MAKERS)  # type: ignore[misc]
    assert ours == theirs


def test_equality_is_of_the_compared_fields_of_one_class(parcel: Any) -> None:
    assert parcel("a", note="x") == parcel("a", note="y")
    assert parcel("a") != parcel("a", 2)
    assert parcel("a") != "a"

    class Other(parcel):  # type: ignore[misc]
        pass

    assert parcel("a") != Other("a")
    assert Other("a") == Other("a")


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("names", [[], ["a"], ["a", "b"]])
def test_equal_values_have_equal_hashes(make: Make, names: list[str]) -> None:
    made = make(type("Few", (), {"__doc__": "Few.", "__annotations__": dict.fromkeys(names, "float")}))
    nan = float("nan")
    one, same = (made(*(nan for _ in names)) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert {one, same} == {one}


def test_the_functions_of_dataclasses_know_it(parcel: Any) -> None:
    is_known = dataclasses.is_dataclass(parcel)
    assert is_known
    one = parcel("Rome", 2)
    assert [x.name for x in dataclasses.fields(one)] == ["to", "weight", "stamps", "note", "secret", "marks", "state"]
    assert dataclasses.replace(one, weight=3) == parcel("Rome", 3)
    assert dataclasses.asdict(one) == {
        "to": "Rome",
        "weight": 2,
        "stamps": [],
        "note": "",
        "secret": "x",
        "marks": [],
        "state": "new",
    }
    assert parcel.__match_args__ == ("to", "weight", "stamps", "note")


def test_it_can_be_copied_and_pickled_before_and_after_the_first_value() -> None:
    one = pickle.loads(pickle.dumps(Letter("Rome", (1, 2))))
    assert one == Letter("Rome", (1, 2)) == copy.copy(one) == copy.deepcopy(one)


@pytest.mark.parametrize("make", MAKERS)
def test_a_subclass_has_the_fields_of_both(make: Make) -> None:
    base = make(body())

    class Registered(base):  # type: ignore[misc,valid-type]
        """With a number."""

        number: int = 7
        weight: int = 5

    made = make(Registered)
    one = made("Rome")
    assert (one.to, one.weight, one.number) == ("Rome", 5, 7)
    assert one == made("Rome", 5, [], "", 7)
    assert (base("Rome").weight, hasattr(base("Rome"), "number")) == (1, False)


@pytest.mark.parametrize("make", MAKERS)
def test_what_a_class_has_of_its_own_is_kept(make: Make) -> None:
    class Own:
        """With methods of its own."""

        a: int = 1

        def __post_init__(self) -> None:
            object.__setattr__(self, "a", self.a * 2)

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    class Hashed(Own):
        """And a hash."""

        def __hash__(self) -> int:
            return 99

    own, hashed = make(Own), make(Hashed)
    assert (own(4).a, repr(own()), own(1) == own(2)) == (8, "own", True)
    assert hash(own(1)) == hash(own(1)) != hash(own(2))  # of the fields, as `__eq__` alone gives none
    assert hash(hashed()) == 99


def test_the_parameters_can_be_looked_up(parcel: Any) -> None:
    found = inspect.signature(parcel).parameters.values()
    assert [(one.name, one.kind) for one in found] == [
        ("to", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        ("weight", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        ("stamps", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        ("note", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        ("secret", inspect.Parameter.KEYWORD_ONLY),
    ]

    class Own(parcel):  # type: ignore[misc]
        def __init__(self, city: str) -> None:
            super().__init__(city)

    assert list(inspect.signature(Own).parameters) == ["city"]


def test_all_arguments_can_be_named_ones() -> None:
    made: Any = make_frozen(body(), kw_only=True)
    assert made(to="Rome").to == "Rome"
    assert "takes 1 positional argument" in raised(lambda: made("Rome"))[1]


def test_threads_that_make_the_first_values_at_once_get_theirs() -> None:
    for _ in range(20):
        made: Any = frozen(body())
        ready = threading.Barrier(8)
        found: list[Any] = []

        def make(number: int, made: Any = made, ready: threading.Barrier = ready, found: list[Any] = found) -> None:
            ready.wait()
            found.append(made("Rome", number))

        threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(one.weight for one in found) == list(range(8))


@pytest.mark.parametrize("make", MAKERS, ids=["frozen", "dataclass"])
def test_a_field_may_be_compared_and_not_hashed(make: Make) -> None:
    class Labelled:
        name: str
        labels: dict[str, str] = field(default_factory=dict, hash=False)

    made = make(Labelled)
    assert hash(made("a", {"x": "1"})) == hash(made("a"))
    assert made("a", {"x": "1"}) != made("a")
