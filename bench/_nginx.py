"""Generate lines of nginx in its combined format, the same each time."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench._cloudtrail import FIRST

__all__ = ["write_file"]

_AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_3 like Mac OS X) AppleWebKit/605.1.15 Version/17.3 Mobile Safari/604.1",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "kube-probe/1.29",
    "curl/8.5.0",
    "-",
)
_PATHS = ("/", "/api/v1/orders/{}", "/api/v1/items?page={}", "/static/app.{}.js", "/search?q=caf%C3%A9+{}", "/healthz")
_METHODS = ("GET",) * 8 + ("POST", "PUT", "HEAD", "DELETE")
_STATUSES = (200,) * 14 + (201, 204, 301, 304, 304, 400, 401, 403, 404, 404, 499, 500, 502)
_REFERERS = ("-", "-", "https://shop.example.com/", "https://www.google.com/", "https://shop.example.com/cart?step={}")


def write_file(path: Path, first: float, seconds: float, lines: int, seed: int) -> Path:
    """Write so many lines; their times begin so many seconds after the first day and go on for `seconds`."""
    chance = random.Random(f"{seed}/{path.name}")
    number, bits = chance.random, chance.getrandbits
    begin = datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=UTC) + timedelta(seconds=first)
    hour, stamp, found = -1, "", []
    for line in range(lines):
        at = int(seconds * line / lines)
        if at // 3600 != hour:
            hour = at // 3600
            stamp = (begin + timedelta(hours=hour)).strftime("%d/%b/%Y:%H")
        a, b = bits(32), bits(32)
        page = _PATHS[b % 6].format(b >> 20)
        referer = _REFERERS[b % 5].format(a & 7)
        user = "-" if b & 15 else f"user{a % 90}"
        time = f"{stamp}:{at // 60 % 60:02d}:{at % 60:02d} +0000"
        found.append(
            f"{a >> 24}.{a >> 16 & 255}.{a >> 8 & 255}.{a & 255} - {user} [{time}]"
            f' "{_METHODS[a % 12]} {page} HTTP/{"2.0" if b & 1 else "1.1"}" {_STATUSES[int(number() * 27)]} {b & 65535}'
            f' "{referer}" "{_AGENTS[a % 6]}"\n'
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(found))
    return path
