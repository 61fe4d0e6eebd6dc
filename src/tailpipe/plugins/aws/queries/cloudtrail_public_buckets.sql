-- title: Buckets made public
-- tags: cloudtrail, data

SELECT event_time, user_identity.arn, event_name, request_parameters ->> '$.bucketName' AS bucket
FROM aws_cloudtrail_log
WHERE (event_name = 'PutBucketAcl' AND request_parameters::VARCHAR LIKE '%/groups/global/AllUsers%')
  OR (event_name = 'PutBucketPolicy'
      AND list_contains(json_extract_string(request_parameters, '$..Statement[*].Principal'), '*'))
