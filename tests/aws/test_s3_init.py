"""`init` on a bucket: a few objects are read, and the partition has the folders' dates as its layout."""

from __future__ import annotations

from datetime import UTC, date, datetime

from tailpipe.infer.inference import Known, infer
from tailpipe.infer.places import open_target
from tailpipe.plugin import Registry, Secret
from tailpipe.plugins.aws import plugin as aws
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.core import plugin as core
from tests.aws.conftest import TestBucket
from tests.aws.server import ACCESS_KEY, SECRET_KEY

REGISTRY = Registry([core, aws])


def test_a_folder_of_a_bucket_becomes_a_partition_without_its_secrets(bucket: TestBucket) -> None:
    for day in (30, 31):
        bucket.put_rows(f"app/2024/01/{day}/part-{day}.jsonl.gz", *"abcdef", day=date(2024, 1, day))
    connection = Aws(
        name="test",
        access_key=ACCESS_KEY,
        secret_key=Secret(SECRET_KEY),
        region="us-east-1",
        endpoint_url=bucket.url,
        s3_force_path_style=True,
    )
    target = open_target(f"s3://{bucket.name}/app/", REGISTRY.sources, connection)
    (found,) = infer(target, Known({}, REGISTRY.presets), datetime(2024, 2, 10, tzinfo=UTC)).found
    text = found.text(REGISTRY.presets)
    layout = r"%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/part-[0-9]+\.jsonl(\.(gz|bz2|xz|zst))?"
    assert getattr(found.partition.sources[0], "file_layout", None) == layout
    assert "connection  = connection.aws.test" in text
    assert SECRET_KEY not in text
    assert found.kind.fit.kept == 6
