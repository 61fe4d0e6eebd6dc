-- title: Network flows of addresses that failed to log in
-- description: A question to one log takes its values from another.
-- tags: cookbook, clients
-- param: status integer = 401 : status of a failed login

SELECT flow.tp_source_ip, flow.dstport, flow.action, count(*) AS flows, sum(flow.bytes) AS bytes
FROM flow_log flow
WHERE flow.tp_source_ip IN (SELECT tp_source_ip FROM access_log WHERE status = $status)
GROUP BY ALL
ORDER BY flows DESC
