"""Logs to measure with: like real ones in shape and size, the same each time."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from isal import igzip

START = datetime(2024, 3, 1, tzinfo=UTC)
_AGENTS = [
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Safari/537.36",
    "aws-sdk-go/1.44.109 (go1.19.1; linux; amd64) exec-env/EKS",
    "curl/8.5.0",
    "console.amazonaws.com",
]


def write(directory: Path, files: int, rows: int, lines: Callable[[random.Random, int], Iterator[bytes]]) -> list[Path]:
    """So many gz files of so many rows each."""
    paths = []
    for number in range(files):
        path = directory / f"{number:04d}.log.gz"
        path.write_bytes(igzip.compress(b"".join(lines(chance(number), rows)), 1))
        paths.append(path)
    return paths


def chance(seed: int) -> random.Random:
    """Numbers that are the same each time."""
    return random.Random(seed)


def trail_records(chance: random.Random, rows: int) -> Iterator[str]:
    events = [("s3", "GetObject"), ("sts", "AssumeRole"), ("ec2", "DescribeInstances"), ("kms", "Decrypt")]
    for _ in range(rows):
        service, name = events[int(chance.random() * 4)]
        key = f"{chance.getrandbits(64):016x}"
        at = START + timedelta(seconds=int(chance.random() * 86400))
        time = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        user = int(chance.random() * 500)
        yield (
            f'{{"eventVersion":"1.08","userIdentity":{{"type":"AssumedRole","principalId":"AROA{key.upper()}:user{user}",'
            f'"arn":"arn:aws:sts::123456789012:assumed-role/role{user}/user{user}","accountId":"123456789012",'
            f'"accessKeyId":"ASIA{key.upper()}","sessionContext":{{"sessionIssuer":{{"type":"Role","principalId":"AROA{key}",'
            f'"arn":"arn:aws:iam::123456789012:role/role{user}","accountId":"123456789012","userName":"role{user}"}},'
            f'"webIdFederationData":{{}},"attributes":{{"creationDate":"{time}","mfaAuthenticated":"false"}}}}}},'
            f'"eventTime":"{time}","eventSource":"{service}.amazonaws.com","eventName":"{name}","awsRegion":"eu-west-1",'
            f'"sourceIPAddress":"10.{user % 256}.{int(chance.random() * 256)}.7",'
            f'"userAgent":{json.dumps(_AGENTS[user % 4])},'
            f'"requestParameters":{{"bucketName":"logs-{user}","key":"2024/03/{key}/part-{user}.json","Host":"s3.eu-west-1.amazonaws.com"}},'
            f'"responseElements":null,"additionalEventData":{{"SignatureVersion":"SigV4","CipherSuite":"ECDHE-RSA-AES128-GCM-SHA256",'
            f'"bytesTransferredIn":0,"bytesTransferredOut":{user * 977}}},'
            f'"requestID":"{key[:12].upper()}","eventID":"{_uuid(chance)}",'
            f'"readOnly":true,"eventType":"AwsApiCall","managementEvent":false,"recipientAccountId":"123456789012",'
            f'"eventCategory":"Data"}}'
        )


def documents(chance: random.Random, rows: int) -> Iterator[bytes]:
    yield b'{"Records":[' + ",".join(trail_records(chance, rows)).encode() + b"]}"


def json_lines(chance: random.Random, rows: int) -> Iterator[bytes]:
    for record in trail_records(chance, rows):
        yield record.encode() + b"\n"


def nested_lines(chance: random.Random, rows: int) -> Iterator[bytes]:
    """Records of an audit log, most of which lies two or three objects deep."""
    for number in range(rows):
        payload = {
            "serviceName": "compute.example",
            "methodName": f"v1.instances.{chance.choice(['insert', 'delete', 'list'])}",
            "resourceName": f"projects/p{number % 50}/zones/z/instances/i{number % 1000}",
            "authenticationInfo": {"principalEmail": f"user{number % 300}@example.com", "principalSubject": "user"},
            "requestMetadata": {
                "callerIp": f"10.{number % 200}.{number % 250}.7",
                "callerSuppliedUserAgent": chance.choice(_AGENTS),
                "requestAttributes": {"time": "2024-03-01T00:00:00Z", "auth": {}},
                "destinationAttributes": {"port": "443", "regionCode": "eu"},
            },
            "status": {"code": number % 17, "message": "done"},
            "authorizationInfo": [{"permission": "compute.instances.list", "granted": True}],
            "request": {"@type": "type.example/compute.instances.list", "filter": _uuid(chance)},
        }
        record = {
            "insertId": _uuid(chance),
            "timestamp": (START + timedelta(seconds=number)).isoformat(),
            "severity": "NOTICE",
            "logName": "projects/p/logs/activity",
            "resource": {"type": "gce_instance", "labels": {"project_id": f"p{number % 50}", "zone": "z"}},
            "protoPayload": payload,
        }
        yield json.dumps(record, separators=(",", ":")).encode() + b"\n"


def flows(chance: random.Random, rows: int) -> Iterator[bytes]:
    yield (
        b"version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action"
        b" log-status\n"
    )
    first = int(START.timestamp())
    for _ in range(rows):
        a, b = chance.getrandbits(24), chance.getrandbits(24)
        at = first + int(chance.random() * 86400)
        if chance.random() < 0.02:
            yield f"2 123456789012 eni-{a % 40:08x} - - - - - - - {at} {at + 60} - NODATA\n".encode()
            continue
        yield (
            f"2 123456789012 eni-{a % 40:08x} 10.{a >> 16}.{a >> 8 & 255}.{a & 255}"
            f" 10.{b >> 16}.{b >> 8 & 255}.{b & 255}"
            f" {a & 65535} {(443, 80, 53, 22)[b & 3]} {(6, 17)[a & 1]} {b & 255} {a >> 4} {at} {at + 60}"
            f" {('ACCEPT', 'REJECT')[a % 7 == 0]} OK\n"
        ).encode()


def requests(chance: random.Random, rows: int) -> Iterator[bytes]:
    months = START.strftime("%b/%Y")
    for _ in range(rows):
        a, b = chance.getrandbits(32), chance.getrandbits(20)
        at = int(chance.random() * 86400)
        yield (
            f"{a >> 24}.{a >> 16 & 255}.{a >> 8 & 255}.{a & 255} - {('-', 'ann', 'bob')[b % 3]}"
            f" [01/{months}:{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d} +0000]"
            f' "{("GET", "POST")[b & 1]} /shop/item/{b % 5000}?ref={a & 4095:x} HTTP/1.1" {(200, 304, 404, 500)[a & 3]}'
            f' {b} "https://example.com/page/{a % 900}" "{_AGENTS[a % 4]}"\n'
        ).encode()


def _uuid(chance: random.Random) -> str:
    text = f"{chance.getrandbits(128):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
