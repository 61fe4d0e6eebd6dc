"""CloudWatch log groups, collected from a server: all events of the window, each once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tailpipe.query.rejected import rejected_rows
from tests.aws.cloudwatch.conftest import TODAY, Group, at


def day(days: int) -> str:
    return str((TODAY - timedelta(days=days)).date())


def test_a_second_run_adds_nothing_and_a_later_one_only_what_is_late(group: Group) -> None:
    group.say("a", 1, "one", "two", "two")  # the same words twice in one millisecond are two events
    group.say("b", 2, "three")
    summary = group.collect()
    assert summary.is_done
    assert group.world.rows() == ["one", "three", "two", "two"]
    assert group.world.rows("tp_source_location, tp_source_name") == sorted(
        [*[("a", group.name)] * 3, ("b", group.name)]
    )
    assert not group.world.has_twins()

    ids = group.world.rows("tp_id")
    again = group.collect()
    assert (again.accounts.kept, again.accounts.duplicate) == (0, 4)
    assert group.world.rows("tp_id") == ids

    group.say("a", 1, "late", clock="03:00:00.000")
    late = group.collect()
    assert (late.accounts.kept, late.accounts.duplicate) == (1, 4)
    assert group.world.rows() == ["late", "one", "three", "two", "two"]
    assert set(ids) < set(group.world.rows("tp_id"))


def test_a_day_that_is_settled_is_not_asked_for_again(group: Group) -> None:
    group.say("a", 4, "old")
    group.collect(day(4), day(4))
    group.say("a", 4, "too late", clock="11:00:00.000")
    assert group.collect(day(4), day(4)).skipped == {"complete when last requested: use --overwrite": 1}
    assert group.world.rows() == ["old"]


def test_both_ends_of_the_window_hold_to_the_millisecond(group: Group) -> None:
    for clock in ("00:00:00.000", "23:59:59.999"):
        for days in (2, 3, 4, 5):
            group.say("a", days, f"{days} {clock}", clock=clock)
    group.collect(day(4), day(3))
    assert group.world.rows() == ["3 00:00:00.000", "3 23:59:59.999", "4 00:00:00.000", "4 23:59:59.999"]
    assert group.world.rows("DISTINCT tp_date::VARCHAR") == [day(4), day(3)]


def test_streams_are_chosen_by_wildcards_and_a_bracket_is_just_a_bracket(group: Group) -> None:
    for stream in ("2024/[$LATEST]a", "2024/[$LATEST]b", "2024/[1]a", "web-1", "web-2", "web-10"):
        group.say(stream, 1, stream)
    group.more = 'log_stream_names = ["2024/[$LATEST]*", "*a", "web-?", "nowhere"]'
    group.collect()
    assert group.world.rows() == ["2024/[$LATEST]a", "2024/[$LATEST]b", "2024/[1]a", "web-1", "web-2"]
    group.more = "log_stream_names = [" + ", ".join(f'"web-{number}*"' for number in range(1, 13)) + "]"
    summary = group.collect()  # other streams of the same group: what is new is added, what is there stays
    assert (summary.accounts.kept, summary.accounts.duplicate) == (1, 2)
    assert len(group.world.rows()) == 6
    assert not group.world.has_twins()


def test_a_filter_pattern_is_left_to_the_server(group: Group) -> None:
    group.say("a", 1, "an ERROR", "fine")
    group.more = 'filter_pattern = "ERROR"'
    group.collect()
    assert group.world.rows() == ["an ERROR"]


def test_events_that_the_server_has_forgotten_stay(group: Group) -> None:
    group.say("a", 1, "one")
    group.say("b", 1, "two")
    group.collect()
    group.client.delete_log_stream(logGroupName=group.name, logStreamName="a")
    group.say("b", 1, "three")
    group.collect()
    assert group.world.rows() == ["one", "three", "two"]
    group.say("b", 1, "four")
    summary = group.collect(day(1), day(1), overwrite=True)
    assert summary.accounts.kept == 3
    assert group.world.rows() == ["four", "one", "three", "two"]
    assert not group.world.has_twins()


def test_rows_are_read_anew_by_an_overwrite(group: Group) -> None:
    group.say("a", 1, "one")
    group.collect()
    group.config = group.config.replace(
        '"message" { type = "varchar" }', '"message" { type = "varchar" transform = "upper(message)" }'
    )
    group.collect()
    assert group.world.rows() == ["one"]
    ids = group.world.rows("tp_id")
    group.collect(day(1), day(1), overwrite=True)
    assert group.world.rows() == ["ONE"]
    assert group.world.rows("tp_id") == ids


def test_rejected_events_are_told_once(group: Group) -> None:
    group.put("a", (at(1), "no JSON"), (at(1), '{"message": "fine"}'))
    summary = group.collect()
    assert (summary.accounts.rejected, summary.rejected_samples[0].position) == (1, "event 1")
    assert "log-group" in summary.rejected_samples[0].uri
    for overwrite in (False, True):
        group.collect(*((day(1), day(1)) if overwrite else ()), overwrite=overwrite)
        with group.world.catalog() as catalog:
            (file,) = catalog.rejected_files("app.x").values()
        assert file.is_file()
    again = group.collect()
    assert (again.accounts.rejected, again.accounts.duplicate, again.rejected_samples) == (0, 2, ())


def test_an_event_whose_row_is_here_is_not_rejected_later(group: Group) -> None:
    group.say("a", 1, "one")
    group.collect()
    group.config = group.config.replace(
        '"message" { type = "varchar" }',
        '"message" { type = "varchar" required = true transform = "nullif(message, \'one\')" }',
    )
    group.say("a", 1, "two")
    summary = group.collect()
    assert (summary.accounts.kept, summary.accounts.rejected, summary.accounts.duplicate) == (1, 0, 1)
    assert group.world.rows() == ["one", "two"]


def test_rejected_events_and_rejected_lines_are_shown_together(group: Group) -> None:
    group.put("a", (at(1), "no JSON"))
    (group.world.logs / f"{day(1)}.jsonl").write_text("no JSON either\n")
    layout = "file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`"
    group.config = (
        group.config[: group.config.rindex("}")] + f'source "file" {{\n paths = ["LOGS"]\n {layout}\n }}\n}}\n'
    )
    assert group.collect().accounts.rejected == 2
    with group.world.catalog() as catalog:
        files = list(catalog.rejected_files("app.x").values())
    for paths in (files, files[::-1]):
        assert {row.text for row in rejected_rows("app.x", paths, 10)} == {"no JSON", "no JSON either"}


@pytest.mark.slow
def test_many_pages_are_read_one_after_the_other(group: Group) -> None:
    start = at(1)
    for number in range(25):
        events = [
            (start + timedelta(milliseconds=number * 1000 + i), f'{{"message": "{number}-{i}"}}') for i in range(1000)
        ]
        group.put("a", *events)
    summary = group.collect(day(1), day(1))
    assert summary.accounts.kept == 25_000
    assert group.world.rows("count(DISTINCT tp_id)") == [25_000]


def test_a_group_is_read_by_one_source_of_a_partition(group: Group) -> None:
    source = group.config[group.config.index("  source ") : group.config.rindex("}\n")]
    group.config = group.config.replace(source, source + source.replace('_group" {', '_group" "other" {'))
    error = group.collect().error
    assert 'the sources "aws_cloudwatch_log_group" and "other" both read arn:aws:logs:eu-central-1:' in error


def test_wildcards_mean_all_groups_that_match(group: Group) -> None:
    base = group.name
    others = {one: group.another(f"{base}/{one}") for one in ("web-1", "web-10", "[x]")}
    for name, one in others.items():
        one.say("a", 1, name)
    group.source(f'["{base}/web-?", "{base}/[*", "{base}/w*1"]')
    group.collect("T-1d")
    assert group.world.rows("tp_source_name") == [f"{base}/[x]", f"{base}/web-1"]
    group.another(f"{base}/new").say("a", 1, "from a new group")
    group.client.delete_log_group(logGroupName=f"{base}/[x]")
    group.source(f'"{base}*"')
    group.collect("T-1d")
    assert group.world.rows() == sorted(["from a new group", *others])
    assert not group.world.has_twins()


def test_a_pattern_that_no_group_matches_is_an_error(group: Group) -> None:
    group.source(f'["{group.name}", "{group.name}/nothing-*"]')
    assert f'there is no log group "{group.name}/nothing-*" in region eu-central-1' in group.collect().error
