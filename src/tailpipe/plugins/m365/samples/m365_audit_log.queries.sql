-- Failed logins by user and address
SELECT user_id, tp_source_ip, count(*) AS failures
FROM m365_audit_log
WHERE operation = 'UserLoginFailed'
GROUP BY ALL
ORDER BY failures DESC;

-- Files that were deleted
SELECT tp_timestamp, user_id, site_url, source_relative_url, source_file_name
FROM m365_audit_log
WHERE operation IN ('FileDeleted', 'FileRecycled')
ORDER BY tp_timestamp;

-- Mailboxes that someone else has opened
SELECT mailbox_owner_upn, user_id, count(*) AS events
FROM m365_audit_log
WHERE logon_type IN (1, 2)
GROUP BY ALL
ORDER BY events DESC;
