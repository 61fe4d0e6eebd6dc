"""The line of the shell: editing over several lines, highlighting, completion and history, by prompt_toolkit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from tailpipe.cli.shell import is_whole
from tailpipe.cli.shell_complete import Suggestion
from tailpipe.model.visible import visible

Suggest = Callable[[str, int], list[Suggestion]]


class _Completer(Completer):
    def __init__(self, suggest: Suggest) -> None:
        self._suggest = suggest

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        for one in self._suggest(document.text, document.cursor_position):
            yield Completion(one.text, -one.length, visible(one.text), visible(one.kind))


def open_prompt(history: Path | None, suggest: Suggest) -> Callable[[str], str]:
    """A function that reads one input; Ctrl-C raises `KeyboardInterrupt`, Ctrl-D `EOFError`."""
    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory() if history is None else FileHistory(str(history)),
        completer=_Completer(suggest),
        complete_while_typing=False,
        lexer=PygmentsLexer(SqlLexer),
        key_bindings=_keys(),
        multiline=True,
        prompt_continuation=lambda width, _line, _wraps: "> ".rjust(width),
    )
    return session.prompt


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        """End a whole statement, else the line; in the menu of completions, take the chosen one."""
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        elif is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys
