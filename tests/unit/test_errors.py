"""The exception tree: drawn as it is, complete, and able to travel between processes."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import traceback
from pathlib import Path

import pytest

from tailpipe import errors
from tailpipe.errors import (
    CatalogError,
    ChangedError,
    CommitError,
    ConfigError,
    ConflictError,
    CrashedError,
    Diagnostic,
    LockedError,
    NewerError,
    Note,
    ObjectStoreError,
    Place,
    PluginError,
    QueryError,
    SparkError,
    StorageError,
    TailpipeError,
    TimeLimitError,
    UnpackError,
    UsageError,
    WorkspaceError,
)

PLACE = Place("aws.tpc", 12, 5, 7, '  buckett = "x"')
DIAGNOSTIC = Diagnostic('unknown argument "buckett"', PLACE, 'did you mean "bucket"?', (Note("first here", PLACE),))
EXAMPLES: list[TailpipeError] = [
    TailpipeError("it failed", hint="try again"),
    UsageError("wrong use", hint="like this"),
    ConfigError((DIAGNOSTIC, DIAGNOSTIC)),
    PluginError("two plugins", plugins=("a", "b"), hint="uninstall one"),
    WorkspaceError("not ours", path="data/default", hint="choose another"),
    CommitError("out of balance", partition="app_log.prod", unit="2024-01-31", hint="look at the accounts"),
    ConflictError("two histories", partition="app_log.prod", hosts=("web-1", "web-2"), hint="collect again"),
    CatalogError("damaged", path="catalog.db", hint="tailpipe doctor --rebuild"),
    NewerError("of a newer version", path="catalog.db", hint="upgrade tailpipe"),
    LockedError("in use", path="locks/a", partition="app_log.prod", pid=42, hint="wait"),
    StorageError("disk full", path="files", hint="make room"),
    SparkError("did not start", hint="see the log"),
    QueryError("no such column", hint="did you mean", place=Place("statement", 1, 8, 4, "SELECT levl")),
    ChangedError("was rotated", hint="collect again"),
    TimeLimitError("stopped at the time limit of 30 s", hint="raise it"),
    ObjectStoreError("no answer", location="s3://lake", key="log/1", is_unknown=True, hint="run it again"),
    CrashedError("the statement crashed", signal=11, hint="simplify it"),
    UnpackError("is truncated", file="a.zip", member="b.log", offset=7, hint="collect again"),
]
CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and value.__module__ == errors.__name__ and not name.startswith("_")
}
ERRORS = {name: value for name, value in CLASSES.items() if issubclass(value, TailpipeError)}
EXIT_CODES = {0: "EXIT_DONE", 1: "EXIT_FAILED", 2: "EXIT_USAGE", 130: "EXIT_INTERRUPTED"}


def drawn() -> dict[str, tuple[str | None, int | None]]:
    """Each class of the tree in the docstring, with the class it hangs from and its exit code."""
    found: dict[str, tuple[str | None, int | None]] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"    ([ │]*)(?:[├└]── )?([A-Z]\w+Error) .*?(?:exit (\d+))?$", line):
            indent = match.start(2)
            while path and path[-1][0] >= indent:
                path.pop()
            found[match[2]] = (path[-1][1] if path else None, int(match[3]) if match[3] else None)
            path.append((indent, match[2]))
    return found


def test_every_error_has_an_example_here() -> None:
    assert {name for name, value in CLASSES.items() if issubclass(value, BaseException)} == set(ERRORS)
    assert {type(example).__name__ for example in EXAMPLES} == set(ERRORS)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling_with_all_its_facts(error: TailpipeError) -> None:
    error.add_note("while collecting")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(error, protocol))
        assert type(copy) is type(error)
        assert vars(copy) == vars(error)
        assert copy.args == error.args
        assert str(copy) == str(error) == error.message
        assert copy.exit_code == error.exit_code
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(error))))
    assert vars(again) == vars(error)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_keeps_every_fact_that_it_was_given(error: TailpipeError) -> None:
    facts = set(inspect.signature(type(error)).parameters)
    assert facts <= set(vars(error))
    assert all(vars(error)[fact] for fact in facts)


def test_an_error_of_another_package_survives_pickling_too() -> None:
    copy = pickle.loads(pickle.dumps(ForeignError("it failed", code=7)))
    assert (copy.message, copy.code, copy.hint) == ("it failed", 7, "")


class ForeignError(TailpipeError):
    """As a plugin might define it."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


