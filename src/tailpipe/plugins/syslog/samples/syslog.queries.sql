-- Messages by host and program
SELECT host, program, count(*) AS messages
FROM syslog
GROUP BY ALL
ORDER BY messages DESC, host, program;

-- Serious messages
SELECT tp_timestamp, host, program, severity, message
FROM syslog
WHERE severity IN ('emerg', 'alert', 'crit', 'err')
ORDER BY tp_timestamp;
