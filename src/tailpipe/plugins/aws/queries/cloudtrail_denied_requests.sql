-- title: Denied requests by identity
-- tags: cloudtrail, access
-- param: least integer = 3 : denied requests from which an identity is shown

SELECT user_identity.arn, count(*) AS denied, count(DISTINCT event_name) AS kinds
FROM aws_cloudtrail_log
WHERE error_code IN ('AccessDenied', 'Client.UnauthorizedOperation', 'AccessDeniedException')
GROUP BY ALL
HAVING denied >= $least
ORDER BY denied DESC
