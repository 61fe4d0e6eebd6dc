-- title: Roles assumed from another account
-- tags: cloudtrail, access

SELECT event_time, user_identity.account_id AS by_account, request_parameters ->> '$.roleArn' AS role
FROM aws_cloudtrail_log
WHERE event_name = 'AssumeRole' AND user_identity.type <> 'AWSService'
  AND user_identity.account_id <> recipient_account_id
