"""Sigma rules made of events: for each field that some event has, rules of many kinds about values that it has.

Compare the product with the independent evaluator on logs of your own:

    python -m tests.unit.detect.sigma_shapes FILE.json.gz…
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tailpipe.detect import trial
from tailpipe.detect.evaluate import evaluate
from tailpipe.detect.jail import open_jail
from tailpipe.detect.sigma import load_sigma
from tailpipe.errors import UsageError
from tailpipe.model.detection import NEW_ROWS, SigmaRules
from tailpipe.plugin.registry import Registry
from tests.unit.detect import sigma_oracle

Event = Mapping[str, Any]
REGISTRY = Registry.installed()
TABLE = REGISTRY.tables["aws_cloudtrail_log"]
_HEAD = "title: Rule\nlevel: high\nlogsource: {product: aws, service: cloudtrail}\ndetection:\n"
_EXACT = {"eventTime", "userIdentity.sessionContext.attributes.creationDate"}
"""Fields that a column holds as another type, so that the text of the log is not kept."""


def fields(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of an event as rules name them, with their values; arrays leave no trace in a name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from fields(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner, path)
    elif path:
        yield path, value


def rules_of(events: Sequence[Event], seed: int = 0) -> Iterator[str]:
    """Rules about each field of the events, whose values are of the events too."""
    choose, known = random.Random(seed), dict[str, list[Any]]()
    for event in events:
        for path, value in fields(event):
            known.setdefault(path, []).append(value)
    for path, values in sorted(known.items()):
        if path in _EXACT or re.search(r"[^\w.:/-]", path) or any(isinstance(one, dict) for one in values):
            continue
        value = choose.choice(values)
        yield _rule({f"{path}": value})
        yield _rule({f"{path}|exists": choose.choice([True, False])})
        yield _rule({f"{path}": None}, is_negated=True)
        if isinstance(value, str) and len(value) > 2:
            middle = value[1 : 1 + choose.randrange(1, min(len(value), 12))]
            yield _rule({f"{path}|contains": [_plain(middle.upper()), "no such text"]})
            yield _rule({f"{path}|startswith": _plain(value[:2].swapcase())}, is_negated=True)
            yield _rule({f"{path}|endswith|cased": _plain(value[-2:])})
            yield _rule({f"{path}|re": f"^{re.escape(value[:2])}.*{re.escape(value[-1])}$"})
        elif isinstance(value, int) and not isinstance(value, bool):
            yield _rule({f"{path}|gte": value})
            yield _rule({f"{path}|lt": value}, is_negated=True)


def _plain(text: str) -> str:
    """The text as a rule has it, where * and ? are wildcards."""
    return re.sub(r"([*?\\\\])", r"\\\1", text)


def _rule(selection: Mapping[str, Any], *, is_negated: bool = False) -> str:
    condition = "not sel" if is_negated else "sel"
    return f"{_HEAD}  sel: {json.dumps(selection)}\n  condition: {condition}\n"


def differences(events: Sequence[Event], rules: Sequence[str]) -> tuple[list[str], int, int]:
    """Rules that find something else than the evaluator; how many were compared, and how many events were found."""
    different, compared, hits = [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        for number, rule in enumerate(rules):
            (Path(name) / f"r{number:05d}.yml").write_text(rule)
        said: list[str] = []
        block = SigmaRules(name="s", paths=(name,), table=TABLE.name, keywords="user_agent")
        detections = load_sigma(block, TABLE, said.append)
    if said:
        raise UsageError("\n".join(said))
    text = json.dumps({"Records": list(events)})
    with open_jail([], {TABLE.name: TABLE}, detections.values()) as jail:
        rows = trial._rows(text, TABLE, REGISTRY.sources["file"], datetime.now(UTC))
        trial._show(jail, TABLE, [{**row, "tp_id": str(number)} for number, row in enumerate(rows)])
        results = evaluate(jail, list(detections.values()), ["event_name"], lambda *_: NEW_ROWS, {})
    for rule, result in zip(rules, results, strict=True):
        ours = sorted(int(hit.tp_id) for hit in result.hits)
        theirs = sigma_oracle.found(rule, events, {}, "userAgent")
        compared, hits = compared + 1, hits + len(theirs)
        if result.failure or ours != theirs:
            only = f"only here {sorted({*ours} - {*theirs})[:5]}, only there {sorted({*theirs} - {*ours})[:5]}"
            different.append(f"{rule}{result.failure or only}")
    return different, compared, hits


def main() -> int:
    events: list[Event] = []
    for name in sys.argv[1:]:
        data = Path(name).read_bytes()
        text = gzip.decompress(data) if name.endswith(".gz") else data
        events += json.loads(text)["Records"]
    rules, begin = list(rules_of(events)), time.process_time()
    different, compared, hits = differences(events, rules)
    print("\n".join(different[:20]))
    seconds = time.process_time() - begin
    print(f"{len(events)} events, {compared} rules, {hits} hits, {len(different)} differ, {seconds:.0f} s of CPU")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
