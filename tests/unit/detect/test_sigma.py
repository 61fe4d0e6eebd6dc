"""Sigma rules against an independent evaluator over the raw events, and what is refused."""

from __future__ import annotations

import json
import random
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tailpipe.detect import trial
from tailpipe.detect.evaluate import evaluate
from tailpipe.detect.jail import open_jail
from tailpipe.detect.sigma import load_sigma
from tailpipe.model.detection import NEW_ROWS, SigmaRules
from tailpipe.plugin.registry import Registry
from tests.unit.detect import sigma_oracle, sigma_shapes

REGISTRY = Registry.installed()
TABLE = REGISTRY.tables["aws_cloudtrail_log"]
VALUES = {"admins": ["anna", "Bob*"]}
HEAD = "title: Rule\nlevel: high\nlogsource: {product: aws, service: cloudtrail}\ntags: [attack.t1078.004]\n"
RULES = [
    "sel: {eventName: ConsoleLogin}\n  condition: sel",
    "sel: {eventName: [consolelogin, CreateUser]}\n  condition: sel",
    "sel: {eventName|startswith: create}\n  condition: sel",
    "sel: {eventName|endswith: USER}\n  condition: sel",
    "sel: {eventName|contains: [sole, '50%_']}\n  condition: sel",
    "sel: {userAgent|contains|all: [aws, cli]}\n  condition: sel",
    "sel: {userAgent: 'a?s-*i*'}\n  condition: sel",
    "sel: {userAgent: '50%\\*'}\n  condition: sel",
    "sel: {userAgent: '*'}\n  condition: sel",
    "sel: {userAgent: ''}\n  condition: sel",
    "sel: {userAgent|re: '^aws.*[0-9]$'}\n  condition: sel",
    "sel: {userAgent|re|i: 'BOTO'}\n  condition: sel",
    "sel: {eventName|cased: ConsoleLogin}\n  condition: sel",
    "sel: {sourceIPAddress|cidr: [10.0.0.0/8, '2001:db8::/32']}\n  condition: sel",
    "sel: {errorCode: null}\n  condition: sel",
    "sel: {errorCode|exists: true}\n  condition: sel",
    "sel: {errorCode|exists: false}\n  condition: sel",
    "sel: {eventName: ConsoleLogin}\n  flt: {errorCode: AccessDenied}\n  condition: sel and not flt",
    "sel: {userIdentity.type: IAMUser}\n  condition: not sel",
    "sel: {userIdentity.sessionContext.sessionIssuer.userName|contains: role}\n  condition: sel",
    "sel: {requestParameters.userName: anna}\n  condition: sel",
    "sel: {requestParameters.items.port: 22}\n  condition: sel",
    "sel: {requestParameters.items.port|gte: 1000}\n  condition: sel",
    "sel: {requestParameters.names|startswith: a}\n  condition: sel",
    "sel: {requestParameters.userName: null}\n  condition: sel",
    "sel: {requestParameters.flag: true}\n  condition: sel",
    "sel: {readOnly: 'true'}\n  condition: sel",
    "sel: {requestParameters.userName|fieldref: userIdentity.userName}\n  condition: sel",
    "sel: {requestParameters.userName|expand: '%admins%'}\n  condition: sel",
    "sel_a: {eventName: CreateUser}\n  sel_b: {errorCode: AccessDenied}\n  condition: 1 of sel_*",
    "sel_a: {eventName: CreateUser}\n  sel_b: {errorCode: AccessDenied}\n  condition: all of them",
    "sel: [{eventName: CreateUser}, {errorCode: AccessDenied}]\n  condition: sel",
    "a: {eventName: CreateUser}\n  b: {errorCode: null}\n  c: {readOnly: 'true'}\n  condition: (a or b)"
    " and not (c or a)",
    "kw: [cli, '50%']\n  condition: kw",
]


def rule(number: int) -> str:
    return f"{HEAD}id: 00000000-0000-4000-8000-{number:012d}\ndetection:\n  {RULES[number]}\n"


