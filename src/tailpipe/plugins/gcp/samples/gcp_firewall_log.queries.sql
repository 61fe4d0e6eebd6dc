-- Denied connections by rule
SELECT rule_reference, dst_port, count(*) AS connections, count(DISTINCT src_addr) AS addresses
FROM gcp_firewall_log
WHERE disposition = 'DENIED'
GROUP BY ALL
ORDER BY connections DESC;

-- What reached a machine
SELECT timestamp, src_addr, dst_port, disposition
FROM gcp_firewall_log
WHERE (instance->>'vm_name') = 'web-1'
ORDER BY timestamp;
