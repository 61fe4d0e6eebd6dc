-- Refused requests
SELECT time, auth.display_name, request.path, request.remote_address, error
FROM vault_audit_log
WHERE type = 'response' AND error IS NOT NULL
ORDER BY time;

-- Who reads and writes secrets
SELECT auth.display_name, request.operation, request.path, count(*) AS requests
FROM vault_audit_log
WHERE type = 'request'
GROUP BY ALL
ORDER BY requests DESC;
