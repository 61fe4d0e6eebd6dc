-- Versions of TLS by server
SELECT coalesce(server_name, id_resp_h) AS server, version, count(*) AS handshakes
FROM zeek_ssl_log
GROUP BY ALL
ORDER BY handshakes DESC, server;

-- Certificates that are not valid
SELECT tp_timestamp, id_orig_h, server_name, validation_status
FROM zeek_ssl_log
WHERE validation_status <> 'ok'
ORDER BY tp_timestamp;
