-- Errors by service
SELECT service_name, body, count(*) AS records
FROM otel_log
WHERE severity_number >= 17
GROUP BY ALL
ORDER BY records DESC;

-- Records of a trace
SELECT timestamp, service_name, span_id, body
FROM otel_log
WHERE trace_id = '5b8efff7'
ORDER BY timestamp;

-- Values of an attribute
SELECT attributes->>'$."user.name"' AS user_name, count(*) AS records
FROM otel_log
WHERE attributes IS NOT NULL
GROUP BY user_name;
