-- Sign-ins by address
SELECT tp_source_ip, count(*) AS logins, max(tp_timestamp) AS last
FROM github_security_log
WHERE action = 'user.login'
GROUP BY tp_source_ip
ORDER BY last DESC;

-- Keys, tokens and applications that were added
SELECT tp_timestamp, action, coalesce(oauth_application_name, title, fingerprint) AS what
FROM github_security_log
WHERE action LIKE '%.create'
ORDER BY tp_timestamp;
