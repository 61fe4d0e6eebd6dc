-- Addresses that sent the most
SELECT src_addr, dst_addr, dst_port, sum(bytes) AS bytes, sum(packets) AS packets
FROM gcp_vpc_flow_log
WHERE src_addr IS NOT NULL
GROUP BY ALL
ORDER BY bytes DESC NULLS LAST
LIMIT 20;

-- Machines that talk to the outside
SELECT src_instance->>'vm_name' AS machine, dest_location->>'country' AS country, sum(bytes) AS bytes
FROM gcp_vpc_flow_log
WHERE dest_location IS NOT NULL
GROUP BY ALL;
