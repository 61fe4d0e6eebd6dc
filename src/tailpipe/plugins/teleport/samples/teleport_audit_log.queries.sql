-- Failed logins by address
SELECT user, tp_source_ip, error, count(*) AS logins
FROM teleport_audit_log
WHERE event = 'user.login' AND NOT success
GROUP BY ALL
ORDER BY logins DESC;

-- Sessions, and how long they were
SELECT user, login, server_hostname, session_stop - session_start AS duration
FROM teleport_audit_log
WHERE event = 'session.end'
ORDER BY duration DESC;

-- Statements in databases
SELECT time, user, db_name, db_user, db_query
FROM teleport_audit_log
WHERE event = 'db.session.query'
ORDER BY time;
