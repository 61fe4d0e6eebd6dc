-- Changes by actor and kind
SELECT actor_details.email AS who, action, object_type, count(*) AS changes
FROM onepassword_audit_event
GROUP BY ALL
ORDER BY changes DESC;

-- Users who were suspended or removed
SELECT tp_timestamp, actor_details.email AS who, action, object_details->>'email' AS email
FROM onepassword_audit_event
WHERE object_type = 'user' AND action IN ('suspend', 'delete')
ORDER BY tp_timestamp;
