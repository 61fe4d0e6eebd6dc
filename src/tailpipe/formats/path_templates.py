"""Layouts: paths of files become templates, in which dates, numbers and ids are left open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tailpipe.frozen import frozen

_MOST = 0.9
"""The part of the paths that must have a date for a layout to be proposed."""
_ANY = "%{DATA}"

_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst)$", re.IGNORECASE)
_ROTATED = re.compile(
    r"(?P<stem>.*(?:\.(?:log|txt|json|jsonl|csv|out|err)|/(?:syslog|messages|secure|maillog)))[.-]\d[\d-]*$"
)
_DATE = re.compile(
    r"(?<![0-9])(?P<y>(?:19|20)[0-9]{2})(?P<s>[-_/.]?)(?P<m>0[1-9]|1[0-2])(?P=s)(?P<d>0[1-9]|[12][0-9]|3[01])(?![0-9])"
    r"|(?P<hy>y(?:ear)?=)(?:19|20)[0-9]{2}/(?P<hm>m(?:onth)?=)[0-9]{1,2}/(?P<hd>d(?:ay)?=)[0-9]{1,2}"
    r"|(?<![0-9])(?P<ty>(?:19|20)[0-9]{2})(?P<tm>0[1-9]|1[0-2])(?P<td>0[1-9]|[12][0-9]|3[01])(?=T?[0-9]{2,6}(?![0-9]))"
)
_ID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|(?=[0-9a-fA-F]*[0-9])(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}")
_NUMBER = re.compile(r"[0-9]+")
_SPECIAL = re.compile(r"([\\.+*?()|\[\]{}^$%])")
_YEAR, _MONTH, _DAY = "%{YEAR:year}", "%{MONTHNUM:month}", "%{MONTHDAY:day}"


@frozen
class Template:
    """What the paths of some files have in common; `layout` matches them all."""

    pattern: str
    """The layout without what compression and rotation add to a name."""
    is_dated: bool
    is_rotated: bool = False

    @property
    def layout(self) -> str:
        """The path as a grok pattern; what is not compressed yet may be later."""
        rotated = r"([.-][0-9-]+)?" if self.is_rotated else ""
        return self.pattern + rotated + r"(\.(gz|bz2|xz|zst))?"

    @property
    def family(self) -> tuple[str, str, bool]:
        """What files that differ in their names alone have in common: directory, extension, a date in the former."""
        directory, _, name = self.pattern.rpartition("/")
        return directory, name.rpartition(r"\.")[2] if r"\." in name else "", self.is_dated and "year}" in directory

    @property
    def any_name(self) -> Template:
        """The template for all names with that extension in the directory."""
        directory, extension, _ = self.family
        name = r"[^/]*" + (rf"\.{extension}" if extension else "")
        return replace(self, pattern=f"{directory}/{name}" if directory else name, is_dated="year}" in directory)

    @classmethod
    def merged(cls, templates: Iterable[Template]) -> Template:
        """One for all of these, which have the same pattern."""
        known = list(templates)
        return cls(known[0].pattern, known[0].is_dated, any(one.is_rotated for one in known))


def template_of(path: str) -> Template:
    """The template of one path."""
    plain = _PACKED.sub("", path)
    rotated = _ROTATED.fullmatch("/" + plain)
    stem = rotated["stem"][1:] if rotated else plain
    match = _DATE.search(stem)
    if match is None:
        return Template(_opened(stem), False, rotated is not None)
    pattern = _opened(stem[: match.start()]) + _dated(match) + _opened(stem[match.end() :])
    return Template(pattern, True, rotated is not None)


def _dated(match: re.Match[str]) -> str:
    if match["y"]:
        mark = _escaped(match["s"])
        return f"{_YEAR}{mark}{_two(_MONTH, mark)}{mark}{_DAY}"
    if match["ty"]:
        return f"{_YEAR}{_two(_MONTH, '')}{_DAY}"
    return f"{match['hy']}{_YEAR}/{match['hm']}{_MONTH}/{match['hd']}{_DAY}"


def _two(month: str, mark: str) -> str:
    """The month with both its digits, where nothing else says where it ends."""
    return month if mark else month.replace("MONTHNUM", "MONTHNUM2")


def _opened(text: str) -> str:
    """A part of a path as a pattern, with numbers and ids left open."""
    pieces, position = [], 0
    found: Sequence[re.Match[str]] = sorted(
        [*_ID.finditer(text), *_NUMBER.finditer(text)], key=lambda one: (one.start(), -one.end())
    )
    for match in found:
        if match.start() < position:
            continue
        pieces.append(_escaped(text[position : match.start()]))
        pieces.append("[0-9]+" if _NUMBER.fullmatch(match[0]) else "[0-9a-fA-F-]+")
        position = match.end()
    return "".join([*pieces, _escaped(text[position:])])


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def date_layout(paths: Sequence[str]) -> tuple[str, int] | None:
    """A layout for files most of whose paths have a date, and how many have one; None if few have.

    It matches all of the paths, so that no file is skipped for it; those without a date stay undated.
    """
    if sum(_DATE.search(path) is not None for path in paths) < _MOST * len(paths):
        return None  # each collection asks for it, so most files must not cost a template
    templates = [template_of(path) for path in paths]
    dated = {one.pattern for one in templates if one.is_dated}
    count = sum(one.is_dated for one in templates)
    if not dated or count < _MOST * len(paths):
        return None
    if len(dated) == 1:
        made = Template.merged(one for one in templates if one.is_dated).layout
        return made if count == len(paths) else f"{made}|{_ANY}", count
    dates = {_dated(match) for path in paths if (match := _DATE.search(path))}
    if len(dates) > 1:
        return None  # more than one source would be needed
    made = f"{_ANY}{dates.pop()}{_ANY}"
    return made if count == len(paths) else f"{made}|{_ANY}", count
