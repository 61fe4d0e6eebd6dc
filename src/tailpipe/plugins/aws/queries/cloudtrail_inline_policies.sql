-- title: Inline policies added to users, groups or roles
-- tags: cloudtrail, access

SELECT event_time, user_identity.arn, event_name, request_parameters ->> '$.policyName' AS policy
FROM aws_cloudtrail_log
WHERE event_name IN ('PutUserPolicy', 'PutRolePolicy', 'PutGroupPolicy')
