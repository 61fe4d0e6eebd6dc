-- title: MFA devices removed
-- tags: cloudtrail, identity

SELECT event_time, user_identity.arn, event_name, request_parameters ->> '$.userName' AS of_user
FROM aws_cloudtrail_log
WHERE event_name IN ('DeactivateMFADevice', 'DeleteVirtualMFADevice')
