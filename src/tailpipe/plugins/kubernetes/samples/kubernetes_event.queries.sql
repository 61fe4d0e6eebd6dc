-- Warnings by reason
SELECT namespace, reason, object_kind, object_name, sum("count") AS times, max(timestamp) AS latest
FROM kubernetes_event
WHERE event_type = 'Warning'
GROUP BY ALL
ORDER BY times DESC;

-- What happened on a node
SELECT timestamp, reason, message
FROM kubernetes_event
WHERE source_host = 'node-1'
ORDER BY timestamp;
