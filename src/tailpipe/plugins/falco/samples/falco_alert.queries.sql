-- Alerts by rule
SELECT rule, priority, count(*) AS alerts, max(time) AS latest
FROM falco_alert
GROUP BY ALL
ORDER BY alerts DESC;

-- Alerts of a pod
SELECT time, rule, process_command_line, user_name
FROM falco_alert
WHERE kubernetes_namespace = 'shop' AND kubernetes_pod = 'web-1'
ORDER BY time;
