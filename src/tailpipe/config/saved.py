"""Saved queries of a config: its `query` blocks with their files, and the `.sql` files of its directories."""

from __future__ import annotations

import dataclasses
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from tailpipe.config.syntax import Block, Span
from tailpipe.config.text import ConfigText, Problem
from tailpipe.errors import Diagnostic, Note, Place, UsageError
from tailpipe.frozen import frozen
from tailpipe.model.names import check_reference_name
from tailpipe.model.saved import Flaw, QueryDirectory, SavedQuery, parameter_flaws, read_saved

_SIZE_LIMIT = 1_000_000


@frozen
class SavedQueries:
    """Reads what the blocks name; `report` keeps a diagnostic."""

    home: str
    report: Callable[[Diagnostic], None]

    def query(self, text: ConfigText, block: Block, query: SavedQuery) -> SavedQuery:
        """The query of a block, with the statement of its file; what is wrong with it is reported."""
        if (query.sql is None) == (query.file is None):
            both = "both sql and file" if query.sql is not None else "neither sql nor file"
            hint = "write the statement as sql, or name a file that holds it"
            self.report(text.diagnostic(Problem(f'query "{query.name}" has {both}', block.span, hint)))
            return query
        if query.file is not None:
            span = block.span_of("file")
            content = self._content(text, span, self.path(text, query.file), query.file)
            if content is None:
                return query
            before = content[: len(content) - len(content.lstrip())]
            query = dataclasses.replace(query, statement=content.strip(), line=before.count("\n"))
        if not query.text.strip():
            self.report(text.diagnostic(Problem(f'query "{query.name}" has no statement', block.span)))
        for flaw in parameter_flaws(query, 'param "{}" {{}}'):
            self.report(text.diagnostic(Problem(flaw.message, _flaw_span(text, block, flaw), flaw.hint)))
        return query

    def directory(
        self, text: ConfigText, block: Block, directory: QueryDirectory
    ) -> Iterator[tuple[Place, SavedQuery]]:
        """The queries of a directory, each with the place of its file."""
        span, path = block.span_of("path"), self.path(text, directory.path)
        try:
            files = sorted(file for file in path.iterdir() if file.suffix == ".sql" and not file.name.startswith("."))
        except OSError as error:
            message = f'cannot read the directory "{directory.path}": {error.strerror}'
            self.report(text.diagnostic(Problem(message, span)))
            return
        for file in files:
            shown = f"{directory.path.rstrip('/')}/{file.name}"
            try:
                check_reference_name(file.stem)
            except UsageError as error:
                self.report(Diagnostic(f"{error.message}, which a query needs", Place(shown, 0, 0), error.hint))
                continue
            content = self._content(text, span, file, shown)
            if content is None:
                continue
            query, flaws = read_saved(file.stem, content)
            for flaw in flaws:
                self.report(Diagnostic(flaw.message, _place(shown, content, flaw.span), flaw.hint))
            yield _place(shown, content, (0, 1)), dataclasses.replace(query, origin=str(file))

    def twice(self, query: SavedQuery, place: Place, first: Place) -> None:
        """Report a name that is taken."""
        note = Note("first defined here", first)
        self.report(Diagnostic(f'query "{query.name}" is defined twice', place, "rename the file", (note,)))

    def path(self, text: ConfigText, path: str) -> Path:
        """A path of a config: relative to its file, or below the home directory."""
        home = path == "~" or path.startswith("~/")
        expanded = Path(self.home + path[1:]) if home else Path(path)
        return expanded if expanded.is_absolute() or text.directory is None else text.directory / expanded

    def _content(self, text: ConfigText, span: Span, path: Path, shown: str) -> str | None:
        try:
            facts = path.stat()
            if not stat.S_ISREG(facts.st_mode):
                raise ValueError("it is not a file")
            if facts.st_size > _SIZE_LIMIT:
                raise ValueError(f"it is larger than {_SIZE_LIMIT:,} bytes")
            return path.read_text(encoding="utf-8-sig")
        except OSError as error:
            why = error.strerror
        except UnicodeDecodeError:
            why = "it is not UTF-8 text"
        except ValueError as error:
            why = str(error)
        self.report(text.diagnostic(Problem(f'cannot read "{shown}": {why}', span)))
        return None


def _place(file: str, content: str, span: Span) -> Place:
    """Where a span of a `.sql` file is: no config, so that it has no secrets to mask."""
    before = content[: span[0]]
    line = before.count("\n")
    written = content.split("\n")[line].rstrip("\r")
    column = len(before) - before.rfind("\n")
    return Place(file, line + 1, column, max(1, min(span[1] - span[0], len(written) - column + 1)), written)


def _flaw_span(text: ConfigText, block: Block, flaw: Flaw) -> Span:
    """The span of a flaw in the config: the name in the statement, else the declaration of the parameter."""
    declared = [one for one in block.inner("param") if one.labels and one.labels[0].text == flaw.name]
    if flaw.span == (0, 0) and declared:
        if flaw.message.startswith("the default"):
            return declared[-1].span_of("default")
        return declared[-1].labels[0].span
    start, end = block.span_of("sql")
    found = text.text.find(f"${flaw.name}", start, end)
    return (start, end) if found < 0 else (found, found + len(flaw.name) + 1)
