-- Errors by unit
SELECT hostname, unit, count(*) AS messages, max(message) AS example
FROM journald_log
WHERE priority <= 3
GROUP BY ALL
ORDER BY messages DESC;

-- Messages by program
SELECT coalesce(identifier, comm) AS program, count(*) AS messages
FROM journald_log
GROUP BY program
ORDER BY messages DESC, program;
