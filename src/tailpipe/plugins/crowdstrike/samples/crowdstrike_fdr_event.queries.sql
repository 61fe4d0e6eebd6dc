-- Processes of a machine
SELECT tp_timestamp, payload->>'UserName' AS user_name, payload->>'CommandLine' AS command_line
FROM crowdstrike_fdr_event
WHERE event_simple_name = 'ProcessRollup2' AND computer_name = 'mac-1'
ORDER BY tp_timestamp;

-- Names that were looked up
SELECT payload->>'DomainName' AS domain, count(DISTINCT aid) AS machines
FROM crowdstrike_fdr_event
WHERE event_simple_name = 'DnsRequest'
GROUP BY domain
ORDER BY machines;
