-- title: Addresses with many failed console logins
-- tags: cloudtrail, identity
-- param: least integer = 3 : failures from which an address is shown

SELECT source_ip_address, count(*) AS failures, count(DISTINCT tp_usernames[1]) AS users
FROM aws_cloudtrail_log
WHERE event_name = 'ConsoleLogin' AND (response_elements ->> '$.ConsoleLogin') = 'Failure'
GROUP BY ALL
HAVING failures >= $least
ORDER BY failures DESC