def test_the_tree_in_the_docstring_is_the_tree_in_the_code() -> None:
    parents = {name: [base.__name__ for base in value.__bases__] for name, value in ERRORS.items()}
    real = {name: bases[0] if name != "TailpipeError" else None for name, bases in parents.items()}
    assert {name: parent for name, (parent, _) in drawn().items()} == real


def test_the_exit_codes_in_the_docstring_are_those_in_the_code() -> None:
    shown = {name: code for name, (_, code) in drawn().items() if code is not None}
    assert set(shown) == set(ERRORS) - {"TailpipeError"}
    assert shown == {name: value.exit_code for name, value in ERRORS.items() if name != "TailpipeError"}
    assert TailpipeError.exit_code == 1


def test_the_exit_codes_are_those_that_were_promised() -> None:
    assert {getattr(errors, name): name for name in EXIT_CODES.values()} == EXIT_CODES
    assert all((error.exit_code == 2) == isinstance(error, UsageError) for error in EXAMPLES)


def test_all_public_names_are_exported_and_sorted_by_kind() -> None:
    tree = ast.parse(Path(errors.__file__).read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    defined |= {t.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets if _is_name(t)}  # type: ignore[attr-defined]
    assert set(errors.__all__) == {name for name in defined if not name.startswith("_")}
    assert len(errors.__all__) == len(set(errors.__all__))


def _is_name(target: ast.expr) -> bool:
    return isinstance(target, ast.Name)


def test_every_class_says_what_it_is_for() -> None:
    for name, value in CLASSES.items():
        assert (value.__doc__ or "").startswith(("A", "O", "T", "W")), name
        assert not (value.__doc__ or "").startswith(f"{name}("), name


def test_a_config_error_counts_its_problems() -> None:
    assert str(ConfigError((DIAGNOSTIC,))) == "1 problem in the config"
    assert str(ConfigError((DIAGNOSTIC, DIAGNOSTIC))) == "2 problems in the config"
    assert str(ConfigError(())) == "0 problems in the config"


def test_a_traceback_shows_hints_and_places_below_the_message() -> None:
    shown = traceback.format_exception_only(TailpipeError("it failed", hint="try again"))
    assert shown == ["tailpipe.errors.TailpipeError: it failed\n", "  = try again\n"]
    shown = traceback.format_exception_only(pickle.loads(pickle.dumps(ConfigError((DIAGNOSTIC,)))))
    assert shown[1:] == ['  aws.tpc:12:5: unknown argument "buckett" (did you mean "bucket"?)\n']
    place = Place("statement", 1, 8, 4, "SELECT levl FROM app_log")
    shown = traceback.format_exception_only(QueryError("no such column", hint='did you mean "level"?', place=place))
    assert shown[1:] == ['  = did you mean "level"?\n', "  --> statement:1:8: levl FROM app_log\n"]


def test_a_place_is_shown_as_file_line_and_column_or_as_a_file_alone() -> None:
    assert str(PLACE) == "aws.tpc:12:5"
    assert str(Place("aws.tpc", 0, 0)) == "aws.tpc"


def test_diagnostics_are_frozen_values() -> None:
    assert pickle.loads(pickle.dumps(DIAGNOSTIC)) == DIAGNOSTIC
    assert hash(DIAGNOSTIC) == hash(pickle.loads(pickle.dumps(DIAGNOSTIC)))
    with pytest.raises(AttributeError):
        DIAGNOSTIC.message = "other"  # type: ignore[misc]
