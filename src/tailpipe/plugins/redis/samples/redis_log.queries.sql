-- Warnings
SELECT tp_timestamp, pid, role, message
FROM redis_log
WHERE level = 'warning'
ORDER BY tp_timestamp;

-- Messages by hour and level
SELECT date_trunc('hour', tp_timestamp) AS hour, level, count(*) AS messages
FROM redis_log
GROUP BY ALL
ORDER BY hour, messages DESC;
