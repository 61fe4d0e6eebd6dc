-- title: Access keys used from several addresses
-- tags: cloudtrail, access
-- param: least integer = 2 : addresses from which a key is shown

SELECT user_identity.access_key_id, count(DISTINCT tp_source_ip) AS addresses, list(DISTINCT tp_source_ip) AS which
FROM aws_cloudtrail_log
WHERE tp_source_ip IS NOT NULL AND user_identity.access_key_id <> ''
GROUP BY ALL
HAVING addresses >= $least
