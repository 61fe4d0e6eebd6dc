-- title: Trust policy of a role changed
-- tags: cloudtrail, access

SELECT event_time, user_identity.arn, request_parameters ->> '$.roleName' AS role
FROM aws_cloudtrail_log
WHERE event_name = 'UpdateAssumeRolePolicy'