def events(count: int) -> list[dict[str, Any]]:
    """Events of which every value is now and then missing, null, of another case or a list."""
    choose, found = random.Random(5), []
    names = ["ConsoleLogin", "consolelogin", "CreateUser", "DeleteUser", "x50%_y"]
    agents = ["aws-cli/2", "AWS-CLI", "Boto3/1", "50%*", "50%x", "", "a_s-xi"]
    addresses = ["10.1.2.3", "192.0.2.1", "2001:db8::1", "ec2.amazonaws.com"]
    for _ in range(count):
        event: dict[str, Any] = {"eventTime": "2024-01-01T00:00:00Z", "eventName": choose.choice(names)}
        for key, options in (
            ("userAgent", agents),
            ("sourceIPAddress", addresses),
            ("errorCode", ["AccessDenied", "accessdenied", None]),
            ("readOnly", [True, False]),
        ):
            if choose.random() < 0.8:
                event[key] = choose.choice(options)
        if choose.random() < 0.8:
            event["userIdentity"] = {
                "type": choose.choice(["IAMUser", "Root"]),
                "userName": choose.choice(["anna", "b"]),
            }
            if choose.random() < 0.5:
                issuer = {"userName": choose.choice(["my-role", "Admin"])}
                event["userIdentity"]["sessionContext"] = {"sessionIssuer": issuer}
        if choose.random() < 0.8:
            ports = [{"port": choose.choice([22, 80, 8080, "22"])} for _ in range(choose.randrange(3))]
            event["requestParameters"] = {
                "userName": choose.choice(["anna", "ANNA", "bobby", None]),
                "items": choose.choice([ports, {"port": 22}]),
                "names": choose.choice([["anna", "x"], "alpha", []]),
                "flag": choose.choice([True, False, "true"]),
            }
        found.append(event)
    return found


def loaded(directory: Path, **options: Any) -> tuple[dict[str, Any], list[str]]:
    said: list[str] = []
    settings = {
        "name": "s",
        "paths": (str(directory),),
        "table": TABLE.name,
        "values": VALUES,
        "keywords": "user_agent",
    }
    return load_sigma(SigmaRules(**{**settings, **options}), TABLE, said.append), said


def test_every_rule_finds_what_an_independent_evaluator_finds(tmp_path: Path) -> None:
    for number in range(len(RULES)):
        (tmp_path / f"r{number:03d}.yml").write_text(rule(number))
    detections, said = loaded(tmp_path)
    assert said == []
    raw = events(150)
    text = json.dumps({"Records": raw})
    with open_jail([], {TABLE.name: TABLE}, detections.values()) as jail:
        rows = trial._rows(text, TABLE, REGISTRY.sources["file"], datetime.now(UTC))
        trial._show(jail, TABLE, [{**row, "tp_id": str(number)} for number, row in enumerate(rows)])
        results = evaluate(jail, list(detections.values()), ["event_name"], lambda *_: NEW_ROWS, {})
    for number, result in enumerate(results):
        assert result.failure == "", RULES[number]
        ours = sorted(int(hit.tp_id) for hit in result.hits)
        assert ours == sigma_oracle.found(rule(number), raw, VALUES, "userAgent"), RULES[number]
    assert sum(bool(result.hits) for result in results) == len(RULES)  # no rule is vacuous


