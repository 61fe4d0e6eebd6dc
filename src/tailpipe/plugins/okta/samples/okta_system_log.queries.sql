-- Failed sign-ins by user and address
SELECT actor.alternate_id AS who, tp_source_ip, count(*) AS failures, max(tp_timestamp) AS last
FROM okta_system_log
WHERE tp_outcome = 'failure'
GROUP BY ALL
ORDER BY failures DESC;

-- Users with sign-ins from several networks
SELECT actor.alternate_id AS who, count(DISTINCT security_context.as_number) AS networks, list(DISTINCT client.geographical_context.country) AS countries
FROM okta_system_log
WHERE event_type = 'user.session.start'
GROUP BY who
ORDER BY networks DESC;

-- What was acted on
SELECT event_type, one.name AS target_name, count(*) AS events
FROM okta_system_log, unnest(json_extract_string(target, '$[*].displayName')) AS one(name)
GROUP BY ALL
ORDER BY events DESC;
