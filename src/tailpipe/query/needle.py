"""What `tailpipe search` looks for: an address, a network or a text, as conditions on the columns of a table."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.sql.quoting import literal, quoted, text_list

_ADDRESSES = ("tp_source_ip", "tp_destination_ip")
_NAMES = ("tp_usernames", "tp_emails", "tp_domains", "tp_akas", "tp_tags", "tp_host", "tp_service", "tp_message")
"""The common columns that say who and what; those of tailpipe's own bookkeeping would match whole files."""
_TEXTS = re.compile(r"VARCHAR|JSON|UUID|STRUCT|MAP|.*\[\d*\]$", re.DOTALL)
_INTEGERS = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)")
_ENDS = {4: (r"(^|[^0-9.])", r"($|[^0-9.]|\.($|[^0-9]))"), 6: (r"(^|[^0-9a-f:.])", r"($|[^0-9a-f:])")}
"""What comes before and after an address that is not part of another one."""
_INTEGER = re.compile(r"-?\d{1,38}")


@frozen
class Needle:
    """What is looked for. `spellings` are the texts that mean it, in lower case; a network has none."""

    text: str
    spellings: tuple[str, ...]
    address_version: int = 0
    """4 or 6 for an address, 0 for anything else."""
    network: str = ""

    @classmethod
    def parse(cls, text: str) -> Needle:
        """An address, a network in CIDR notation, or any other text."""
        wanted = text.strip()
        if not wanted:
            raise UsageError("nothing to search for", hint="pass a text, an IP address or a user")
        try:
            if "/" in wanted:
                return cls(wanted, (), network=str(ipaddress.ip_network(wanted, strict=False)))
            address = ipaddress.ip_address(wanted)
            if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
                address = address.ipv4_mapped  # as which it is stored; its IPv6 spelling contains it
                wanted = str(address)
        except ValueError:
            return cls(wanted, (wanted.lower(),))
        spellings = dict.fromkeys([address.compressed, address.exploded, wanted.lower()])
        return cls(wanted, tuple(spellings), address.version)

    def conditions(self, columns: Mapping[str, str], *, in_common: bool = False) -> dict[str, str]:
        """A condition for each column that may hold it, by DuckDB type; `in_common` skips the table's own columns."""
        found = {name: test for name, kind in columns.items() if (test := self._common(name, kind))}
        if not in_common and not self.network:
            own = {name: self._own(name, kind) for name, kind in columns.items() if not name.startswith("tp_")}
            found = {**{name: test for name, test in own.items() if test}, **found}
        return found

    def around(self, column: str, kind: str, room: int) -> str:
        """SQL that cuts the text of a column of some type so that what was found is in it."""
        text = _text(column, kind)
        places = [f"nullif(instr(lower({text}), {literal(one)}), 0)" for one in self.spellings] or ["1"]
        return f"substr({text}, greatest(1, coalesce({', '.join(places)}, 1) - {room // 4}), {room})"

    def _common(self, name: str, kind: str) -> str:
        column = quoted(name)
        if name in _ADDRESSES or name == "tp_ips":
            return self._address(column, is_list=name == "tp_ips")
        if self.network:
            return ""
        if name == "tp_id":
            return f"{column} = {literal(self.text)}"
        return self._holds(_text(name, kind)) if name in _NAMES else ""

    def _address(self, column: str, *, is_list: bool) -> str:
        if self.network:
            inside = f"TRY_CAST({{}} AS INET) <<= {literal(self.network)}::INET"
            if is_list:
                return f"len(list_filter({column}, lambda _one: {inside.format('_one')})) > 0"
            return inside.format(column)
        if not self.address_version:
            return ""
        among = text_list(self.spellings)
        return f"list_has_any({column}, {among})" if is_list else f"list_contains({among}, {column})"

    def _own(self, name: str, kind: str) -> str:
        if _TEXTS.match(kind):
            return self._holds(_text(name, kind))
        if _INTEGERS.fullmatch(kind) and _INTEGER.fullmatch(self.text):
            return f"CAST({quoted(name)} AS VARCHAR) = {literal(self.text)}"
        return ""

    def _holds(self, text: str) -> str:
        """Whether a text contains it, in any case; an address only if it is not part of another one."""
        text = f"lower({text})"
        tests = [f"contains({text}, {literal(one)})" for one in self.spellings]
        if self.address_version:
            before, behind = _ENDS[self.address_version]
            tests = [
                f"({test} AND regexp_matches({text}, {literal(before + re.escape(one) + behind)}))"
                for test, one in zip(tests, self.spellings, strict=True)
            ]
        return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"


def _text(column: str, kind: str) -> str:
    """A column as text; of a list without the quotes that a cast puts around some of its values."""
    return f"array_to_string({quoted(column)}, ', ')" if kind == "VARCHAR[]" else f"CAST({quoted(column)} AS VARCHAR)"
