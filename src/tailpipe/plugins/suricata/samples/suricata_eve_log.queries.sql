-- Alerts by signature
SELECT alert.signature, alert.severity, count(*) AS alerts, count(DISTINCT src_ip) AS sources
FROM suricata_eve_log
WHERE event_type = 'alert'
GROUP BY ALL
ORDER BY alerts DESC;

-- Events of the flows that have an alert
SELECT flow_id, list(DISTINCT event_type ORDER BY event_type) AS events
FROM suricata_eve_log
WHERE flow_id IN (SELECT flow_id FROM suricata_eve_log WHERE event_type = 'alert')
GROUP BY flow_id;
