-- Failed logins by user
SELECT actor.email AS who, count(*) AS failures, list(DISTINCT ip_address) AS addresses
FROM google_workspace_activity
WHERE application_name = 'login' AND event_name = 'login_failure'
GROUP BY who
ORDER BY failures DESC;

-- Changes by administrators
SELECT tp_timestamp, coalesce(actor.email, actor.key) AS who, event_name, event_parameters
FROM google_workspace_activity
WHERE application_name = 'admin'
ORDER BY tp_timestamp;

-- Applications that were given access
SELECT actor.email AS who, event_name, count(*) AS events
FROM google_workspace_activity
WHERE application_name = 'token'
GROUP BY ALL
ORDER BY events DESC;
