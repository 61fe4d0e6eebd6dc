-- Pairs of hosts with the most traffic
SELECT id_orig_h, id_resp_h, count(*) AS connections, sum(bytes) AS bytes
FROM zeek_conn_log
GROUP BY ALL
ORDER BY bytes DESC
LIMIT 20;

-- Connections that were never answered
SELECT id_orig_h, id_resp_h, id_resp_p, count(*) AS attempts
FROM zeek_conn_log
WHERE conn_state = 'S0'
GROUP BY ALL
ORDER BY attempts DESC;
