#!/usr/bin/env python3
"""Make logs to try tailpipe on: a small web shop, its traffic and its web server, day by day up to now.

    python make_logs.py TARGET [--days 30] [--seed 1] [--now 2024-01-31T10:00]

    TARGET/app/2024-01-31.jsonl                    the shop: one JSON object in each line
    TARGET/flow/2024/01/31/eni-0a1b.log.gz         its network: values with blanks between them
    TARGET/access/access-20240131.log              its web server: the combined layout, with some bad lines

The same seed and time give the same bytes. A day depends on nothing but itself, so a later run only adds:
the lines of today that have been written since, and new days. Logs older than a week are compressed, as
logrotate would have done.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from random import Random

PATHS = ["/", "/", "/", "/search", "/cart", "/cart", "/item/17", "/item/42", "/item/99", "/pay", "/login", "/about"]
USERS = ["anna", "ben", "chloe", "deniz", "emil", "fatima", "georg", "hanna"]
CLIENTS = [f"203.0.113.{n}" for n in range(10, 60)] + ["2001:db8::17", "2001:db8::2a"]
INTRUDER = "198.51.100.66"
SERVERS = {"eni-0a1b": "10.0.1.5", "eni-0c2d": "10.0.2.9"}
AGENTS = ["Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0", "Mozilla/5.0 (iPhone) Safari/605.1", "curl/8.5.0"]
FLOW_FIELDS = (
    "version account_id interface_id srcaddr dstaddr srcport dstport protocol packets bytes start end action log_status"
)
Line = tuple[datetime, str]


def moments(chance: Random, day: date, count: int) -> list[datetime]:
    """Times of a day in order, more of them in the afternoon than at night."""
    begin = datetime.combine(day, time(), UTC)
    seconds = sorted(chance.triangular(0, 86_399, 54_000) for _ in range(count))
    return [begin + timedelta(seconds=round(second, 3)) for second in seconds]


def app_lines(chance: Random, day: date) -> Iterator[Line]:
    """What the shop writes. A message of the last second before midnight lands in the next day's file."""
    midnight = datetime.combine(day, time(), UTC)
    for moment in [midnight - timedelta(milliseconds=chance.randint(50, 900)), *moments(chance, day, 400)]:
        path = chance.choice(PATHS)
        level = chance.choices(["debug", "info", "warn", "error"], [10, 80, 7, 3])[0]
        record: dict[str, object] = {
            "time": f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z",
            "level": level,
            "message": "payment provider did not answer" if level == "error" else f"served {path}",
            "duration_ms": round(chance.lognormvariate(3, 0.8) * (20 if level == "error" else 1), 1),
            "path": path,
            "user": chance.choice(USERS),
        }
        if path == "/pay":
            record["order"] = {"id": chance.randint(1000, 9999), "total": round(chance.uniform(5, 300), 2)}
        yield max(moment, midnight), json.dumps(record)


def flow_lines(chance: Random, day: date, interface: str) -> Iterator[Line]:
    """What the network saw. A flow is written when it ends, so the first ones have begun the day before."""
    for number, moment in enumerate(moments(chance, day, 300)):
        is_intruder = chance.random() < 0.04
        source = INTRUDER if is_intruder else chance.choice(CLIENTS)
        packets = chance.randint(1, 400)
        begun = moment if number else datetime.combine(day, time(), UTC) - timedelta(seconds=30)
        start = int(begun.timestamp())
        values: list[object] = [
            *(2, "123456789012", interface, source, SERVERS[interface]),
            *(chance.randint(32_768, 60_999), 22 if is_intruder else 443, 6),
            *(packets, packets * chance.randint(60, 900)),
            *(start, start + chance.randint(1, 60), "REJECT" if is_intruder else "ACCEPT", "OK"),
        ]
        if chance.random() < 0.01:  # an interval in which nothing was seen
            values[3:10] = ["-"] * 7
            values[12:] = ["-", "NODATA"]
        yield max(moment, begun), " ".join(str(value) for value in values)


def access_lines(chance: Random, day: date) -> Iterator[Line]:
    """What the web server wrote, with health checks, and with a few lines that are no requests at all."""
    for moment in moments(chance, day, 600):
        stamp = f"{moment:%d/%b/%Y:%H:%M:%S} +0000"
        if chance.random() < 0.003:  # someone speaks TLS to the plain port, or the disk was full
            bad = [f'{INTRUDER} - - [{stamp}] "\\x16\\x03\\x01\\x02" 400 157 "-" "-"', f'{INTRUDER} - - [{stamp}] "GE']
            yield moment, chance.choice(bad)
            continue
        if chance.random() < 0.1:
            yield moment, f'10.0.0.1 - - [{stamp}] "GET /health HTTP/1.1" 200 2 "-" "kube-probe/1.30"'
            continue
        is_intruder = chance.random() < 0.05
        client = INTRUDER if is_intruder else chance.choice(CLIENTS)
        path = "/login" if is_intruder else chance.choice(PATHS)
        status = 401 if is_intruder else chance.choices([200, 302, 404, 500], [90, 5, 4, 1])[0]
        user = "-" if is_intruder or chance.random() < 0.6 else chance.choice(USERS)
        method = "POST" if path in ("/login", "/pay") else "GET"
        size = "-" if status == 302 else chance.randint(200, 40_000)
        agent = "python-requests/2.32" if is_intruder else chance.choice(AGENTS)
        yield moment, f'{client} - {user} [{stamp}] "{method} {path} HTTP/1.1" {status} {size} "-" "{agent}"'


def write(path: Path, lines: Iterable[Line], now: datetime, *, header: str = "", is_packed: bool) -> int:
    """Write the lines that are not in the future; the number of bytes."""
    texts = [*([header] if header else []), *(text for moment, text in lines if moment <= now)]
    data = "".join(f"{text}\n" for text in texts).encode()
    if is_packed:
        data = gzip.compress(data, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return len(data)


def make_day(target: Path, day: date, now: datetime, seed: int) -> int:
    """Write all logs of a day; the number of bytes."""

    def chance(kind: str) -> Random:
        return Random(f"{seed} {kind} {day}")  # noqa: S311 - nothing to protect here

    is_old = (now.date() - day).days > 7
    end = ".gz" if is_old else ""
    size = write(target / f"app/{day}.jsonl{end}", app_lines(chance("app"), day), now, is_packed=is_old)
    for interface in SERVERS:
        path = target / f"flow/{day:%Y/%m/%d}/{interface}.log.gz"
        lines = flow_lines(chance(interface), day, interface)
        size += write(path, lines, now, header=FLOW_FIELDS, is_packed=True)
    path = target / f"access/access-{day:%Y%m%d}.log{end}"
    return size + write(path, access_lines(chance("access"), day), now, is_packed=is_old)


def main() -> None:
    """Read the command line and write the files."""
    parser = argparse.ArgumentParser(description="Make logs of a small web shop, to try tailpipe on.")
    parser.add_argument("target", type=Path, help="directory to write into")
    parser.add_argument("--days", type=int, default=30, help="how many days, the last one being today (30)")
    parser.add_argument("--seed", type=int, default=1, help="another number gives other logs (1)")
    parser.add_argument("--now", type=datetime.fromisoformat, help="a time in UTC to end at, if not the present")
    given = parser.parse_args()
    now = given.now.replace(tzinfo=UTC) if given.now else datetime.now(UTC)
    size = sum(make_day(given.target, now.date() - timedelta(days=n), now, given.seed) for n in range(given.days))
    print(f"{given.days} days of logs, {size / 1e6:.1f} MB, in {given.target}")  # noqa: T201


if __name__ == "__main__":
    main()
