-- Failed logins
SELECT tp_timestamp, tp_usernames, tp_source_ip, attr->>'db' AS database
FROM mongodb_log
WHERE tp_outcome = 'failure'
ORDER BY tp_timestamp;

-- Messages by component and severity
SELECT component, severity, count(*) AS messages
FROM mongodb_log
GROUP BY ALL
ORDER BY messages DESC, component;
