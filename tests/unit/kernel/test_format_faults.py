"""Formats of plugins that keep no rule: each failure names the format and its plugin, and nothing is staged."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailpipe.errors import PluginError
from tailpipe.kernel.run import run_task
from tailpipe.kernel.task import Staging
from tailpipe.model.table import Column, Table
from tailpipe.plugin import (
    Format,
    Plugin,
)
from tailpipe.testing import check_plugin
from tests.unit.kernel.support import run, task

TIMES = Table(name="things", map_fields=("*",), common={"tp_timestamp": "TIMESTAMP '2024-01-31'"})

ATTACKS = '''
from dataclasses import dataclass, replace

from tailpipe.plugin import Document, DocumentParser, Format, Plugin, Records, Rejected, Rows, document_parser
from tailpipe.plugin import Parsed, TailpipeError, line_parser
from tailpipe.plugin.arrow import line_table


@dataclass
class Attack:
    """Gives each line as the field x, but for what an attack changes."""

    sql: str = "SELECT _artifact, _ordinal, NULL::VARCHAR AS _bad, _line AS _raw, _line AS x FROM attacked"
    kind: str = "VARCHAR"
    more: int = 0

    def parse(self, runs):
        table = line_table(runs)
        return Parsed(self.sql, {"attacked": table}, {"x": self.kind}, table.num_rows + self.more)


def own(function):
    return type("Own", (), {"parse": lambda self, runs: function(runs)})()


class Documents(DocumentParser):
    gives_records = False

    def __init__(self, found):
        self.found = found

    def read(self, document):
        yield self.found


class Texts(Documents):
    gives_records = True


class Others(Documents):
    gathers = True

    def __init__(self):
        self.found = None

    def read_small(self, documents):
        yield None, Rejected("no")


class Small(Others):
    def read_small(self, documents):
        raise TailpipeError("damaged")


SQL = Attack().sql


def table(**columns):
    import pyarrow

    return pyarrow.table(columns)


MAKERS = {
    "sound": lambda: Attack(),
    "no_parser": lambda: None,
    "number": lambda: 7,
    "raises": lambda: own(lambda runs: 1 // 0),
    "gives_nothing": lambda: own(lambda runs: None),
    "fewer_than_announced": lambda: Attack(SQL + " WHERE _ordinal > 1"),
    "more_than_announced": lambda: Attack(f"{SQL} UNION ALL {SQL}"),
    "twice": lambda: Attack(f"{SQL} UNION ALL {SQL} WHERE _ordinal = 2", more=1),
    "other_ordinal": lambda: Attack(SQL.replace("_ordinal,", "_ordinal + 7 AS _ordinal,", 1)),
    "huge_ordinal": lambda: Attack(SQL.replace("_ordinal,", "9223372036854775807 AS _ordinal,", 1)),
    "other_artifact": lambda: Attack(SQL.replace("_artifact", "16777216::INTEGER AS _artifact", 1)),
    "null_ordinal": lambda: Attack(SQL.replace("_ordinal,", "NULL::BIGINT AS _ordinal,", 1)),
    "text_ordinal": lambda: Attack(SQL.replace("_ordinal,", "'1' AS _ordinal,", 1)),
    "number_as_reason": lambda: Attack(SQL.replace("NULL::VARCHAR AS _bad", "1 AS _bad")),
    "missing_field": lambda: Attack(SQL.replace(", _line AS x", "")),
    "other_type": lambda: Attack(SQL.replace("_line AS x", "1 AS x")),
    "unknown_type": lambda: Attack(kind="NONSENSE"),
    "no_sql": lambda: Attack("SELEKT"),
    "failing_sql": lambda: Attack(SQL.replace("_line AS x", "CAST(_line AS INTEGER) AS x"), "INTEGER"),
    "line_raises": lambda: line_parser(lambda line: {}["missing"]),
    "line_opens": lambda: line_parser(lambda line: open("/no/such/file")),
    "line_list": lambda: line_parser(lambda line: [line]),
    "line_object": lambda: line_parser(lambda line: {"x": object()}),
    "line_name": lambda: line_parser(lambda line: {7: line}),
    "document_raises": lambda: document_parser(lambda file: [1 // 0]),
    "document_text": lambda: document_parser(lambda file: ["text"]),
    "document_number": lambda: Documents(7),
    "document_records": lambda: Documents(Records(["a"])),
    "document_texts": lambda: Texts(Records(["a"])),
    "document_other": lambda: Others(),
    "document_small": lambda: Small(),
    "document_rows": lambda: Documents(Rows([1])),
    "document_reserved": lambda: Documents(Rows(table(_raw=["a"]))),
    "document_twice": lambda: Documents(Rows(table(a=["a"], A=["a"]))),
    "document_reason": lambda: Documents(Rejected(7)),
}


class Attacked(Format):
    """A format that keeps no rule."""

    type = "attack"
    name = "sound"

    def parser(self, context):
        return MAKERS[self.name]()


class Odd(Format):
    """A format of text that nobody can decode."""

    type = "attack_odd"

    @property
    def encoding(self):
        return "klingon"


plugin = Plugin(name="attack", description="Attacks.", formats=[Attacked, Odd])
'''

MESSAGES = {
    "no_parser": "has a NoneType as its parser, expected a LineParser or DocumentParser",
    "number": "has a int as its parser",
    "raises": "failed to parse lines: ZeroDivisionError: integer division or modulo by zero (tailpipe_attack.py:",
    "gives_nothing": "gave a NoneType, expected Parsed",
    "fewer_than_announced": "announced 3 rows and gave 2",
    "more_than_announced": "announced 3 rows and gave 6",
    "twice": "gave two rows for line 2",
    "other_ordinal": "gave a row for line 8, which it was not given",
    "huge_ordinal": "gave a row for a line that it was not given",
    "other_artifact": "gave a row for a line that it was not given",
    "null_ordinal": "gave a row without the number of its line",
    "text_ordinal": 'gave VARCHAR for "_ordinal", expected an integer',
    "number_as_reason": 'gave INTEGER for "_bad", expected text',
    "missing_field": 'gave no column "x"',
    "other_type": 'gave INTEGER for the field "x", expected VARCHAR',
    "unknown_type": 'has a field "x" of an unknown type "NONSENSE"',
    "no_sql": "gave a query that cannot be run: Catalog Error",
    "failing_sql": "gave a query that cannot be run: Conversion Error",
    "line_raises": "failed to parse lines: KeyError: 'missing' at line 1 (tailpipe_attack.py:",
    "line_opens": "failed to parse lines: FileNotFoundError: [Errno 2] No such file or directory: '/no/such/file'",
    "line_list": "TypeError: expected a mapping of fields, got list at line 1",
    "line_object": 'a list or a mapping for the field "x", got object at line 1',
    "line_name": "TypeError: expected the name of a field, got 7 at line 1",
    "document_raises": 'to read "/logs/a.log": ZeroDivisionError: integer division or modulo by zero after 0 rows',
    "document_text": 'failed to read "/logs/a.log": TypeError: expected a mapping of fields, got str',
    "document_number": "gave a int, expected Records, Rows or Rejected",
    "document_records": "gave records without saying so by gives_records",
    "document_texts": "gave records that are not a pyarrow Array of strings without nulls",
    "document_other": "gave rows of a document that it was not given",
    "document_small": 'failed to read "/logs/a.log": TailpipeError: damaged',
    "document_rows": "gave a list as rows, expected a pyarrow Table",
    "document_reserved": 'gave a column "_raw", a name that is reserved',
    "document_twice": 'gave a column "A", a name that is duplicated',
    "document_reason": "rejected a row with a reason or a text that is not text",
}


@pytest.fixture
def attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An installed plugin whose formats attack."""
    (tmp_path / "tailpipe_attack.py").write_text(ATTACKS, encoding="utf-8")
    facts = tmp_path / "tailpipe_attack-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Name: tailpipe-attack\nVersion: 1\n")
    (facts / "entry_points.txt").write_text("[tailpipe.plugins]\nattack = tailpipe_attack:plugin\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import tailpipe_attack  # type: ignore[import-not-found]

    yield tailpipe_attack
    del sys.modules["tailpipe_attack"]


def failure(format: Format, tmp_path: Path) -> PluginError:
    """The error with which a task ends, after which nothing is staged."""
    staging = tmp_path / "staging"
    staging.mkdir()
    one = task(b"a\nb\nc\n", format=format, of=replace(TIMES, columns=[Column("x", "varchar")]))
    with pytest.raises(PluginError) as failed:
        run_task(one.at(Staging(str(staging), "t")))
    assert not list(staging.iterdir())
    return failed.value


@pytest.mark.parametrize("name", MESSAGES)
def test_a_format_that_keeps_no_rule_is_named_with_its_plugin_and_nothing_is_staged(
    name: str, attack: Any, tmp_path: Path
) -> None:
    error = failure(attack.Attacked(name=name), tmp_path)
    assert error.message.startswith('format "attack" of plugin "attack" ')
    assert MESSAGES[name] in error.message
    assert error.plugins == ("attack",)
    assert error.hint == "report this to the author of the plugin"


def test_every_attack_has_its_message(attack: Any) -> None:
    assert {"sound", *MESSAGES} == set(attack.MAKERS)


def test_the_format_of_the_attacks_is_sound_by_itself(attack: Any) -> None:
    assert run(b"a\nb\n", format=attack.Attacked(), of=replace(TIMES, columns=[Column("x", "varchar")])).column(
        "x"
    ) == [
        "a",
        "b",
    ]


def test_an_encoding_that_nobody_knows_is_refused(attack: Any, tmp_path: Path) -> None:
    assert 'has the encoding "klingon", expected None or one of utf-8' in failure(attack.Odd(), tmp_path).message


class Bare(Format):
    """A format with nothing to read with."""

    type = "bare"


def test_a_format_that_is_not_installed_is_named_with_its_module(tmp_path: Path) -> None:
    error = failure(Bare(), tmp_path)
    assert error.message == (
        f'format "bare", which is defined in "{__name__}", failed to make a parser: NotImplementedError:'
        " it has neither parser() nor read_as()"
    )


def test_the_check_of_a_plugin_reads_garbage_with_its_formats() -> None:
    with pytest.raises(
        AssertionError, match=r"format.bare.default: fails on nothing: .*neither parser\(\) nor read_as\(\)"
    ):
        check_plugin(Plugin(name="bare", description="Nothing.", formats=[Bare]))
