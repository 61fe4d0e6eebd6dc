-- title: Addresses with the most failed logins
-- tags: cookbook, clients
-- param: status integer = 401 : status of a failed login

SELECT tp_source_ip, count(*) AS failed, count(DISTINCT tp_date) AS days, max(tp_timestamp) AS last
FROM access_log
WHERE status = $status
GROUP BY tp_source_ip
ORDER BY failed DESC
LIMIT 5
