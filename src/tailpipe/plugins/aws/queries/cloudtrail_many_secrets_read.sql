-- title: Identities that read many secrets
-- tags: cloudtrail, data
-- param: least integer = 3 : secrets from which an identity is shown

SELECT user_identity.arn, count(*) AS times, count(DISTINCT request_parameters ->> '$.secretId') AS secrets
FROM aws_cloudtrail_log
WHERE event_source = 'secretsmanager.amazonaws.com' AND event_name = 'GetSecretValue'
GROUP BY ALL
HAVING secrets >= $least
