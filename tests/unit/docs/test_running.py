"""The service files and jobs of `docs/running.md` are what their readers take, and their commands exist."""

from __future__ import annotations

import ast
import configparser
import re
import shlex
from typing import Any

import click
import pytest
import yaml

from tailpipe.cli.app import app
from tailpipe.follow.metrics import Facts, PartitionFacts, metrics_text
from tailpipe.follow.status import PartitionStatus, State
from tests.unit.docs.pages import fences, read

PAGE = read("docs/running.md")


def _blocks(language: str) -> list[str]:
    return [fence.body for fence in fences(PAGE) if fence.info == language]


def _parse(words: list[str]) -> dict[str, Any]:
    """The flags of a call of `tailpipe collect`, as the command reads them."""
    assert words[0] == "collect"
    command = app.get_command(click.Context(app), "collect")
    assert command is not None
    return command.make_context("collect", words[1:]).params


def _unit(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def test_units_of_systemd() -> None:
    always, once, timer = (_unit(text) for text in _blocks("ini"))
    words = shlex.split(always["Service"]["ExecStart"])
    flags = _parse(words[1:])
    assert (words[0], flags["follow"], flags["status_address"]) == (
        "/opt/tailpipe/bin/tailpipe",
        True,
        "127.0.0.1:9464",
    )
    assert always["Service"]["Type"] == "notify-reload"
    assert int(always["Service"]["TimeoutStopSec"]) > 15 + 5
    assert int(always["Service"]["WatchdogSec"]) >= 60
    assert _parse(shlex.split(once["Service"]["ExecStart"])[1:])["follow"] is False
    assert once["Service"]["Type"] == "oneshot"
    assert timer["Timer"]["OnCalendar"] == "hourly"


def test_the_cron_line() -> None:
    (line,) = [line for text in _blocks("") for line in text.splitlines() if line.startswith("7 * * * *")]
    fields = line.split(None, 5)
    assert all(re.fullmatch(r"\*|\d+", field) for field in fields[:5])
    words = shlex.split(fields[5])
    _parse(words[words.index("/opt/tailpipe/bin/tailpipe") + 1 : words.index(">>")])


@pytest.mark.parametrize("kind", ["Deployment", "CronJob"])
def test_manifests_of_kubernetes(kind: str) -> None:
    (found,) = [one for one in map(yaml.safe_load, _blocks("yaml")) if one["kind"] == kind]
    spec = found["spec"]
    pod = spec["template"]["spec"] if kind == "Deployment" else spec["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    flags = _parse(container["args"])
    assert flags["follow"] is (kind == "Deployment")
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    if kind == "Deployment":
        (port,) = container["ports"]
        assert flags["status_address"].endswith(f":{port['containerPort']}")
        assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")
        labels = spec["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"] == labels
        probes = [container[name] for name in ("startupProbe", "readinessProbe")]
        assert [probe["httpGet"] for probe in probes] == [{"path": "/readyz", "port": port["name"]}] * 2
        assert pod["terminationGracePeriodSeconds"] > 15 + 5
    else:
        assert spec["concurrencyPolicy"] == "Forbid"
        assert pod["restartPolicy"] == "Never"


def test_the_task_of_airflow() -> None:
    (text,) = _blocks("python")
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    (operator,) = [one for one in calls if isinstance(one.func, ast.Name) and one.func.id == "BashOperator"]
    (given,) = [one.value for one in operator.keywords if one.arg == "bash_command"]
    _parse(shlex.split(ast.literal_eval(given))[1:])


def test_every_metric_is_on_the_page_and_no_other() -> None:
    state = State({"a": PartitionStatus()}, {"push": "x"}, {("d", "high"): 1})
    text = metrics_text(state, Facts({"a": PartitionFacts(store="s")}), now=0, version="1")
    made = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    plain = {"tailpipe_build_info", "tailpipe_start_time_seconds", "tailpipe_ready", "tailpipe_spark_running"}
    assert set(re.findall(r"`(tailpipe_\w+)`", PAGE)) == made - plain
