-- title: Buckets deleted
-- tags: cloudtrail, data

SELECT event_time, user_identity.arn, request_parameters ->> '$.bucketName' AS bucket
FROM aws_cloudtrail_log
WHERE event_name = 'DeleteBucket' AND error_code IS NULL
