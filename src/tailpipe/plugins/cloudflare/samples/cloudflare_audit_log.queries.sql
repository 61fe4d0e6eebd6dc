-- Changes by actor
SELECT actor_email, action_type, resource_type, count(*) AS changes
FROM cloudflare_audit_log
GROUP BY ALL
ORDER BY changes DESC;

-- Changes that failed
SELECT tp_timestamp, actor_email, actor_ip, action_type
FROM cloudflare_audit_log
WHERE tp_outcome = 'failure'
ORDER BY tp_timestamp;
