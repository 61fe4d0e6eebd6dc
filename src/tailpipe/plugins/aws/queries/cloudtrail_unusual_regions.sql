-- title: Instances started in an unusual region
-- tags: cloudtrail, compute
-- param: regions varchar = 'eu-central-1,us-east-1' : the usual regions, with commas between

SELECT event_time, aws_region, user_identity.arn, request_parameters ->> '$.instanceType' AS kind
FROM aws_cloudtrail_log
WHERE event_name = 'RunInstances' AND NOT list_contains(string_split($regions, ','), aws_region)
