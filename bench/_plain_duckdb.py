"""The same CloudTrail files with DuckDB alone: the columns of `aws_cloudtrail_log`, one folder for each day.

The content is the same but for the ids. There are no ledger, no accounts, no checks, and no commits.
"""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["command", "rows"]

_SQL = """
COPY (
  WITH record AS (
    SELECT unnest(from_json(json, '{"Records": [{"eventTime": "TIMESTAMP", "eventID": "VARCHAR", "eventName": "VARCHAR",
      "eventSource": "VARCHAR", "eventType": "VARCHAR", "eventCategory": "VARCHAR", "eventVersion": "VARCHAR",
      "awsRegion": "VARCHAR", "recipientAccountId": "VARCHAR", "sourceIPAddress": "VARCHAR", "userAgent": "VARCHAR",
      "errorCode": "VARCHAR", "errorMessage": "VARCHAR", "requestParameters": "JSON", "responseElements": "JSON",
      "additionalEventData": "JSON", "requestID": "VARCHAR", "resources": "JSON", "readOnly": "BOOLEAN",
      "managementEvent": "BOOLEAN", "apiVersion": "VARCHAR", "serviceEventDetails": "JSON", "sharedEventID": "VARCHAR",
      "vpcEndpointId": "VARCHAR", "sessionCredentialFromConsole": "VARCHAR", "edgeDeviceDetails": "JSON",
      "tlsDetails": {"cipherSuite": "VARCHAR", "clientProvidedHostHeader": "VARCHAR", "tlsVersion": "VARCHAR"},
      "userIdentity": {"accessKeyId": "VARCHAR", "accountId": "VARCHAR", "arn": "VARCHAR",
        "identityProvider": "VARCHAR", "invokedBy": "VARCHAR", "principalId": "VARCHAR", "sessionContext": {
          "attributes": {"creationDate": "TIMESTAMP", "mfaAuthenticated": "VARCHAR"}, "ec2RoleDelivery": "VARCHAR",
          "sessionIssuer": {"accountId": "VARCHAR", "arn": "VARCHAR", "principalId": "VARCHAR", "type": "VARCHAR",
            "userName": "VARCHAR"}, "webIdFederationData": {"attributes": "JSON", "federatedProvider": "VARCHAR"}},
        "type": "VARCHAR", "userName": "VARCHAR"}}]}').Records) AS r, filename
    FROM read_json_objects('DATA/**/*.json.gz', format = 'unstructured', maximum_object_size = 1000000000,
      filename = true)),
  named AS (
    SELECT *, r.userIdentity AS i, r.userIdentity.sessionContext AS s, r.userIdentity.sessionContext.sessionIssuer AS u,
      coalesce(r.userIdentity.userName, split_part(split_part(r.userIdentity.arn, ':', -1), '/', -1)) AS actor,
      regexp_matches(r.sourceIPAddress, '^[0-9a-f.:]+$') AS has_address
    FROM record)
  SELECT r.eventTime AS event_time, r.eventID AS event_id, r.eventName AS event_name, r.eventSource AS event_source,
    r.eventType AS event_type, r.eventCategory AS event_category, r.eventVersion AS event_version,
    r.awsRegion AS aws_region, r.recipientAccountId AS recipient_account_id,
    struct_pack(access_key_id := i.accessKeyId, account_id := i.accountId, arn := i.arn,
      identity_provider := i.identityProvider, invoked_by := i.invokedBy, principal_id := i.principalId,
      session_context := struct_pack(
        attributes := struct_pack(creation_date := s.attributes.creationDate,
          mfa_authenticated := s.attributes.mfaAuthenticated),
        ec2_role_delivery := s.ec2RoleDelivery,
        session_issuer := struct_pack(account_id := u.accountId, arn := u.arn, principal_id := u.principalId,
          type := u.type, user_name := u.userName),
        web_id_federation_data := struct_pack(attributes := s.webIdFederationData.attributes,
          federated_provider := s.webIdFederationData.federatedProvider)),
      type := i.type, user_name := i.userName) AS user_identity,
    r.sourceIPAddress AS source_ip_address, r.userAgent AS user_agent, r.errorCode AS error_code,
    r.errorMessage AS error_message, r.requestParameters AS request_parameters,
    r.responseElements AS response_elements, r.additionalEventData AS additional_event_data, r.requestID AS request_id,
    r.resources AS resources, r.readOnly AS read_only, r.managementEvent AS management_event,
    r.apiVersion AS api_version, r.serviceEventDetails AS service_event_details, r.sharedEventID AS shared_event_id,
    r.vpcEndpointId AS vpc_endpoint_id, r.sessionCredentialFromConsole AS session_credential_from_console,
    r.edgeDeviceDetails AS edge_device_details,
    struct_pack(cipher_suite := r.tlsDetails.cipherSuite,
      client_provided_host_header := r.tlsDetails.clientProvidedHostHeader,
      tls_version := r.tlsDetails.tlsVersion) AS tls_details,
    NULL::JSON AS additional, uuid()::VARCHAR AS tp_id, r.eventTime AS tp_timestamp, r.eventTime::DATE AS tp_date,
    now()::TIMESTAMP AS tp_ingest_timestamp, 'aws_cloudtrail_log' AS tp_table, 'all' AS tp_partition,
    'default' AS tp_index, 'file' AS tp_source_type, 'DATA' AS tp_source_name, filename AS tp_source_location,
    CASE WHEN has_address THEN r.sourceIPAddress END AS tp_source_ip, NULL::VARCHAR AS tp_destination_ip,
    CASE WHEN has_address THEN [r.sourceIPAddress] END AS tp_ips,
    list_distinct(list_concat([i.arn, u.arn], json_extract_string(r.resources, '$[*].ARN'))) AS tp_akas,
    list_filter(list_distinct([CASE WHEN NOT has_address THEN r.sourceIPAddress END, i.invokedBy,
      r.tlsDetails.clientProvidedHostHeader]), lambda d : contains(d, '.')) AS tp_domains,
    CASE WHEN contains(actor, '@') THEN [actor] END AS tp_emails, NULL::VARCHAR[] AS tp_tags,
    list_distinct([actor, u.userName, i.accessKeyId, i.principalId]) AS tp_usernames
  FROM named)
TO 'OUT' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (tp_index, tp_date), WRITE_PARTITION_COLUMNS true)
"""


def command(data: Path, out: Path) -> list[str]:
    """A fresh Python with DuckDB, on all cores."""
    text = _SQL.replace("DATA", str(data)).replace("OUT", str(out))
    settings = "SET TimeZone = 'UTC'; SET enable_progress_bar = false; SET preserve_insertion_order = false"
    return [sys.executable, "-c", f"import duckdb; c = duckdb.connect(); c.execute({settings!r}); c.execute({text!r})"]


def rows(out: Path) -> int:
    """How many rows it has written."""
    import duckdb

    sql = f"SELECT count(*) FROM read_parquet('{out}/**/*.parquet', hive_partitioning = false)"
    found = duckdb.connect().execute(sql).fetchone()
    return int(found[0]) if found else 0
