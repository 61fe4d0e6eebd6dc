-- Refused requests by application
SELECT app_id, user_id, response_status_code, count(*) AS requests
FROM azure_graph_activity_log
WHERE response_status_code IN (401, 403)
GROUP BY ALL
ORDER BY requests DESC;

-- What applications read
SELECT app_id, regexp_replace(request_uri, '[?].*', '') AS resource, count(*) AS requests, sum(response_size_bytes) AS bytes
FROM azure_graph_activity_log
WHERE request_method = 'GET'
GROUP BY ALL;
