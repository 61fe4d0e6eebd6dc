-- title: Security groups opened to the internet
-- tags: cloudtrail, compute

SELECT event_time, user_identity.arn, request_parameters ->> '$.groupId' AS security_group, request_parameters
FROM aws_cloudtrail_log
WHERE event_name = 'AuthorizeSecurityGroupIngress'
  AND (request_parameters::VARCHAR LIKE '%"0.0.0.0/0"%' OR request_parameters::VARCHAR LIKE '%"::/0"%')
