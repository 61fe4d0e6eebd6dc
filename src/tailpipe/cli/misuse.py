"""Misuse of the command line: what click says of it, in our words. The one place that does so, for all commands."""

from __future__ import annotations

import re

import click

from tailpipe.model.nearest import did_you_mean

_GIVEN = re.compile(r"(['\"]?)(.*)\1 is not (?:a valid|in the range|one of)", re.DOTALL)


def message_of(failure: click.ClickException) -> str:
    """The message, with the name that was probably meant."""
    if isinstance(failure, click.NoSuchOption):
        near = f', did you mean "{failure.possibilities[0]}"?' if failure.possibilities else ""
        return f'unknown flag "{failure.option_name}"{near}'
    if name := getattr(failure, "command_name", ""):  # newer versions of click have a class for it
        near = did_you_mean(name, getattr(failure, "possibilities", None) or ())
        return f'unknown command "{name}"' + (f", {near}" if near else "")
    if isinstance(failure, click.BadOptionUsage):
        return f"{failure.option_name} {'needs a' if 'requires' in failure.message else 'takes no'} value"
    if isinstance(failure, click.BadParameter) and (given := _GIVEN.match(failure.message)) and failure.param:
        flag, kind, word = _name(failure.param), failure.param.type, given[2]
        if isinstance(kind, click.types.IntParamType):
            least = (
                f" of at least {kind.min}" if isinstance(kind, click.IntRange) and "range x" in failure.message else ""
            )
            return f'{flag} must be an integer{least}, not "{word}"'
        if isinstance(kind, click.Choice):
            *others, last = kind.choices
            near = did_you_mean(word, kind.choices)
            return f'{flag} must be {", ".join(others)} or {last}, not "{word}"' + (f", {near}" if near else "")
    message = " ".join(failure.format_message().split())
    return message[:1].lower() + message[1:].rstrip(".")


def _name(parameter: click.Parameter) -> str:
    return parameter.opts[-1] if parameter.opts and parameter.opts[-1].startswith("-") else f"the {parameter.name}"
