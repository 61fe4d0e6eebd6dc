-- Acts by administrator
SELECT username, action, count(*) AS acts, max(tp_timestamp) AS last
FROM duo_admin_log
GROUP BY ALL
ORDER BY acts DESC;

-- Failed logins of administrators
SELECT tp_timestamp, username, description
FROM duo_admin_log
WHERE action = 'admin_login_error'
ORDER BY tp_timestamp;
