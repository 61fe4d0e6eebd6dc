"""Secrets in text that other programs and people wrote: found by their shape, or because their value is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

DOTS = "•••"
SECRET_WORDS = ("secret", "passw", "token", "credential", "private", "api[_-]?key", "access[._-]?key")
"""What the name of a secret holds, as regular expressions."""

_LEAST = 4
"""Shorter values are no secrets, and would turn up in every other word."""
_LEAST_GUESSED = 8
_LOOKS_SECRET = re.compile("|".join(SECRET_WORDS), re.IGNORECASE)
_NOT_SECRET = re.compile(r"access_?key_?id$|[._-](?:file|path|uri|url|dir|name|type)$", re.IGNORECASE)
_HEADERS = r"(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token|x-amz-(?:security|s3session)-token"
_KEYS = (
    r"(?:aws_?)?secret_?(?:access_?)?key|client_?secret|(?:session|security|access|refresh|id|auth)_?token"
    r"|external_?id|passw(?:or)?d|passphrase|api_?key|private_?key|(?:x-amz-)?signature|(?:x-amz-)?security-token"
)
_BETWEEN = r"""(?:[\\]?["'])?(?:>|\s{0,8}(?:=>|[:=]|%3[AD])\s{0,8}(?:b?[\\]?["'])?|(?<=["'])\s{0,8},\s{0,8}b?["'])"""
_WORDS = "|".join(SECRET_WORDS)
_EVIDENT = (
    r"""(?<=://)[^\s/?#@:"'<>]{0,256}:(?!\d{1,5}/)(?P<url>[^\s?#"'<>]{1,1024})(?=@)"""
    r"""|(?<=://)(?P<user>[^\s/?#@:"'<>]{20,1024})(?=@)"""
    rf"""|\b(?:{_HEADERS}){_BETWEEN}(?!env\(|file\()(?P<header>[^"'\r\n\\<>]+)"""
    r"""|\b(?:bearer|basic)\s{1,8}(?P<scheme>(?=[\w.~+/-]*[\d=])[\w.~+/=-]{8,})"""
    r"""|\b(?P<jwt>eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"""
    r"""|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?P<pem>[^-]+)"""
    rf"""|(?<=[?&])(?P<parameter>(?=[\w.-]{{0,64}}(?:{_WORDS}))[\w.-]{{1,128}})=(?P<query>[^\s&#"'<>]+)"""
    r"""|(?<=[?&])(?:x-amz-|x-goog-)?sig(?:nature)?=(?P<signed>[^\s&#"'<>]+)"""
    rf"""|(?<![\w-])--?(?P<flag>(?=[\w-]{{0,64}}(?:{_WORDS}))[\w-]{{1,128}})"""
    r"""(?:=|[ \t]{1,8}|["'][ \t]{0,8},[ \t]{0,8}["'])(?P<argument>[^\s"',-][^\s"',]*)"""
)
_NAMED = rf"""(?<![a-z0-9])(?:{_KEYS}){_BETWEEN}(?P<key>[^\s"'<>&,;\\)\]}}]+)"""


@cache
def _shapes(named: bool) -> re.Pattern[str]:
    """Compiled when the first text is looked at, because that takes milliseconds and most runs have none."""
    return re.compile(f"{_EVIDENT}|{_NAMED}" if named else _EVIDENT, re.IGNORECASE)


def looks_secret(name: str) -> bool:
    """Whether an option or a variable of that name most likely holds a secret."""
    return _LOOKS_SECRET.search(name) is not None and _NOT_SECRET.search(name) is None


def secret_spans(text: str, *, named: bool = True) -> Iterator[tuple[int, int]]:
    """The spans of secrets of a well-known shape: headers, passwords in URLs, tokens, private keys, `--password x`.

    With `named`, also what is assigned to a name such as `SecretAccessKey`, in JSON, XML, forms and logs.
    """
    for match in _shapes(named).finditer(text):
        name = match["parameter"] or match["flag"]
        if name is None or looks_secret(name):
            yield match.span(match.lastgroup or 0)


def redacted(text: str, *, named: bool = True) -> str:
    """The text with dots in place of every secret of a well-known shape, and `named` ones."""
    parts, end = [], 0
    for first, last in secret_spans(text, named=named):
        parts += [text[end:first], DOTS]
        end = last
    return "".join([*parts, text[end:]])


def redacted_arguments(arguments: Iterable[str]) -> list[str]:
    """The arguments of a program, redacted each for itself and as the value of the flag before it."""
    shown: list[str] = []
    flag = ""
    for one in arguments:
        is_value = looks_secret(flag) and not one.startswith("-")
        shown.append(DOTS if is_value else redacted(one, named=False))
        flag = one if one.startswith("-") and "=" not in one else ""
    return shown


def secrets_of(env: Mapping[str, str]) -> list[str]:
    """The values of environment variables that are secrets, or look like one by their name."""
    return [value for name, value in env.items() if looks_secret(name) and len(value) >= _LEAST_GUESSED]


class Redactor:
    """Takes secrets out of text: those of a well-known shape, and values that it has learnt, however encoded."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Know these secrets from now on; one of less than four characters is too short to look for."""
        known = len(self._values)
        for value in values:
            for one in {value, *value.splitlines()}:
                if len(one.strip()) >= _LEAST:
                    self._values |= set(_encodings(one.strip()))
        if len(self._values) == known:
            return
        longest = sorted(self._values, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest)))

    def without_known(self, text: str) -> str:
        """The text with dots in place of the values that it has learnt."""
        return self._pattern.sub(DOTS, text) if self._pattern else text

    def __call__(self, text: str) -> str:
        """The text with dots in place of every secret."""
        return redacted(self.without_known(text))


REDACTOR = Redactor()
"""The one of this process, for what has no owner either: its loggers, and what it prints about failures."""


def _encodings(value: str) -> Iterator[str]:
    """A value as URLs, forms, JSON, XML and the `repr` of Python encode it."""
    import json  # late, because most runs have no secret to look for
    from urllib.parse import quote, quote_plus
    from xml.sax.saxutils import escape

    yield from (value, quote(value, safe=""), quote(value), quote_plus(value))
    yield from (json.dumps(value)[1:-1], repr(value)[1:-1], escape(value))
