-- title: GuardDuty, Config, Security Hub or flow logs disabled
-- tags: cloudtrail, logging

SELECT event_time, user_identity.arn, event_source, event_name
FROM aws_cloudtrail_log
WHERE event_name IN ('DeleteDetector', 'DisassociateFromMasterAccount', 'StopConfigurationRecorder',
  'DeleteConfigurationRecorder', 'DeleteFlowLogs', 'DisableSecurityHub')
