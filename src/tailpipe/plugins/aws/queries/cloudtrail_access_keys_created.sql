-- title: Access keys created
-- tags: cloudtrail, access

SELECT event_time, user_identity.arn, response_elements ->> '$.accessKey.accessKeyId' AS new_key,
  response_elements ->> '$.accessKey.userName' AS for_user
FROM aws_cloudtrail_log
WHERE event_name = 'CreateAccessKey' AND error_code IS NULL