def real_shapes(count: int) -> list[dict[str, Any]]:
    """Events whose parameters have the shapes of real ones: arrays in arrays, odd keys, numbers, objects, nulls."""
    choose, found = random.Random(7), []
    tags = [{"key": "Name", "value": "web"}, {"key": "Owner", "value": "Änna"}]
    arn = "arn:aws:s3:::bucket-{}"
    shapes: list[dict[str, Any]] = [
        {"filterSet": {"items": [{"name": "vpc-id", "valueSet": {"items": [{"value": "vpc-1"}, {"value": "vpc-2"}]}}]}},
        {"filterSet": {}, "maxResults": 50, "shared": False},
        {"filters": [{"key": "tag", "values": ["en", "de"]}, {"key": "none", "values": []}]},
        {"filters": [{"key": "single", "values": "en"}]},
        {"instancesSet": {"items": [{"instanceId": "i-1"}, {"instanceId": "i-2", "tagSet": {"items": tags}}]}},
        {"tagSpecificationSet": {"items": [{"resourceType": "vpc", "tags": tags}]}},
        {"DescribeGatewaysRequest": {"Filter": {"tag": 1, "Name": "state", "Value": {"content": "pending"}}}},
        {"Host": "bucket.s3.example.com", "acl": "", "x-amz-acl": "private", "location": ""},
        {"policyDocument": '{"Statement": [{"Effect": "Allow"}]}', "roleName": "my_role%"},
        {"containerDefinitions": [{"command": ["sh", "-c", "curl x | sh"], "cpu": 0}], "matrix": [[1, 2], [3]]},
    ]
    for number in range(count):
        event: dict[str, Any] = {
            "eventTime": "2024-01-01T00:00:00Z",
            "eventName": choose.choice(["DescribeVpcs", "PutParameter", "GetUser"]),
            "requestParameters": choose.choice([*shapes, None]),
            "responseElements": choose.choice([None, {"_return": True}, {"version": number % 3, "tier": "Standard"}]),
            "additionalEventData": {"bytesTransferredOut": choose.choice([0, 250.0, 10**7]), "x-amz-id-2": "a+b/c=="},
            "tlsDetails": {"tlsVersion": choose.choice(["TLSv1.2", "TLSv1.3"])},
            "userIdentity": {
                "type": "AssumedRole",
                "sessionContext": {"attributes": {"mfaAuthenticated": choose.choice(["true", "false"])}},
            },
        }
        if choose.random() < 0.5:
            event["resources"] = [{"ARN": arn.format(one), "accountId": "1"} for one in range(choose.randrange(1, 3))]
        found.append(event)
    return found


def test_rules_about_every_field_of_events_like_real_ones_find_what_the_evaluator_finds() -> None:
    events = real_shapes(60)
    different, compared, hits = sigma_shapes.differences(events, list(sigma_shapes.rules_of(events)))
    assert different == []
    assert compared > 150
    assert hits > compared


def test_a_rule_that_cannot_be_used_is_left_out_alone_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "good.yml").write_text(rule(0))
    (tmp_path / "field.yml").write_text(f"{HEAD}detection:\n  sel:\n    evntName: x\n  condition: sel\n")
    (tmp_path / "placeholder.yml").write_text(
        f"{HEAD}detection:\n  s: {{eventName|expand: '%nope%'}}\n  condition: s\n"
    )
    (tmp_path / "broken.yml").write_text("title: [\n")
    (tmp_path / "keyword.yml").write_text(f"{HEAD}detection:\n  kw: [a]\n  condition: kw\n")
    found, said = loaded(tmp_path, keywords=None)
    assert list(found) == ["s_good"]
    assert found["s_good"].mitre == ("T1078.004",)
    lines = {line.removeprefix(f"{tmp_path}/").partition(".yml")[0]: line for line in said}
    assert set(lines) == {"field", "placeholder", "broken", "keyword"}
    assert f'{tmp_path}/field.yml:7: table "aws_cloudtrail_log" has no field "evntName"' in lines["field"]
    assert 'did you mean "eventName"?' in lines["field"]
    assert 'placeholder.yml:6: the placeholder "nope" has no value' in lines["placeholder"]


def test_rules_are_read_without_a_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    (tmp_path / "a.yml").write_text(rule(0))
    assert list(loaded(tmp_path)[0]) == ["s_a"]
    assert not {name for name in sys.modules if name.startswith(("sigma.plugins", "sigma.data"))}


def test_rules_are_chosen_by_severity_and_id(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(rule(0))
    (tmp_path / "b.yml").write_text(rule(1).replace("level: high", "level: low"))
    assert list(loaded(tmp_path)[0]) == ["s_a", "s_b"]
    assert list(loaded(tmp_path, min_severity="medium")[0]) == ["s_a"]
    assert list(loaded(tmp_path, exclude=("00000000-0000-4000-8000-000000000000",))[0]) == ["s_b"]
