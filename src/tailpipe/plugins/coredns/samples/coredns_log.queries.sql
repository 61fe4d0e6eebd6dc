-- Names that do not exist, by client
SELECT client, count(*) AS failures, count(DISTINCT query_name) AS names
FROM coredns_log
WHERE rcode = 'NXDOMAIN'
GROUP BY client
ORDER BY failures DESC;

-- Slow queries
SELECT tp_timestamp, client, query_type, query_name, duration
FROM coredns_log
WHERE duration IS NOT NULL
ORDER BY duration DESC
LIMIT 20;
