"""The interactive shell of `tailpipe query`: reads what is typed, answers it, and goes on whatever happens."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailpipe import __version__
from tailpipe.cli import render
from tailpipe.cli.answer import BINARY, Shape
from tailpipe.cli.answers import answer_all
from tailpipe.cli.interrupts import closed_in_time, end_late, guarded, terminated_cleanly
from tailpipe.cli.narrowing import opened
from tailpipe.cli.params import named_in
from tailpipe.cli.saved_statements import find_saved, is_name, statement_of
from tailpipe.cli.shell_commands import COMMANDS, LeaveShell
from tailpipe.cli.shell_complete import Suggestion, Vocabulary, suggestions
from tailpipe.cli.sinks import Sink, Write, screen, to_file, to_screen
from tailpipe.cli.statements import Statement, split
from tailpipe.errors import EXIT_DONE, TailpipeError, UsageError
from tailpipe.model.nearest import did_you_mean
from tailpipe.operations.query import open_session
from tailpipe.query.narrowing import Narrowing

if TYPE_CHECKING:
    from tailpipe.home.home import Home
    from tailpipe.query.request import Query

_WHOLE_FILES = (*BINARY, "json")
"""Outputs that make a whole file: a second answer cannot be appended."""
_FIRST_WORD = re.compile(r"[\w-]+")
_LEAVING = ("exit", "quit")
_WORDS = (*_LEAVING, "help")
"""What people type before they know that commands begin with a dot."""


def is_whole(text: str) -> bool:
    """Whether Enter ends the text: it is a command, or its last statement ends with a semicolon."""
    from tailpipe.sql.duck import duckdb

    stripped = text.strip()
    if not stripped or stripped.startswith(".") or stripped.lower() in _WORDS:
        return True
    tokens = duckdb.tokenize(text)
    if not tokens:  # only comments, or a quote that is still open
        return stripped.startswith("--") and "\n" not in stripped
    raw, last = text.encode(), tokens[-1][0]
    behind = raw[last + 1 :].strip()
    return raw[last : last + 1] == b";" and (not behind or behind.startswith((b"--", b"/*")))


class Shell:
    """The settings of a person: how answers look, where they go, and which part of the data they show."""

    def __init__(
        self, home: Home, query: Query, shape: Shape, timing: bool | None, params: Mapping[str, Any] | None = None
    ) -> None:
        self.home = home
        self.narrowing = query.narrowing
        self.shape = shape
        self.timing = timing
        self.params: dict[str, Any] = dict(params or {})
        self.file: Path | None = None
        self._query = query
        self._has_answers = False
        self._vocabulary: Vocabulary | None = None
        self.session = opened(home, query)
        self.limit_to(query.timeout_seconds)

    def run(self) -> None:
        """Read and answer until the person leaves."""
        from tailpipe.cli.shell_prompt import open_prompt

        prompt = open_prompt(self._history(), self.suggest)
        tables = render.counted(len(self.session.tables()), "table")
        render.say(f"tailpipe {__version__}, {tables}; end statements with ; and type .help for help")
        with terminated_cleanly(), closed_in_time(lambda: self.session.close(), EXIT_DONE):
            self.serve(prompt)

    def serve(self, prompt: Callable[[str], str]) -> None:
        """Answer what the prompt gives, one input after the other, until the person leaves."""
        while True:
            try:
                self.submit(prompt("tailpipe (part)> " if self.narrowing != Narrowing() else "tailpipe> "))
            except KeyboardInterrupt:  # at the prompt, or once more while a statement was cancelled: that is all
                continue
            except (EOFError, LeaveShell):
                return

    def submit(self, text: str) -> None:
        """Do what one input says; a failure is reported, and no more than that."""
        with guarded():
            self._submit(text)

    def _submit(self, text: str) -> None:
        try:
            if text.lstrip().startswith("."):
                self._command(text.strip())
            elif text.strip().rstrip(";").lower() in _LEAVING:
                raise LeaveShell
            elif text.strip().rstrip(";").lower() == "help":
                self._command(".help")
            else:
                self.answer(split(text))
        except TailpipeError as failure:
            render.error(failure)
        except KeyboardInterrupt:
            self.session.interrupt()
            render.say("cancelled")
        except (LeaveShell, BrokenPipeError):
            raise
        except Exception as failure:  # noqa: BLE001 - what was typed so far must not be lost by a bug
            render.bug(failure)

    def answer(self, statements: list[Statement]) -> None:
        """Answer one statement after the other, each over what is committed at that moment."""
        chosen = [self._resolved(one) for one in statements]
        answer_all(self.session, chosen, self._shape(), self._sink(), self.timing, self._refresh)

    def _resolved(self, statement: Statement) -> Statement:
        """The statement, or the saved query of that name, with the values that were set and that it names."""
        if not is_name(statement, self.home):
            return replace(statement, params=named_in(statement.sql, self.params))
        saved = find_saved(self.home, statement.sql)
        return statement_of(saved, saved.values(named_in(saved.text, self.params), now=datetime.now(UTC)))

    def _refresh(self) -> None:
        if self.session.refresh():
            self._vocabulary = None

    def write_to(self, file: Path | None) -> None:
        """Have answers go to a file, or to the screen again; the first one replaces what is in the file."""
        self.file, self._has_answers = file, False

    def limit_to(self, seconds: float | None) -> None:
        """Let each statement take so long, or as long as it needs."""
        self.timeout_seconds = seconds
        self.session.limit.seconds = seconds
        self.session.limit.when_stuck = partial(end_late, self.session.limit)

    def narrow(self, **changes: Any) -> None:
        """Show another part of the data; if that cannot be, all stays as it was."""
        narrowing = replace(self.narrowing, **changes)
        session = open_session(self.home, replace(self._query, narrowing=narrowing))
        self.session.close()
        self.session, self.narrowing, self._vocabulary = session, narrowing, None
        self.limit_to(self.timeout_seconds)

    def suggest(self, text: str, cursor: int) -> list[Suggestion]:
        """Completions at the cursor."""
        if text.lstrip().startswith("."):
            return self._suggest_command(text[:cursor].lstrip())
        found = suggestions(text, cursor, self._words())
        if _FIRST_WORD.fullmatch(typed := text[:cursor].lstrip()):
            names = [name for name in sorted(self.home.queries) if name.startswith(typed)]
            found += [Suggestion(name, len(typed), "saved query") for name in names]
        return found

    def _command(self, text: str) -> None:
        name, _, rest = text.rstrip(";").partition(" ")
        if name not in COMMANDS:
            hint = did_you_mean(name, COMMANDS, ".help lists them all")
            raise UsageError(f'unknown command "{name}"', hint=hint)
        try:
            words = shlex.split(rest)
        except ValueError:
            raise UsageError(f"a quote is not closed in: {text}") from None
        most = len(COMMANDS[name].argument.split())
        if len(words) > most:
            raise UsageError(f"too many arguments for {name}", hint=f"type: {name} {COMMANDS[name].argument}".rstrip())
        COMMANDS[name].run(self, words[0] if words else "")

    def _suggest_command(self, before: str) -> list[Suggestion]:
        name, blank, typed = before.partition(" ")
        known = COMMANDS[name].choices(self) if blank and name in COMMANDS else COMMANDS if not blank else ()
        typed = typed if blank else name
        return [Suggestion(word, len(typed), "command") for word in known if word.startswith(typed)]

    def _words(self) -> Vocabulary:
        if self._vocabulary is None:
            session = self.session
            tables = (*session.tables(), *session.catalog_tables())
            self._vocabulary = Vocabulary(
                session.schema, tables, session.functions(), session.keywords(), session.reserved_words()
            )
        return self._vocabulary

    def _shape(self) -> Shape:
        room, has_colour = screen() if self.file is None else (None, False)
        if self.file is None and self.shape.output in BINARY:
            raise UsageError(f"{self.shape.output} is not text", hint="name a file with: .output FILE")
        return replace(self.shape, room=room, has_colour=has_colour, line_mode=".mode line")

    def _sink(self) -> Sink:
        return to_screen(self.shape.output) if self.file is None else self._to_file

    @contextmanager
    def _to_file(self) -> Iterator[Write]:
        assert self.file is not None  # noqa: S101 - answers go there
        has_more = self._has_answers and self.shape.output not in _WHOLE_FILES
        with to_file(self.file, has_more=has_more) as write:
            yield write
        self._has_answers = True

    def _history(self) -> Path | None:
        """The file that keeps what was typed, for its owner alone; None if it cannot be."""
        path: Path = self.home.environment.install_dir / "history"
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
            path.chmod(0o600)
            return path
        return None
