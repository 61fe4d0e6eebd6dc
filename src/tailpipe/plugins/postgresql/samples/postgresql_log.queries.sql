-- Slow statements
SELECT tp_timestamp, "user", database, duration_ms, statement
FROM postgresql_log
WHERE duration_ms IS NOT NULL
ORDER BY duration_ms DESC
LIMIT 20;

-- Errors by user and database
SELECT "user", database, severity, count(*) AS messages, max(message) AS example
FROM postgresql_log
WHERE severity IN ('ERROR', 'FATAL', 'PANIC')
GROUP BY ALL
ORDER BY messages DESC, "user";
