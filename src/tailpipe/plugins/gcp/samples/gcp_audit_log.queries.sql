-- Denied calls by principal
SELECT authentication_info.principal_email AS principal, method_name, status.message, count(*) AS calls
FROM gcp_audit_log
WHERE status.code = 7
GROUP BY ALL
ORDER BY calls DESC;

-- Instances that were created or deleted
SELECT timestamp, authentication_info.principal_email AS principal, request_metadata.caller_ip, resource_name
FROM gcp_audit_log
WHERE service_name = 'compute.googleapis.com'
  AND (method_name ILIKE '%.instances.insert' OR method_name ILIKE '%.instances.delete')
ORDER BY timestamp;

-- Calls with a key of a service account
SELECT authentication_info.service_account_key_name AS key, request_metadata.caller_ip, count(*) AS calls
FROM gcp_audit_log
WHERE authentication_info.service_account_key_name IS NOT NULL
GROUP BY ALL;
