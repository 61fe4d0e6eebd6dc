-- title: Account left the organization
-- tags: cloudtrail, logging

SELECT event_time, user_identity.arn, recipient_account_id
FROM aws_cloudtrail_log
WHERE event_source = 'organizations.amazonaws.com' AND event_name = 'LeaveOrganization'
