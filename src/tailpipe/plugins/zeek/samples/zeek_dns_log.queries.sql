-- Names that do not exist, by client
SELECT id_orig_h, count(*) AS failures, count(DISTINCT query) AS names
FROM zeek_dns_log
WHERE rcode_name = 'NXDOMAIN'
GROUP BY id_orig_h
ORDER BY failures DESC;

-- Addresses that names resolved to
SELECT query, answer, count(*) AS queries
FROM (SELECT query, unnest(answers) AS answer FROM zeek_dns_log)
GROUP BY ALL
ORDER BY queries DESC, query, answer;
