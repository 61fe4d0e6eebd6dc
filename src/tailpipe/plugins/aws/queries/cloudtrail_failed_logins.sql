-- title: Failed console logins
-- tags: cloudtrail, identity
-- param: who varchar = '' : only this user; empty for all
-- param: days integer = 90 : look back this many days

SELECT event_time, tp_usernames[1] AS who, source_ip_address, error_message
FROM aws_cloudtrail_log
WHERE event_name = 'ConsoleLogin' AND (response_elements ->> '$.ConsoleLogin') = 'Failure'
  AND tp_date >= current_date - $days AND ($who = '' OR list_contains(tp_usernames, $who))
ORDER BY event_time DESC
