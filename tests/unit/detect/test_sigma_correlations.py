"""Correlations of Sigma rules against references in Python over the raw events: ties, late rows, rows in portions."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tailpipe.detect import trial
from tailpipe.detect.evaluate import evaluate
from tailpipe.detect.jail import Jail, open_jail
from tailpipe.detect.past import Known, new_hits
from tailpipe.model.detection import NEW_ROWS, Detection
from tests.unit.detect import sigma_oracle
from tests.unit.detect.test_sigma import HEAD, REGISTRY, TABLE, loaded

START = datetime(2024, 1, 1)
SELECTIONS = (
    "sel: {eventName: ConsoleLogin}",
    "sel: {eventName|startswith: Create}",
    "sel: {errorCode: AccessDenied}",
)
SPAN = timedelta(seconds=20)
CASES = {
    "event_count": ("[r0, r1]", "condition: {gte: 3}"),
    "event_count_gt": ("r0", "condition: {gt: 1}"),
    "value_count": ("[r0, r1]", "condition: {gte: 2, field: userIdentity.userName}"),
    "temporal": ("[r0, r1, r2]", ""),
    "temporal_ordered": ("[r2, r0, r1]", "condition: {gte: 3}"),
}


def base(number: int) -> str:
    return (
        f"{HEAD}name: r{number}\nid: 00000000-0000-4000-8000-{number:012d}\n"
        f"detection:\n  {SELECTIONS[number]}\n  condition: sel\n"
    )


def correlation(case: str, more: str = "", group: str = "[sourceIPAddress]", span: str = "20s") -> str:
    rules, condition = CASES[case]
    kind = case.removesuffix("_gt")
    return (
        f"title: Many\nname: many\nlevel: high\ncorrelation:\n  type: {kind}\n  rules: {rules}\n"
        f"  group-by: {group}\n  timespan: {span}\n  {condition}\n{more}"
    )


def written(directory: Path, text: str) -> tuple[dict[str, Detection], list[str]]:
    parts = [base(number) for number in range(len(SELECTIONS))]
    (directory / "c.yml").write_text("\n---\n".join([*parts, text]))
    return loaded(directory)


def made(seed: int, count: int) -> list[dict[str, Any]]:
    """Events with many ties; pauses are now and then longer than the timespan. An event can meet two rules."""
    choose, at, found = random.Random(seed), START, []
    for _ in range(count):
        at += timedelta(seconds=choose.choice([0, 0, 1, 3, 8, 20, 21]))
        event = {
            "eventTime": f"{at.isoformat()}Z",
            "eventName": choose.choice(["ConsoleLogin", "CreateUser", "ListUsers", "createkey"]),
            "sourceIPAddress": choose.choice(["10.0.0.1", "10.0.0.2"]),
            "userIdentity": {"type": "IAMUser", "userName": choose.choice(["anna", "bob", "eve"])},
        }
        if choose.random() < 0.4:
            event["errorCode"] = "AccessDenied"
        found.append(event)
    return found


def at_of(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["eventTime"].removesuffix("Z"))


def episodes(case: str, events: Sequence[dict[str, Any]]) -> list[tuple[str, datetime, datetime]]:
    """Group, first and last time of each episode, by looking at every event for every event."""
    names = CASES[case][0].strip("[]").split(", ")
    meets = [set(sigma_oracle.found(base(int(name[1])), events, {}, "userAgent")) for name in names]
    found: list[tuple[str, datetime, datetime]] = []
    for group in sorted({event["sourceIPAddress"] for event in events}):
        own = [n for n, event in enumerate(events) if event["sourceIPAddress"] == group and any(n in m for m in meets)]
        for moment in sorted({at_of(events[n]) for n in own}):
            near = [n for n in own if moment - SPAN <= at_of(events[n]) <= moment]
            now = [n for n in near if at_of(events[n]) == moment]
            if not fires(case, near, now, meets, events):
                continue
            if found and found[-1][0] == group and moment - found[-1][2] <= SPAN:
                found[-1] = (group, found[-1][1], moment)
            else:
                found.append((group, moment, moment))
    return found


def fires(case: str, near: list[int], now: list[int], meets: list[set[int]], events: Sequence[dict[str, Any]]) -> bool:
    if case == "event_count":
        return len(near) >= 3
    if case == "event_count_gt":
        return len(near) > 1
    if case == "value_count":
        return len({events[n]["userIdentity"]["userName"] for n in near}) >= 2
    if case == "temporal":
        return all(meets[rule] & set(near) for rule in range(len(meets)))
    return any(chain(len(meets) - 1, n, near, meets, events) for n in now)


def chain(rule: int, last: int, near: list[int], meets: list[set[int]], events: Sequence[dict[str, Any]]) -> bool:
    """Whether events that are not later than one of this rule meet all rules before it, in order."""
    if last not in meets[rule]:
        return False
    if rule == 0:
        return True
    earlier = [n for n in near if at_of(events[n]) <= at_of(events[last])]
    return any(chain(rule - 1, n, earlier, meets, events) for n in earlier)


def runs(
    jail: Jail, one: Detection, portions: Sequence[Sequence[int]], rows: list[dict[str, Any]]
) -> list[tuple[str, datetime]]:
    """Group and time of hits over rows that come in portions, each counted in all that have come."""
    stored: list[Known] = []
    come: list[int] = []
    for portion in portions:
        come += portion
        trial._show(jail, TABLE, [rows[n] for n in sorted(come)])
        jail.connection.execute(f"CREATE OR REPLACE TEMP TABLE all_rows AS FROM {NEW_ROWS}")
        trial._show(jail, TABLE, [rows[n] for n in portion])
        (found,) = evaluate(jail, [one], ["event_name"], lambda *_: "all_rows", {})
        assert found.failure == ""
        stored += [Known(hit.id, one.name, hit.key, hit.at) for hit in new_hits(one, found.hits, stored)]
    return sorted((json.loads(one.key or "")[0], one.at) for one in stored)


def portions_of(seed: int, count: int) -> list[list[int]]:
    """The numbers of events in portions of which the last has late ones from everywhere."""
    choose = random.Random(seed)
    late = set(choose.sample(range(count), count // 5))
    order = [n for n in range(count) if n not in late]
    return [order[: len(order) // 2], order[len(order) // 2 :], sorted(late)]


@pytest.mark.parametrize(
    ("case", "seeds"),
    [
        ("value_count", range(1)),
        ("temporal_ordered", range(1)),
        *(pytest.param(case, range(1, 4), marks=pytest.mark.slow) for case in CASES),
    ],
)
def test_a_correlation_finds_the_episodes_of_the_reference(tmp_path: Path, case: str, seeds: range) -> None:
    detections, said = written(tmp_path, correlation(case))
    assert said == []
    (one,) = (one for one in detections.values() if one.is_counting)
    total = 0
    with open_jail([], {TABLE.name: TABLE}, [one]) as jail:
        for seed in seeds:
            events = made(seed, 60)
            parsed = trial._rows(json.dumps({"Records": events}), TABLE, REGISTRY.sources["file"], datetime.now(UTC))
            rows = [{**row, "tp_id": f"{number:04d}"} for number, row in enumerate(parsed)]
            whole = episodes(case, events)
            assert runs(jail, one, [range(60)], rows) == [(group, first) for group, first, _ in whole]
            portions = portions_of(seed, 60)
            in_time = episodes(case, [events[n] for n in sorted(portions[0] + portions[1])])
            assert runs(jail, one, portions[:2], rows) == [(group, first) for group, first, _ in in_time]
            # Late rows raise the episodes that were none; of episodes that they join, the hits stay.
            late = runs(jail, one, portions, rows)
            for group, first, last in whole:
                before = [at for name, at, _ in in_time if name == group and first <= at <= last]
                after = [at for name, at in late if name == group and first <= at <= last]
                assert after == (before or [first])
            assert len(late) == len(set(late)) >= len(whole)
            total += len(whole)
    assert total > 1


def test_an_alias_groups_rows_by_the_field_of_the_rule_that_they_meet(tmp_path: Path) -> None:
    aliases = (
        "  aliases: {who: {r0: userIdentity.userName, r1: requestParameters.userName, r2: userIdentity.userName}}\n"
    )
    detections, said = written(tmp_path, correlation("temporal_ordered", aliases, "[who]"))
    assert said == []
    (one,) = (one for one in detections.values() if one.is_counting)
    events = [
        {"eventName": "ListUsers", "errorCode": "AccessDenied", "userIdentity": {"userName": "anna"}},
        {"eventName": "ConsoleLogin", "userIdentity": {"userName": "anna"}},
        {"eventName": "CreateUser", "userIdentity": {"userName": "x"}, "requestParameters": {"userName": "anna"}},
    ]
    text = json.dumps({"Records": [{"eventTime": "2024-01-01T00:00:00Z", **event} for event in events]})
    with open_jail([], {TABLE.name: TABLE}, [one]) as jail:
        rows = trial._rows(text, TABLE, REGISTRY.sources["file"], datetime.now(UTC))
        assert runs(jail, one, [range(3)], rows) == [("anna", START)]
        assert runs(jail, one, [range(2)], rows) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (correlation("value_count").replace("value_count", "value_sum"), "type value_sum with gte are not supported"),
        (correlation("event_count").replace("gte", "lt"), "type event_count with lt are not supported"),
        (correlation("temporal", "  condition: r0 and not r1 and r2\n"), "conditions over the rules"),
        (correlation("temporal_ordered").replace("gte: 3", "gte: 2"), "a count other than that of its rules"),
        (correlation("temporal").replace("[r0, r1, r2]", "[r0]"), "must have 2 to 20 rules"),
        (correlation("event_count", span="2y"), 'the timespan "2y" is longer than 366 days'),
        (correlation("event_count", group="[nobody]"), 'has no field "nobody"'),
        (
            correlation("temporal", "  aliases: {who: {r0: eventName}}\n", "[who]"),
            'the alias "who" names no field of the rule "r1"',
        ),
        (correlation("event_count").replace("[r0, r1]", "[r0, other]"), "other"),
        (correlation("event_count").replace("[r0, r1]", "many"), "correlations of correlations are not supported"),
    ],
)
def test_a_correlation_that_is_not_supported_is_left_out_with_its_place(
    tmp_path: Path, text: str, message: str
) -> None:
    found, said = written(tmp_path, text)
    assert not any(one.is_counting for one in found.values())
    assert len(said) == 1
    assert said[0].startswith(f"{tmp_path}/c.yml:")
    assert message in said[0]
