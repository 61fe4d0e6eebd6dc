-- title: Instance credentials used from outside the network
-- tags: cloudtrail, compute
-- param: network inet = 10.0.0.0/8 : the network of the instances

SELECT event_time, event_name, user_identity.arn, tp_source_ip
FROM aws_cloudtrail_log
WHERE user_identity.type = 'AssumedRole' AND starts_with(tp_usernames[1], 'i-')
  AND tp_source_ip IS NOT NULL AND NOT TRY_CAST(tp_source_ip AS INET) <<= $network::INET
