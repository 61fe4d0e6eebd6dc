"""Events of a CloudTrail in which bad things happen among many ordinary ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

ACCOUNT = "111122223333"
START = datetime(2024, 1, 31, 10, tzinfo=UTC)

Event = dict[str, Any]


def user(name: str, key: str | None = None) -> Event:
    """An IAM user."""
    return {
        "type": "IAMUser",
        "principalId": f"AIDA{name.upper()}",
        "arn": f"arn:aws:iam::{ACCOUNT}:user/{name}",
        "accountId": ACCOUNT,
        "accessKeyId": key or f"AKIAEXAMPLE{name.upper()}",
        "userName": name,
    }


def role(name: str, session: str, account: str = ACCOUNT) -> Event:
    """A session of a role."""
    issuer = {"type": "Role", "arn": f"arn:aws:iam::{account}:role/{name}", "accountId": account, "userName": name}
    return {
        "type": "AssumedRole",
        "principalId": f"AROA{name.upper()}:{session}",
        "arn": f"arn:aws:sts::{account}:assumed-role/{name}/{session}",
        "accountId": account,
        "accessKeyId": f"ASIA{name.upper()}",
        "sessionContext": {"sessionIssuer": issuer, "attributes": {"mfaAuthenticated": "false"}},
    }


ROOT = {"type": "Root", "principalId": ACCOUNT, "arn": f"arn:aws:iam::{ACCOUNT}:root", "accountId": ACCOUNT}


def event(service: str, name: str, who: Event, asked: Any = None, **more: Any) -> Event:
    """One event; what is not given is ordinary."""
    return {
        "eventVersion": "1.08",
        "userIdentity": who,
        "eventSource": f"{service}.amazonaws.com",
        "eventName": name,
        "awsRegion": "eu-central-1",
        "sourceIPAddress": "203.0.113.10",
        "userAgent": "aws-cli/2.15",
        "requestParameters": asked,
        "responseElements": None,
        "readOnly": name.startswith(("Get", "List", "Describe")),
        "eventType": "AwsApiCall",
        "managementEvent": True,
        "recipientAccountId": ACCOUNT,
        "eventCategory": "Management",
        **more,
    }


def login(name: str, outcome: str, mfa: str, address: str = "203.0.113.10") -> Event:
    """Somebody logs in to the console, or tries to."""
    return event(
        "signin",
        "ConsoleLogin",
        user(name),
        sourceIPAddress=address,
        eventType="AwsConsoleSignIn",
        responseElements={"ConsoleLogin": outcome},
        additionalEventData={"MFAUsed": mfa},
        **({"errorMessage": "Failed authentication"} if outcome == "Failure" else {}),
    )


def ordinary() -> Iterator[Event]:
    """What goes on all day, with much that only looks like the bad things."""
    carl = user("carl")
    for number in range(40):
        yield event("ec2", "DescribeInstances", role("deploy", f"build-{number}"))
        yield event("s3", "ListBuckets", carl)
    yield login("carl", "Success", "Yes")
    yield event("iam", "CreateLoginProfile", carl, {"userName": "carl"})
    yield event("iam", "CreateUser", carl, {"userName": "nobody"}, errorCode="EntityAlreadyExistsException")
    yield event("iam", "AttachUserPolicy", carl, {"policyArn": "arn:aws:iam::aws:policy/ReadOnlyAccess"})
    yield event("s3", "PutBucketAcl", carl, {"bucketName": "private", "AccessControlList": "private"})
    statement = {"Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Effect": "Allow"}
    yield event("s3", "PutBucketPolicy", carl, {"bucketName": "private", "bucketPolicy": {"Statement": [statement]}})
    yield event("ec2", "AuthorizeSecurityGroupIngress", carl, {"groupId": "sg-ok", "cidr": "10.0.0.0/8"})
    yield event("ec2", "RunInstances", carl, {"instanceType": "t3.small"})
    yield event("sts", "AssumeRole", carl, {"roleArn": f"arn:aws:iam::{ACCOUNT}:role/deploy"})
    yield event("sts", "GetCallerIdentity", role("deploy", "build-1"))
    yield event("s3", "DeleteBucket", carl, {"bucketName": "kept"}, errorCode="BucketNotEmpty")
    yield event("secretsmanager", "GetSecretValue", carl, {"secretId": "db"})
    yield event("s3", "GetObject", role("web", "i-0aa"), sourceIPAddress="10.0.1.20")
    yield event("ec2", "RunInstances", carl, None, errorCode="Client.UnauthorizedOperation")
    service = {**ROOT, "invokedBy": "support.amazonaws.com"}
    yield event("support", "DescribeSeverityLevels", service)
    yield {"eventTime": "2024-01-31T09:00:00Z", "eventType": "AwsServiceEvent", "eventName": "RotateKey"}


def bad() -> Iterator[Event]:
    """One case, or as many as are needed, for every question of the docs."""
    eve = user("eve")
    for name in ("anna", "berta", "carl"):
        yield login(name, "Failure", "No", "2001:db8::bad")
    yield login("eve", "Success", "No")
    yield event("iam", "CreateVirtualMFADevice", ROOT)
    yield event("iam", "DeactivateMFADevice", eve, {"userName": "anna"})
    yield event("iam", "DeleteAccountPasswordPolicy", eve)
    yield event("iam", "UpdateLoginProfile", eve, {"userName": "anna"})
    made = {"accessKey": {"accessKeyId": "AKIANEW", "userName": "anna"}}
    yield event("iam", "CreateAccessKey", eve, {"userName": "anna"}, responseElements=made)
    yield event("ec2", "DescribeVpcs", user("anna"), sourceIPAddress="198.51.100.77")
    yield event("ec2", "DescribeVpcs", user("anna"))
    yield event("iam", "CreateUser", eve, {"userName": "backdoor"})
    yield event("iam", "AttachUserPolicy", eve, {"policyArn": "arn:aws:iam::aws:policy/AdministratorAccess"})
    yield event("iam", "PutRolePolicy", eve, {"roleName": "web", "policyName": "more"})
    yield event("iam", "UpdateAssumeRolePolicy", eve, {"roleName": "web"})
    stranger = role("visitor", "x", "999988887777")
    yield event("sts", "AssumeRole", stranger, {"roleArn": f"arn:aws:iam::{ACCOUNT}:role/web"})
    for name in ("ListUsers", "ListRoles", "GetAccountAuthorizationDetails"):
        yield event("iam", name, eve, errorCode="AccessDenied")
    yield event("sts", "GetCallerIdentity", eve)
    statement = {"Principal": "*", "Effect": "Allow", "Action": "s3:GetObject"}
    yield event("s3", "PutBucketPolicy", eve, {"bucketName": "open", "bucketPolicy": {"Statement": [statement]}})
    grant = {"Grantee": {"URI": "http://acs.amazonaws.com/groups/global/AllUsers"}}
    yield event("s3", "PutBucketAcl", eve, {"bucketName": "wide", "AccessControlPolicy": {"Grant": [grant]}})
    yield event("s3", "DeleteBucketPublicAccessBlock", eve, {"bucketName": "open"})
    given = {"snapshotId": "snap-1", "createVolumePermission": {"add": {"items": [{"userId": "999988887777"}]}}}
    yield event("ec2", "ModifySnapshotAttribute", eve, given)
    yield event("kms", "ScheduleKeyDeletion", eve, {"keyId": "key-1"})
    for number in range(3):
        yield event("secretsmanager", "GetSecretValue", eve, {"secretId": f"secret-{number}"})
    yield event("s3", "DeleteBucket", eve, {"bucketName": "backup"})
    yield event("cloudtrail", "StopLogging", eve, {"name": "org-trail"})
    yield event("guardduty", "DeleteDetector", eve, {"detectorId": "d1"})
    yield event("organizations", "LeaveOrganization", eve)
    world = {"groupId": "sg-open", "ipPermissions": {"items": [{"ipv6Ranges": {"items": [{"cidrIpv6": "::/0"}]}}]}}
    yield event("ec2", "AuthorizeSecurityGroupIngress", eve, world)
    yield event("ec2", "RunInstances", eve, {"instanceType": "p4d.24xlarge"}, awsRegion="ap-south-1")
    yield event("s3", "GetObject", role("web", "i-0aa"), sourceIPAddress="198.51.100.66")
    yield event("ssm", "SendCommand", eve, {"documentName": "AWS-RunShellScript"})


def document() -> bytes:
    """All of it, as CloudTrail writes it."""
    events = [*ordinary(), *bad()]
    for number, one in enumerate(events):
        at = START + timedelta(seconds=number)
        one.update({"eventTime": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "eventID": f"e{number}"})
    return json.dumps({"Records": events}).encode()
