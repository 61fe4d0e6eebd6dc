-- Failed logins by user and address
SELECT actor.user.email AS who, tp_source_ip, count(*) AS failures
FROM slack_audit_log
WHERE action = 'user_login_failed'
GROUP BY ALL
ORDER BY failures DESC;

-- Files that were downloaded
SELECT tp_timestamp, actor.user.id AS who, entity->>'$.file.name' AS file
FROM slack_audit_log
WHERE action = 'file_downloaded'
ORDER BY tp_timestamp;
