-- Denied flows by rule
SELECT rule, src_addr, dst_port, count(*) AS flows
FROM azure_vnet_flow_log
WHERE action = 'REJECT'
GROUP BY ALL
ORDER BY flows DESC;

-- Addresses that moved the most
SELECT src_addr, dst_addr, dst_port, sum(bytes) AS bytes, sum(packets) AS packets
FROM azure_vnet_flow_log
WHERE bytes > 0
GROUP BY ALL
ORDER BY bytes DESC
LIMIT 20;
