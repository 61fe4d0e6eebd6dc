-- Messages by stream and hour
SELECT date_trunc('hour', tp_timestamp) AS hour, stream, count(*) AS messages
FROM docker_container_log
GROUP BY ALL
ORDER BY hour, stream;

-- What containers wrote to stderr
SELECT tp_timestamp, tp_source_location, log
FROM docker_container_log
WHERE stream = 'stderr'
ORDER BY tp_timestamp;
