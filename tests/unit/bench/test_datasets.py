import gzip
import json
import re
from collections import Counter
from datetime import date, datetime
from pathlib import Path

import pytest
from bench import _datasets
from bench._jobs import NGINX
from bench.growth import pairs


def records(path: Path) -> list[dict[str, object]]:
    found = json.loads(gzip.decompress(path.read_bytes()))["Records"]
    assert isinstance(found, list)
    return found


@pytest.fixture(scope="module")
def trail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _datasets.cloudtrail(tmp_path_factory.mktemp("trail"), 3_001, 7, 3)


def contents(root: Path) -> dict[Path, bytes]:
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_same_trail_is_written_each_time(trail: Path, tmp_path: Path) -> None:
    assert contents(_datasets.cloudtrail(tmp_path, 3_001, 7, 3)) == contents(trail)


def test_a_trail_has_the_rows_the_files_and_the_days_that_were_requested(trail: Path) -> None:
    files = list(trail.rglob("*.json.gz"))
    rows = [record for path in files for record in records(path)]
    assert len(files) == 7
    assert len(rows) == 3_001
    assert len({record["eventID"] for record in rows}) == 3_001
    assert {str(record["eventTime"])[:10] for record in rows} == {"2024-03-01", "2024-03-02", "2024-03-03"}


def test_every_event_is_of_the_day_the_account_and_the_region_of_its_path(trail: Path) -> None:
    for path in trail.rglob("*.json.gz"):
        place = re.fullmatch(
            r"AWSLogs/(\d{12})/CloudTrail/([a-z0-9-]+)/(\d{4}/\d\d/\d\d)/\1_CloudTrail_\2_(\d{8})T\d{4}Z_\w{16}\.json\.gz",
            path.relative_to(trail).as_posix(),
        )
        assert place
        account, region, folder, stamp = place.groups()
        assert stamp == folder.replace("/", "")
        for record in records(path):
            assert (record["recipientAccountId"], record["awsRegion"]) == (account, region)
            assert str(record["eventTime"])[:10] == folder.replace("/", "-")


def test_a_trail_has_many_kinds_of_events_and_of_actors(trail: Path) -> None:
    rows = [record for path in trail.rglob("*.json.gz") for record in records(path)]
    identities = [identity for record in rows if isinstance(identity := record["userIdentity"], dict)]
    assert len({record["eventName"] for record in rows}) > 35
    assert {"AWSService", "AssumedRole", "IAMUser", "WebIdentityUser"} <= {one["type"] for one in identities}
    assert len({record["errorCode"] for record in rows if "errorCode" in record}) > 8
    sources = [str(record["sourceIPAddress"]) for record in rows]
    assert any(":" in source for source in sources)
    assert any(source.endswith(".amazonaws.com") for source in sources)
    assert "<" not in json.dumps(rows)


def test_nginx_lines_match_the_pattern_and_are_spread_over_the_days(tmp_path: Path) -> None:
    root = _datasets.nginx(tmp_path, 6_000, 3, 6)
    days: Counter[date] = Counter()
    for path in sorted(root.iterdir()):
        for line in path.read_text().splitlines():
            match = re.fullmatch(NGINX, line)
            assert match
            days[datetime.strptime(match["time_local"], "%d/%b/%Y:%H:%M:%S %z").date()] += 1
    assert days == {date(2024, 3, day): 1_000 for day in range(1, 7)}


def test_each_partition_has_one_file(tmp_path: Path) -> None:
    root = _datasets.partitions(tmp_path, 4, 5)
    assert [len(list(path.rglob("*.json.gz"))) for path in sorted(root.iterdir())] == [1, 1, 1, 1]


def test_a_data_set_that_is_written_is_used_again(tmp_path: Path) -> None:
    root = _datasets.lines(tmp_path, 20, 2)
    (root / "2024-03-01.jsonl").write_text("kept")
    assert _datasets.lines(tmp_path, 20, 2) == root
    assert (root / "2024-03-01.jsonl").read_text() == "kept"


def test_growth_measures_each_pair_once() -> None:
    assert pairs([100_000, 1_000_000], [1, 30], is_full=False) == [(100_000, 30), (1_000_000, 30), (1_000_000, 1)]
    assert pairs([1, 2], [1, 30], is_full=True) == [(1, 1), (2, 1), (1, 30), (2, 30)]
