-- title: Snapshots and images shared
-- tags: cloudtrail, data

SELECT event_time, user_identity.arn, event_name, request_parameters
FROM aws_cloudtrail_log
WHERE event_name IN ('ModifySnapshotAttribute', 'ModifyImageAttribute', 'ModifyDBSnapshotAttribute')
  AND request_parameters::VARCHAR LIKE '%add%'
