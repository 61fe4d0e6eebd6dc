-- title: Password policy changed or deleted
-- tags: cloudtrail, identity

SELECT event_time, user_identity.arn, event_name, request_parameters
FROM aws_cloudtrail_log
WHERE event_name IN ('UpdateAccountPasswordPolicy', 'DeleteAccountPasswordPolicy')
