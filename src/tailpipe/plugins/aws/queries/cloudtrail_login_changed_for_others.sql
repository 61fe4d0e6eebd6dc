-- title: Console passwords created or changed for another user
-- description: The caller and the user of the password differ.
-- tags: cloudtrail, identity

SELECT event_time, user_identity.arn, event_name, request_parameters ->> '$.userName' AS for_user
FROM aws_cloudtrail_log
WHERE event_name IN ('CreateLoginProfile', 'UpdateLoginProfile')
  AND (request_parameters ->> '$.userName') IS DISTINCT FROM user_identity.user_name
