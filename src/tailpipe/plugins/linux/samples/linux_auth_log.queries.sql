-- Failed logins by address
SELECT tp_source_ip, count(*) AS failures, count(DISTINCT "user") AS users, max(tp_timestamp) AS last
FROM linux_auth_log
WHERE action = 'login' AND outcome = 'failure'
GROUP BY tp_source_ip
ORDER BY failures DESC, tp_source_ip;

-- Commands that ran with sudo
SELECT tp_timestamp, host, sudo_user, sudo_target_user, command, outcome
FROM linux_auth_log
WHERE action = 'sudo'
ORDER BY tp_timestamp;

-- Successful logins with their keys
SELECT tp_timestamp, host, "user", method, tp_source_ip, ssh_key
FROM linux_auth_log
WHERE action = 'login' AND outcome = 'success'
ORDER BY tp_timestamp;
