"""GuardDuty: findings of threats."""

from __future__ import annotations

from tailpipe.formats import Jsonl
from tailpipe.plugin import Column, Table, camel_case, camel_case_keys
from tailpipe.plugin.sql import distinct_texts, is_domain, json_values
from tailpipe.plugins.aws.tables.lines import is_arn

__all__ = ["GuarddutyFinding"]

_PROCESS = (
    "struct(euid integer, executable_path varchar, executable_sha256 varchar, name varchar, namespace_pid integer,"
    " parent_uuid varchar, pid integer, pwd varchar, start_time timestamp, user varchar, user_id integer, uuid varchar)"
)
_CONTEXT = (
    "struct(address_family varchar, command_line_example varchar, file_system_type varchar, flags varchar[],"
    " iana_protocol_number integer, ld_preload_value varchar, library_path varchar, memory_regions varchar[],"
    f" modified_at timestamp, modifying_process {_PROCESS}, module_file_path varchar, module_name varchar,"
    " module_sha256 varchar, mount_source varchar, mount_target varchar, release_agent_path varchar,"
    " runc_binary_path varchar, script_path varchar, service_name varchar, shell_history_path varchar,"
    f" socket_path varchar, target_process {_PROCESS}, threat_file_path varchar, tool_category varchar,"
    " tool_name varchar)"
)
_ACTION = "struct(action_type varchar, action_details json)"
_SERVICE = (
    f"struct(action {_ACTION}, additional_info struct(type varchar,"
    " value varchar), archived boolean, count integer, detection json, detector_id varchar,"
    " ebs_volume_scan_details json, event_first_seen varchar, event_last_seen varchar, evidence json,"
    " feature_name varchar, malware_scan_details json, resource_role varchar,"
    f" runtime_details struct(context {_CONTEXT}, process {_PROCESS}), service_name varchar, user_feedback varchar)"
)
_ACCESS_KEY = "struct(access_key_id varchar, principal_id varchar, user_name varchar, user_type varchar)"
_RESOURCE = f"struct(resource_type varchar, access_key_details {_ACCESS_KEY}, resource_details json)"
_SERVICE_KEYS = _SERVICE.replace(_ACTION, "json").replace("shell_history_path", "shell_history_file_path")
"""What is in `service`: of `action` every key is kept, and `shell_history_path` has a longer name there."""


def _object(field: str, made: str) -> str:
    """What is made of a field that is an object; anything else fails as no JSON, so that it is counted."""
    return f"CASE WHEN json_type({field}) = 'OBJECT' THEN {made} WHEN {field} <> '' THEN ({field} || '!')::JSON END"


def _without(field: str, *keys: str) -> str:
    """A JSON object without some of its keys; null if nothing is left."""
    nulls = ", ".join(f"'{key}', NULL" for key in keys)
    rest = f"json_merge_patch({field}, json_object({nulls}))"
    return f"CASE WHEN {rest}::VARCHAR <> '{{}}' THEN {rest} END"


_KINDS_OF_RESOURCE = _without("resource", "resourceType", "accessKeyDetails")
_KINDS_OF_ACTION = _without("json_extract(service, '$.action')", "actionType")
_HAS_ACTION = "json_type(service, '$.action') = 'OBJECT'"
_WITH_ACTION = f"json_object('action', json_object('actionDetails', {_KINDS_OF_ACTION}))"
_HISTORY = "json_extract(service, '$.runtimeDetails.context.shellHistoryFilePath')"
_CONTEXT_PATCH = f"json_object('runtimeDetails', json_object('context', json_object('shellHistoryPath', {_HISTORY})))"
_MADE = (
    f"CASE WHEN {_HAS_ACTION} AND {_HISTORY} IS NOT NULL"
    f" THEN json_merge_patch(json_merge_patch(service, {_WITH_ACTION}), {_CONTEXT_PATCH})"
    f" WHEN {_HAS_ACTION} THEN json_merge_patch(service, {_WITH_ACTION})"
    f" WHEN {_HISTORY} IS NOT NULL THEN json_merge_patch(service, {_CONTEXT_PATCH})"
    " ELSE service::JSON END"
)
_REMOTE = (
    "coalesce(json_extract_string(service, '$..remoteIpDetails.ipAddressV4'),"
    " json_extract_string(service, '$..remoteIpDetails.ipAddressV6'))[1]"
)
_DIRECTIONS = "json_extract_string(service, '$..connectionDirection')"
_ADDRESS_KEYS = ("ipAddressV4", "ipAddressV6", "privateIpAddress", "publicIp", "ipv6Addresses[*]", "sourceIPs[*]")
_ARN_KEYS = ("arn", "functionArn", "dbInstanceArn", "dbClusterArn", "volumeArn", "taskArn")


