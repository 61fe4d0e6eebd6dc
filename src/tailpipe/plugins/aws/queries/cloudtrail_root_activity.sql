-- title: Activity of the root user
-- tags: cloudtrail, identity
-- param: account varchar = '' : only this account; empty for all

SELECT event_time, event_source, event_name, source_ip_address, user_agent
FROM aws_cloudtrail_log
WHERE user_identity.type = 'Root' AND user_identity.invoked_by IS NULL AND event_type <> 'AwsServiceEvent'
  AND ($account = '' OR recipient_account_id = $account)
