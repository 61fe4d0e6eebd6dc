-- Authentications that were denied, or reported as fraud
SELECT tp_timestamp, "user".name AS who, result, reason, tp_source_ip
FROM duo_auth_log
WHERE tp_outcome = 'failure'
ORDER BY tp_timestamp;

-- Factors by application
SELECT application.name AS application, factor, count(*) AS authentications
FROM duo_auth_log
GROUP BY ALL
ORDER BY authentications DESC;
