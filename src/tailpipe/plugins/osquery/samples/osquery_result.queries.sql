-- Changes by query and host
SELECT name, host_identifier, action, count(*) AS rows
FROM osquery_result
GROUP BY ALL
ORDER BY rows DESC, name;

-- Connections that were opened
SELECT tp_timestamp, host_identifier, columns->>'name' AS process, columns->>'remote_address' AS address
FROM osquery_result
WHERE action = 'added' AND (columns->>'remote_address') IS NOT NULL
ORDER BY tp_timestamp;
