-- Messages by level and hour
SELECT date_trunc('hour', tp_timestamp) AS hour, level, count(*) AS messages
FROM nginx_error_log
GROUP BY ALL
ORDER BY hour, messages DESC;

-- Clients that cause the most errors
SELECT client, count(*) AS messages, max(message) AS example
FROM nginx_error_log
WHERE client IS NOT NULL AND level IN ('error', 'crit', 'alert', 'emerg')
GROUP BY client
ORDER BY messages DESC, client;
