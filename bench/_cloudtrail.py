"""Generate CloudTrail files as AWS delivers them: many kinds of events and actors, the same each time.

The kinds are in `cloudtrail_events.jsonl`. In its texts `<x8>` stands for 8 hexadecimal digits, `<X8>` for 8 in upper
case, `<d8>` for 8 decimal digits, `<uuid>` for an id, `<token>` for a session token, and `<account>` and `<region>` for
those of the file. A text that starts with `#` is written as a number. One event in eight fails if its kind has errors.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from operator import itemgetter
from pathlib import Path

from isal import igzip

__all__ = ["FIRST", "write_file"]

FIRST = date(2024, 3, 1)
"""The day of the first events."""
_ACCOUNTS = ("111122223333", "444455556666", "777788889999")
_REGIONS = ("us-east-1", "us-east-1", "us-east-1", "eu-west-1", "eu-west-1", "ap-southeast-2", "us-west-2")
_ACTORS = 48
"""So many sessions have events in one file."""
_LOWER, _UPPER, _DIGITS = 256, 64, 36
"""So many random digits are made for a row: hexadecimal ones in lower and upper case, and decimal ones."""
_TOKEN = 760
_MINUTES = 5
"""The time that one file covers."""
_AGENTS = {
    "human": (
        "AWS Internal",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Safari/537.36",
        "aws-cli/2.15.24 Python/3.11.8 Linux/6.5.0 exe/x86_64.ubuntu.22 prompt/off command/ec2.describe-instances",
        "[APN/1.0 HashiCorp/1.0 Terraform/1.7.4 (+https://www.terraform.io) aws-sdk-go-v2/1.25.2 os/macos]",
    ),
    "role": (
        "Boto3/1.34.51 md/Botocore#1.34.51 ua/2.0 os/linux#6.1.77 md/arch#x86_64 lang/python#3.12.2",
        "aws-sdk-go/1.50.31 (go1.21.7; linux; amd64) amazon-ssm-agent/",
        'aws-sdk-java/2.24.10 Linux/5.10 OpenJDK_64-Bit_Server_VM/21.0.2 "internal" io/sync http/Apache',
        "aws-sdk-nodejs/2.1567.0 linux/v20.11.1 exec-env/AWS_Lambda_nodejs20.x promise",
    ),
    "web": ("aws-sdk-go-v2/1.25.2 os/linux lang/go#1.22.0 md/GOOS#linux md/GOARCH#arm64 api/sts#1.28.1",),
}
_SERVICES = ("autoscaling", "cloudtrail", "config", "ecs-tasks", "eks", "elasticloadbalancing", "lambda", "rds")
_KINDS = ("role",) * 30 + ("human",) * 13 + ("service",) * 4 + ("web",)


@dataclass(frozen=True)
class _Template:
    """An event in two parts: who and when goes into the first, random digits into the second."""

    head: str
    tail: str
    digits: Callable[[str], tuple[str, ...]]
    has_token: bool


def write_file(root: Path, number: int, rows: int, day: date, minute: int, seed: int) -> Path:
    """Write one file of so many events below `root`; they are of this day, and of the minutes up to `minute`."""
    chance = random.Random(f"{seed}/{number}")
    account, region = chance.choice(_ACCOUNTS), chance.choice(_REGIONS)
    end = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=minute)
    directory = root / f"AWSLogs/{account}/CloudTrail/{region}/{day:%Y/%m/%d}"
    directory.mkdir(parents=True, exist_ok=True)
    suffix = f"{chance.getrandbits(80):020X}"[:16]
    path = directory / f"{account}_CloudTrail_{region}_{end:%Y%m%dT%H%M}Z_{suffix}.json.gz"
    text = '{"Records":[' + ",".join(_records(chance, account, region, end, rows)) + "]}"
    path.write_bytes(igzip.compress(text.encode(), 2, mtime=0))
    return path


def _records(chance: random.Random, account: str, region: str, end: datetime, rows: int) -> list[str]:
    templates, tokens = _templates(account, region), _tokens()
    actors = _actors(chance, account, end)
    seconds = [(end - timedelta(seconds=left)).strftime("%Y-%m-%dT%H:%M:%SZ") for left in range(_MINUTES * 60, 0, -1)]
    number, bits, random_bytes, found = chance.random, chance.getrandbits, chance.randbytes, []
    for row in range(rows):
        kind, identity, address, agent = actors[int(number() * _ACTORS)]
        possible = templates[kind]
        template = possible[int(number() * len(possible))]
        digits = random_bytes(_LOWER // 2).hex() + random_bytes(_UPPER // 2).hex().upper() + f"{bits(119):0{_DIGITS}d}"
        who = template.head % (identity, seconds[row * len(seconds) // rows], address, agent)
        text = who + template.tail % template.digits(digits)
        if template.has_token:
            start = int(number() * (len(tokens) - _TOKEN))
            text = text.replace("<token>", tokens[start : start + _TOKEN])
        found.append(text)
    return found


def _actors(chance: random.Random, account: str, end: datetime) -> list[tuple[str, str, str, str]]:
    """The kind of each session with events in a file, its identity as JSON, its address and its program."""
    found = []
    for number in range(_ACTORS):
        kind = _KINDS[number]
        since = (end - timedelta(minutes=chance.randrange(6, 300))).strftime("%Y-%m-%dT%H:%M:%SZ")
        if kind == "service":
            host = f"{chance.choice(_SERVICES)}.amazonaws.com"
            found.append((kind, json.dumps({"type": "AWSService", "invokedBy": host}), host, host))
            continue
        identity = _IDENTITIES[kind](chance, account, since)
        agent = json.dumps(chance.choice(_AGENTS[kind]))[1:-1]
        found.append((kind, json.dumps(identity, separators=(",", ":")), _address(chance), agent))
    return found


def _human(chance: random.Random, account: str, since: str) -> dict[str, object]:
    user = chance.randrange(200)
    key = f"ASIA{_stable(f'{account}-{user}-{since}')}"
    attributes = {"creationDate": since, "mfaAuthenticated": chance.choice(("true", "false"))}
    if user == 0:
        return {
            "type": "Root",
            "principalId": account,
            "arn": f"arn:aws:iam::{account}:root",
            "accountId": account,
            "accessKeyId": key,
            "sessionContext": {"attributes": attributes},
        }
    if user % 3 == 0:  # by single sign-on: the session is named by the address of the person
        name = f"person.{user}@example.com"
        return _session(account, f"AWSReservedSSO_Admin_{account[:6]}", name, key, attributes)
    return {
        "type": "IAMUser",
        "principalId": f"AIDA{_stable(f'{account}-{user}')}",
        "arn": f"arn:aws:iam::{account}:user/user.{user}",
        "accountId": account,
        "accessKeyId": f"AKIA{_stable(f'{account}-{user}-key')}",
        "userName": f"user.{user}",
        **({"sessionContext": {"attributes": attributes}} if user % 2 else {}),
    }


def _role(chance: random.Random, account: str, since: str) -> dict[str, object]:
    role, instance = chance.randrange(60), f"i-0{chance.getrandbits(64):016x}"
    attributes = {"creationDate": since, "mfaAuthenticated": "false"}
    identity = _session(account, f"app-{role}", instance, f"ASIA{_stable(instance)}", attributes)
    if role % 4 == 0:
        identity["invokedBy"] = f"{_SERVICES[role % len(_SERVICES)]}.amazonaws.com"
    elif role % 4 == 1:
        context = identity["sessionContext"]
        if isinstance(context, dict):
            context["ec2RoleDelivery"] = "2.0"
    return identity


def _session(account: str, role: str, name: str, key: str, attributes: dict[str, str]) -> dict[str, object]:
    principal = f"AROA{_stable(f'{account}-{role}')}"
    issuer = {
        "type": "Role",
        "principalId": principal,
        "arn": f"arn:aws:iam::{account}:role/{role}",
        "accountId": account,
        "userName": role,
    }
    return {
        "type": "AssumedRole",
        "principalId": f"{principal}:{name}",
        "arn": f"arn:aws:sts::{account}:assumed-role/{role}/{name}",
        "accountId": account,
        "accessKeyId": key,
        "sessionContext": {"sessionIssuer": issuer, "webIdFederationData": {}, "attributes": attributes},
    }


def _web(chance: random.Random, account: str, since: str) -> dict[str, object]:
    provider = f"arn:aws:iam::{account}:oidc-provider/oidc.eks.us-east-1.amazonaws.com/id/{_stable(account)}"
    user = f"system:serviceaccount:shop:worker-{chance.randrange(20)}"
    return {
        "type": "WebIdentityUser",
        "principalId": f"{provider}:sts.amazonaws.com:{user}",
        "userName": user,
        "identityProvider": provider,
        **({"sessionContext": {"attributes": {"creationDate": since}}} if since.endswith("0Z") else {}),
    }


_IDENTITIES = {"human": _human, "role": _role, "web": _web}


def _address(chance: random.Random) -> str:
    draw = chance.random()
    if draw < 0.1:
        return f"2001:db8:{chance.getrandbits(16):x}::{chance.getrandbits(16):x}"
    if draw < 0.2:
        return "AWS Internal"
    first = "10.0" if draw < 0.6 else "203.0"
    return f"{first}.{chance.randrange(256)}.{chance.randrange(1, 255)}"


def _stable(name: str) -> str:
    """16 characters of an AWS id that belong to this name."""
    return base64.b32encode(random.Random(name).randbytes(10)).decode()


@cache
def _tokens() -> str:
    """Random text from which session tokens are cut."""
    return base64.b64encode(random.Random("tokens").randbytes(300_000)).decode()


@cache
def _templates(account: str, region: str) -> dict[str, list[_Template]]:
    """The templates of each kind of actor; those of frequent events are there more often."""
    found: dict[str, list[_Template]] = {}
    lines = Path(__file__).with_name("cloudtrail_events.jsonl").read_text(encoding="utf-8").splitlines()
    for kind in map(json.loads, lines):
        event = {**kind["event"], "requestID": "<uuid>", "eventID": "<uuid>", "recipientAccountId": account}
        if kind["by"] in ("human", "role") and event["eventType"] == "AwsApiCall":
            event["tlsDetails"] = {
                "tlsVersion": "TLSv1.3",
                "cipherSuite": "TLS_AES_128_GCM_SHA256",
                "clientProvidedHostHeader": event["eventSource"].replace(".", f".{region}.", 1),
            }
        if kind["by"] == "human":
            event["sessionCredentialFromConsole"] = "true"
        failed = [{**event, **error, "responseElements": None} for error in kind["errors"]]
        built = [_template(one, account, region) for one in (event, *failed)]
        share = built[:1] * 14 + (built[1:] * 2)[:2] if failed else built * 16
        found.setdefault(kind["by"], []).extend(share * kind["weight"])
    return found


def _template(event: dict[str, object], account: str, region: str) -> _Template:
    head = (
        '{"eventVersion":"1.09","userIdentity":%s,"eventTime":"%s","eventSource":'
        f'{json.dumps(event["eventSource"])},"eventName":{json.dumps(event["eventName"])},"awsRegion":"{region}",'
        '"sourceIPAddress":"%s","userAgent":"%s",'
    )
    rest = {name: value for name, value in event.items() if name not in ("eventSource", "eventName")}
    text = json.dumps(rest, separators=(",", ":"), ensure_ascii=False)[1:]
    text = re.sub(r'"#([^"]*)"', r"\1", text).replace("<account>", account).replace("<region>", region)
    text = text.replace("<uuid>", "<x8>-<x4>-<x4>-<x4>-<x12>").replace("%", "%%")
    next_free = {"x": 0, "X": _LOWER, "d": _LOWER + _UPPER}
    ends = {"x": _LOWER, "X": _LOWER + _UPPER, "d": _LOWER + _UPPER + _DIGITS}
    slices = []
    for kind, count in re.findall(r"<([xXd])(\d+)>", text):
        start = next_free[kind]
        stop = next_free[kind] = start + int(count)
        if stop > ends[kind]:
            raise ValueError(f"{event['eventName']} needs more random digits of the kind {kind!r}")
        slices.append(slice(start, stop))
    tail = re.sub(r"<[xXd]\d+>", "%s", text)
    return _Template(head, tail, itemgetter(*slices), "<token>" in tail)
