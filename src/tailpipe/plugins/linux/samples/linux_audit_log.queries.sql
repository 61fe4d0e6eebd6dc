-- Commands that were executed
SELECT tp_timestamp, auid_name, uid_name, exe, command_line, cwd
FROM linux_audit_log
WHERE command_line IS NOT NULL
ORDER BY tp_timestamp;

-- Outgoing connections by program
SELECT exe, saddr_ip, saddr_port, count(*) AS attempts
FROM linux_audit_log
WHERE syscall_name = 'connect' AND saddr_ip IS NOT NULL
GROUP BY ALL
ORDER BY attempts DESC;

-- Failed logins
SELECT tp_timestamp, acct, addr, terminal
FROM linux_audit_log
WHERE type IN ('USER_LOGIN', 'USER_AUTH') AND res = 'failed'
ORDER BY tp_timestamp;
