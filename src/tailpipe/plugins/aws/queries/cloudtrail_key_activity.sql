-- title: Activity of one access key
-- description: Permanent and temporary keys, in order of time.
-- tags: cloudtrail, access
-- param: key varchar : identifier of the access key

SELECT event_time, event_source, event_name, source_ip_address, error_code
FROM aws_cloudtrail_log
WHERE list_contains(tp_usernames, $key)
ORDER BY event_time
