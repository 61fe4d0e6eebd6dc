-- Requests that Cloud Armor denied
SELECT timestamp, remote_ip, request_url, enforced_security_policy->>'name' AS policy
FROM gcp_requests_log
WHERE status_details = 'denied_by_security_policy'
ORDER BY timestamp;

-- Slowest URLs
SELECT request_url, count(*) AS requests, max(latency_seconds) AS slowest
FROM gcp_requests_log
WHERE latency_seconds IS NOT NULL
GROUP BY request_url
ORDER BY slowest DESC
LIMIT 20;
