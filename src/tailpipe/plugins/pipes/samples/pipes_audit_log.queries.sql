-- Actions by actor
SELECT actor_handle, action_type, count(*) AS actions, max(tp_timestamp) AS last
FROM pipes_audit_log
GROUP BY ALL
ORDER BY actions DESC;

-- Addresses of each actor
SELECT actor_handle, list(DISTINCT actor_ip) AS addresses
FROM pipes_audit_log
WHERE actor_ip IS NOT NULL
GROUP BY actor_handle;
