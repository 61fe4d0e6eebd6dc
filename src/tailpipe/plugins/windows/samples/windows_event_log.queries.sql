-- Failed logons
SELECT tp_timestamp, computer, target_user_name, source_ip_address, logon_type, status
FROM windows_event_log
WHERE channel = 'Security' AND event_id = 4625
ORDER BY tp_timestamp;

-- Processes and their parents
SELECT tp_timestamp, computer, image, command_line, parent_image
FROM windows_event_log
WHERE image IS NOT NULL AND event_id IN (1, 4688)
ORDER BY tp_timestamp;

-- New services
SELECT tp_timestamp, computer, service_name, event_data->>'ImagePath' AS path
FROM windows_event_log
WHERE event_id IN (4697, 7045)
ORDER BY tp_timestamp;
