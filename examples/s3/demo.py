"""A trail in a bucket of a real S3 server on this machine: made, collected and queried; `make demo-s3` runs it.

Everything is written below .demo-s3 in the checkout, and the server ends with the script.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.aws.server import ACCESS_KEY, SECRET_KEY, owner, s3_server  # noqa: E402

ACCOUNTS = ("111111111111", "222222222222")
CALLS = ("ConsoleLogin", "GetObject", "AssumeRole", "PutBucketPolicy", "CreateAccessKey", "DescribeInstances")
DAYS = 35


def main() -> None:
    home = ROOT / ".demo-s3"
    shutil.rmtree(home, ignore_errors=True)
    (home / "server").mkdir(parents=True)
    print("\n1. A server that speaks S3 is started, and a trail of two accounts delivered to it.", flush=True)
    with s3_server(home / "server") as url:
        client = owner(url).client("s3")
        client.create_bucket(Bucket="org-trail")
        count = fill(client, datetime.now(UTC))
        print(f"   {count} objects over {DAYS} days in s3://org-trail", flush=True)
        env = {"DEMO_S3_URL": url, "DEMO_S3_KEY": ACCESS_KEY, "DEMO_S3_SECRET": SECRET_KEY}
        env |= {"TAILPIPE_INSTALL_DIR": str(home), "TAILPIPE_CONFIG_PATH": "examples/s3/config"}
        env["TAILPIPE_AUTO_WARMUP"] = "no"  # nothing goes on when the demo has ended
        print("\n2. Collect it. Only the folders of the last 30 days are listed.")
        run(env, "collect", "--no-progress")
        print("\n3. Who made keys, and from where?")
        run(
            env,
            "query",
            "SELECT user_identity.user_name AS who, tp_source_ip, count(*) AS keys FROM aws_cloudtrail_log "
            "WHERE event_name = 'CreateAccessKey' GROUP BY ALL ORDER BY keys DESC LIMIT 3",
        )
        print("\n4. An object comes a day late; the next run takes it, and nothing else.")
        put(
            client,
            ACCOUNTS[0],
            datetime.now(UTC) - timedelta(days=1),
            "late",
            [event(datetime.now(UTC), ACCOUNTS[0], "late")],
        )
        run(env, "collect", "--no-progress")
    print("\nThat was a bucket. docs/aws.md tells how to collect yours.")


def fill(client: Any, now: datetime) -> int:
    """Deliver the trail; how many objects."""
    chance, count = random.Random(7), 0  # noqa: S311 - the same logs each time
    for back in range(DAYS):
        when = now - timedelta(days=back)
        for account in ACCOUNTS:
            for number in range(4):
                users = (chance.choice(["ada", "ben", "cleo"]) for _ in range(25))
                events = [event(when, account, user, chance) for user in users]
                put(client, account, when, f"{number}", events)
                count += 1
    return count


def event(when: datetime, account: str, user: str, chance: random.Random | None = None) -> dict[str, Any]:
    chance = chance or random.Random(1)  # noqa: S311
    return {
        "eventVersion": "1.11",
        "eventID": str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        "eventTime": f"{when:%Y-%m-%d}T{chance.randrange(24):02}:{chance.randrange(60):02}:00Z",
        "eventName": chance.choice(CALLS),
        "awsRegion": "eu-west-1",
        "sourceIPAddress": f"198.51.100.{chance.randrange(5)}",
        "errorCode": chance.choice([None, None, None, "AccessDenied"]),
        "userIdentity": {"type": "IAMUser", "userName": user, "arn": f"arn:aws:iam::{account}:user/{user}"},
        "recipientAccountId": account,
    }


def put(client: Any, account: str, when: datetime, name: str, events: list[dict[str, Any]]) -> None:
    file = f"{account}_CloudTrail_eu-west-1_{when:%Y%m%d}T0000Z_{name:0>16}.json.gz"
    key = f"AWSLogs/{account}/CloudTrail/eu-west-1/{when:%Y/%m/%d}/{file}"
    client.put_object(Bucket="org-trail", Key=key, Body=gzip.compress(json.dumps({"Records": events}).encode()))


def run(env: dict[str, str], *arguments: str) -> None:
    shown = (json.dumps(one) if " " in one else one for one in arguments)
    print(f"$ tailpipe {' '.join(shown)}", flush=True)
    subprocess.run([sys.executable, "-m", "tailpipe", *arguments], env={**os.environ, **env}, check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
