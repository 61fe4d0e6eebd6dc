-- title: Access keys that query their own identity
-- description: GetCallerIdentity with a permanent key is often the first call of an attacker who has found one.
-- tags: cloudtrail, access

SELECT event_time, user_identity.arn, source_ip_address, user_agent
FROM aws_cloudtrail_log
WHERE event_name = 'GetCallerIdentity' AND user_identity.access_key_id LIKE 'AKIA%'
