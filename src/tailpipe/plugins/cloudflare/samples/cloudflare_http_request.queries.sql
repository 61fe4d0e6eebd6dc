-- Paths that fail most often
SELECT request_uri, status, count(*) AS requests
FROM cloudflare_http_request
WHERE status >= 400
GROUP BY ALL
ORDER BY requests DESC;

-- Addresses with the most traffic
SELECT remote_addr, client_country, count(*) AS requests, sum(edge_response_bytes) AS bytes
FROM cloudflare_http_request
GROUP BY ALL
ORDER BY bytes DESC NULLS LAST;

-- What the security rules have stopped
SELECT security_action, security_rule_id, count(*) AS requests
FROM cloudflare_http_request
WHERE security_action <> ''
GROUP BY ALL
ORDER BY requests DESC;