class GuarddutyFinding(Table):
    """One row for each finding of GuardDuty, and for each update of one."""

    name = "aws_guardduty_finding"
    format = Jsonl()
    columns = camel_case(
        Column("account_id", "varchar", "Account in which the threat was found."),
        Column("region", "varchar", "Region in which the threat was found."),
        Column("partition", "varchar", "Partition of AWS, such as `aws`."),
        Column("id", "varchar", "Identity of the finding; updates of it have the same."),
        Column("arn", "varchar", "ARN of the finding."),
        Column("type", "varchar", "Kind of the threat, such as `Recon:EC2/PortProbeUnprotectedPort`."),
        Column("severity", "double", "How severe it is, from 1 to 10."),
        Column("title", "varchar", "The finding in a few words."),
        Column("description", "varchar", "The finding in a sentence."),
        Column("created_at", "timestamp", "When the finding was made, in UTC."),
        Column("updated_at", "timestamp", "When the finding was last updated, in UTC."),
        Column(
            "resource",
            _RESOURCE,
            "What is concerned; `resource_details` has an object for each kind of resource.",
            keys="camel",
            transform=_object(
                "resource", f"json_merge_patch(resource, json_object('resourceDetails', {_KINDS_OF_RESOURCE}))"
            ),
        ),
        Column(
            "service",
            _SERVICE,
            "What happened, how often and when; `action_details` has an object for the kind of action.",
            keys="camel",
            transform=_object("service", _MADE),
        ),
        Column("schema_version", "varchar", "Version of the layout of the finding."),
        Column("additional", "json", "Everything in the finding that has no column of its own.", source="*"),
    )
    common = {
        "tp_timestamp": "coalesce(createdAt, updatedAt)",
        "tp_source_ip": (
            f"CASE WHEN coalesce(len({_DIRECTIONS}), 0) = 0 OR list_contains({_DIRECTIONS}, 'INBOUND')"
            f" THEN {_REMOTE} END"
        ),
        "tp_destination_ip": f"CASE WHEN list_contains({_DIRECTIONS}, 'OUTBOUND') THEN {_REMOTE} END",
        "tp_ips": distinct_texts(
            *(json_values("service", key) for key in _ADDRESS_KEYS),
            *(json_values("resource", key) for key in _ADDRESS_KEYS),
        ),
        "tp_akas": distinct_texts("[arn]", *(json_values("resource", key) for key in _ARN_KEYS), only=is_arn),
        "tp_usernames": distinct_texts(
            json_values("resource", "accessKeyDetails.accessKeyId"),
            json_values("resource", "accessKeyDetails.userName"),
            json_values("resource", "accessKeyDetails.principalId"),
            json_values("resource", "kubernetesUserDetails.username"),
            json_values("resource", "rdsDbUserDetails.user"),
        ),
        "tp_domains": distinct_texts(json_values("service", "domain"), only=is_domain),
    }
    nested_keys = {
        "resource": f'struct("*" json, accessKeyDetails {camel_case_keys(_ACCESS_KEY)})',
        "service": camel_case_keys(_SERVICE_KEYS),
    }
    layouts = {
        "aws_s3_bucket": "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/GuardDuty/%{DATA:region}/"
        "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.jsonl.gz",
        "file": "(%{DATA}/)?(GuardDuty/%{DATA:region}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/[^/]*|[^/]*)",
    }
