-- title: KMS keys disabled or scheduled for deletion
-- tags: cloudtrail, data

SELECT event_time, user_identity.arn, event_name, request_parameters ->> '$.keyId' AS key
FROM aws_cloudtrail_log
WHERE event_source = 'kms.amazonaws.com' AND event_name IN ('ScheduleKeyDeletion', 'DisableKey')
