-- title: Public access block removed
-- tags: cloudtrail, data

SELECT event_time, user_identity.arn, event_name, request_parameters ->> '$.bucketName' AS bucket
FROM aws_cloudtrail_log
WHERE event_name IN ('DeleteBucketPublicAccessBlock', 'DeleteAccountPublicAccessBlock')
