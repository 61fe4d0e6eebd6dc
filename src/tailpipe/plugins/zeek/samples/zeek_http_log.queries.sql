-- Hosts and methods
SELECT host, method, count(*) AS requests, sum(response_body_len) AS bytes
FROM zeek_http_log
GROUP BY ALL
ORDER BY requests DESC, host;

-- Failed requests
SELECT tp_timestamp, id_orig_h, method, host, uri, status_code
FROM zeek_http_log
WHERE status_code >= 400
ORDER BY tp_timestamp;
