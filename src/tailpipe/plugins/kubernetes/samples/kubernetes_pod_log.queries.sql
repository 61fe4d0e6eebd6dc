-- Messages by container
SELECT namespace, pod_name, container_name, stream, count(*) AS messages
FROM kubernetes_pod_log
GROUP BY ALL
ORDER BY messages DESC;

-- What was written to stderr
SELECT time, pod_name, message
FROM kubernetes_pod_log
WHERE stream = 'stderr'
ORDER BY time;

-- Messages that are JSON
SELECT time, message->>'level' AS level
FROM kubernetes_pod_log
WHERE json_valid(message);
