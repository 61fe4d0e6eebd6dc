-- title: Trails stopped, deleted or changed
-- tags: cloudtrail, logging

SELECT event_time, user_identity.arn, event_name, request_parameters ->> '$.name' AS trail
FROM aws_cloudtrail_log
WHERE event_source = 'cloudtrail.amazonaws.com'
  AND event_name IN ('StopLogging', 'DeleteTrail', 'UpdateTrail', 'PutEventSelectors')
