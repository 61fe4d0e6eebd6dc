-- Rules that match most often
SELECT rule_id, action, source, description, count(*) AS events
FROM cloudflare_firewall_event
GROUP BY ALL
ORDER BY events DESC;

-- Addresses that were blocked
SELECT client_ip, client_asn_description, count(*) AS events
FROM cloudflare_firewall_event
WHERE action = 'block'
GROUP BY ALL
ORDER BY events DESC;
