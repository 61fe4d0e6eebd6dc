-- title: Users created
-- tags: cloudtrail, access

SELECT event_time, user_identity.arn, request_parameters ->> '$.userName' AS new_user
FROM aws_cloudtrail_log
WHERE event_name = 'CreateUser' AND error_code IS NULL
