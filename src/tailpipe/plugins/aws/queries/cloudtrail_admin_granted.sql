-- title: Administrator access granted
-- tags: cloudtrail, access

SELECT event_time, user_identity.arn, event_name, request_parameters
FROM aws_cloudtrail_log
WHERE event_name IN ('AttachUserPolicy', 'AttachRolePolicy', 'AttachGroupPolicy')
  AND (request_parameters ->> '$.policyArn') LIKE '%/AdministratorAccess'
