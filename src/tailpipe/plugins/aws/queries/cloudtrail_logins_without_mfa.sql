-- title: Console logins without MFA
-- tags: cloudtrail, identity

SELECT event_time, tp_usernames[1] AS who, source_ip_address
FROM aws_cloudtrail_log
WHERE event_name = 'ConsoleLogin' AND (response_elements ->> '$.ConsoleLogin') = 'Success'
  AND (additional_event_data ->> '$.MFAUsed') = 'No' AND user_identity.type IN ('IAMUser', 'Root')
