"""A noisy detection: so many alerts in an hour, and summaries that count the other hits exactly."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.detect.alerting import enqueue
from tailpipe.detect.hit_table import Hit
from tailpipe.detect.outbox import Alert, alerts_in, failed
from tailpipe.detect.state import State
from tailpipe.errors import ConfigError
from tailpipe.model.detection import Detection
from tailpipe.model.notifier import File, Slack
from tailpipe.model.option import Secret
from tailpipe.operations.detect import deliver
from tests.unit.detect.world import World

NOW = datetime(2024, 1, 1, 10, 20, tzinfo=UTC)
LOG = File(name="log", path="/log", alerts_per_hour=3)
CHAT = Slack(name="chat", webhook_url=Secret("https://example.com/"))


def hits(one: Detection, first: int, count: int) -> list[Hit]:
    times = [(number, datetime(2024, 1, 1) + timedelta(seconds=number)) for number in range(first, first + count)]
    return [Hit.of(one, [str(number)], "p", f"{number}", at) for number, at in times]


class Outbox:
    """The cursors from run to run."""

    def __init__(self, one: Detection) -> None:
        self.one, self.cursors, self.hits = one, dict[str, str](), 0

    def run(self, count: int, now: datetime) -> None:
        state = State(self.cursors)
        enqueue(state, self.one, hits(self.one, self.hits, count), now)
        self.hits += count
        self.cursors = {k: v for k, v in {**self.cursors, **state.changes}.items() if v is not None}

    def alerts(self, notifier: str = "notifier.file.log") -> list[Alert]:
        return [alert for alert in alerts_in(self.cursors) if alert.notifier == notifier]

    def deliver(self, now: datetime) -> list[tuple[int, bool]]:
        """What is due goes; how many hits each tells of, and whether it is a summary."""
        due = [alert for alert in self.alerts() if alert.is_due(now)]
        for alert in due:
            del self.cursors[alert.cursor]
        return [(alert.record["count"], "is_summary" in alert.record) for alert in due]


def outbox(*notify: File | Slack) -> Outbox:
    return Outbox(Detection(name="d", table="t", where="true", notify=notify or (LOG,)))


def test_what_is_beyond_the_limit_is_one_summary_and_a_later_one_gathers_the_rest_of_the_hour() -> None:
    box = outbox()
    box.run(2, NOW)
    assert box.deliver(NOW) == [(1, False), (1, False)]
    box.run(10, NOW)
    assert box.deliver(NOW) == [(1, False), (9, True)]
    for minute in range(1, 20):  # a run each minute
        box.run(5, NOW + timedelta(minutes=minute))
        assert box.deliver(NOW + timedelta(minutes=minute)) == []
    (summary,) = box.alerts()
    assert (summary.record["first_at"], summary.record["last_at"]) == (
        "2024-01-01T00:00:12.000000Z",
        "2024-01-01T00:01:46.000000Z",
    )
    assert (summary.record["id"], summary.record["tp_id"], summary.record["event"]) == (summary.hit, None, {})
    assert box.deliver(NOW.replace(hour=11, minute=0)) == [(95, True)]
    box.run(4, NOW.replace(hour=11, minute=1))
    assert box.deliver(NOW.replace(hour=11, minute=1)) == [(1, False), (1, False), (1, False), (1, True)]


def test_no_two_summaries_have_one_id_and_none_that_was_tried_changes() -> None:
    box = outbox()
    ids = []
    for minute in range(6):
        box.run(5, NOW + timedelta(minutes=minute))
        (summary,) = (alert for alert in box.alerts() if "is_summary" in alert.record)
        ids.append(summary.hit)
        box.cursors = {name: text for name, text in box.cursors.items() if name.startswith("rate/")}  # --retry
    assert len(set(ids)) == 6
    box.run(5, NOW + timedelta(minutes=8))
    (waiting,) = box.alerts()
    box.cursors[waiting.cursor] = failed(waiting, "the server answered 500", NOW).text  # it may have arrived
    box.run(5, NOW + timedelta(minutes=9))
    assert sorted(alert.record["count"] for alert in box.alerts()) == [5, 5]
    assert len({alert.hit for alert in box.alerts()}) == 2


def test_each_notifier_has_its_own_limit() -> None:
    box = outbox(LOG, CHAT)
    box.run(60, NOW)
    assert len(box.alerts()) == 4
    assert len(box.alerts("notifier.slack.chat")) == 51
    assert sum(alert.record["count"] for alert in box.alerts("notifier.slack.chat")) == 60


@pytest.mark.parametrize("number", [0, -1, 100_001])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, number: int) -> None:
    world = World(tmp_path, f'notifier "file" "x" {{\n path = "/x"\n alerts_per_hour = {number}\n}}\n')
    with pytest.raises(ConfigError) as caught:
        _ = world.open().config
    assert [one.message for one in caught.value.diagnostics] == ["alerts_per_hour must be from 1 to 100000"]


def test_all_hits_of_a_noisy_detection_are_stored_and_few_are_sent(tmp_path: Path) -> None:
    notifier = f'notifier "file" "log" {{\n path = "{tmp_path}/hits"\n alerts_per_hour = 5\n}}\n'
    rule = 'detection "all" {\n table = "app_log"\n where = "true"\n notify = [notifier.file.log]\n}\n'
    world = World(tmp_path, notifier + rule)
    world.begin()
    world.append(*({"user": str(number), "at": number} for number in range(500)))
    world.detect()
    assert deliver(world.open()).sent == 6
    lines = (tmp_path / "hits").read_text().splitlines()
    assert len(lines) == 6
    assert '"count": 495' in lines[-1]
    assert world.rows("SELECT count(*) FROM detection_hit") == [(500,)]


def test_a_very_long_key_is_cut_in_alerts_so_that_receivers_take_them() -> None:
    state, one = State({}), Detection(name="d", table="t", where="true", notify=(LOG,))
    hit = Hit.of(
        one, ["1"], "p", "1", datetime(2024, 1, 1), key=json.dumps(["zoë" * 100_000, {"a": 1}, 7]), event={"a": 1}
    )
    enqueue(state, one, [hit], NOW)
    (alert,) = alerts_in({name: text for name, text in state.changes.items() if text is not None})
    assert alert.record["key"] == [("zoë" * 134)[:400], '{"a": 1}', "7"]
    assert alert.record["key_is_truncated"] is True
    assert alert.record["event"] == {"a": 1}
    assert "key_is_truncated" not in outbox_of_short_keys()


def outbox_of_short_keys() -> str:
    box = outbox()
    box.run(1, NOW)
    return str(box.cursors)
