-- Paths that fail most often
SELECT request_uri, status, count(*) AS requests
FROM caddy_access_log
WHERE status >= 400
GROUP BY ALL
ORDER BY requests DESC, request_uri
LIMIT 20;

-- Addresses that get many failures
SELECT remote_addr, count(*) AS requests, count(*) FILTER (WHERE status >= 400) AS failures
FROM caddy_access_log
GROUP BY remote_addr
HAVING failures > 0
ORDER BY failures DESC, remote_addr;

-- Traffic by hour
SELECT date_trunc('hour', tp_timestamp) AS hour, count(*) AS requests, sum(body_bytes_sent) AS bytes
FROM caddy_access_log
GROUP BY hour
ORDER BY hour;
