"""Processes of several hosts that share a store are killed: no artifact is lost, none is duplicated."""

from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tailpipe.catalog.failpoints import SHARED_NAMES
from tests.aws import proxy as proxies
from tests.aws.conftest import TestBucket, bucket, no_credentials, proxy
from tests.bucket_server import Asked
from tests.crash.harness import Server
from tests.crash.hosts import Fleet

__all__ = ["bucket", "no_credentials", "proxy"]

HOSTS = 4
COMMITS = int(os.environ.get("TAILPIPE_COMMITS", "100"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED_NAMES)
def test_a_host_that_is_killed_where_it_meets_others_goes_on(
    server: Server, place: Path, bucket: TestBucket, name: str
) -> None:
    fleet, chance = Fleet(place, bucket, bucket.url, checkpoint_every=1), random.Random(1)
    first, second = fleet.host("web-1"), fleet.host("web-2")
    for install in (first, second):
        for _ in range(5):
            fleet.feed(chance)
        fleet.run(server, install, "commit", is_sound=True)
    assert fleet.lines
    fleet.run(server, first, "push", is_sound=True)
    for operation in ("push", "pull"):
        fleet.run(server, second, operation, name)
    assert fleet.reached[name] >= 1
    for install, operation in ((second, "collect"), (first, "collect"), (second, "pull")):
        fleet.run(server, install, operation, is_sound=True)
    for install in (first, second):
        fleet.check(install, hosts=2)
    fleet.check_log()


@pytest.mark.slow
def test_four_hosts_that_are_killed_all_the_time_lose_nothing_and_have_nothing_twice(
    place: Path, bucket: TestBucket, proxy: proxies.Proxy
) -> None:
    fleet, chance = Fleet(place, bucket, proxy.url), random.Random(7)

    def fault(asked: Asked) -> proxies.Fault:
        if chance.random() > 0.02:
            return None
        kinds: list[proxies.Fault] = [proxies.Lost(), proxies.Answer(503, "SlowDown")]
        return chance.choice([*kinds, proxies.Cut(20)] if asked.method == "GET" else kinds)

    proxy.fault = fault
    begun, installs = time.monotonic(), [fleet.host(f"web-{number}") for number in range(HOSTS)]
    with ThreadPoolExecutor(HOSTS) as pool:
        lives = [pool.submit(fleet.live, install, seed, COMMITS) for seed, install in enumerate(installs)]
        for one in lives:
            one.result()
    proxy.fault = lambda _: None
    reader = fleet.host("reader")
    with Server() as server:
        for install in (*installs, *installs):
            fleet.run(server, install, "collect", is_sound=True)
        for install in (*installs, reader):
            fleet.run(server, install, "pull", is_sound=True)
    for install in (*installs, reader):
        fleet.check(install, HOSTS)
    commits = fleet.check_log()
    assert commits >= COMMITS
    assert fleet.kills >= COMMITS // 5
    points, seconds = dict(fleet.reached.most_common()), time.monotonic() - begun
    print(f"{commits} commits of {HOSTS} hosts, {fleet.kills} kills, {seconds:.0f} s: {points}")
