-- title: Commands and sessions sent to instances by SSM
-- tags: cloudtrail, compute

SELECT event_time, user_identity.arn, event_name, request_parameters ->> '$.documentName' AS document
FROM aws_cloudtrail_log
WHERE event_source = 'ssm.amazonaws.com' AND event_name IN ('SendCommand', 'StartSession')
