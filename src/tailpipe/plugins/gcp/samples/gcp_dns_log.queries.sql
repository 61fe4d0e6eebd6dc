-- Names that do not exist, by client
SELECT source_ip, count(*) AS queries, count(DISTINCT query_name) AS names
FROM gcp_dns_log
WHERE response_code = 'NXDOMAIN'
GROUP BY source_ip
ORDER BY queries DESC;

-- Most wanted names
SELECT query_name, query_type, count(*) AS queries
FROM gcp_dns_log
GROUP BY ALL
ORDER BY queries DESC
LIMIT 20;
