-- Failed logins by address
SELECT ip, count(*) AS failures, count(DISTINCT user_name) AS users
FROM auth0_log
WHERE type IN ('f', 'fp', 'fu')
GROUP BY ip
ORDER BY failures DESC;

-- Accounts and addresses that were blocked, or whose password has leaked
SELECT tp_timestamp, type, user_name, ip
FROM auth0_log
WHERE type LIKE 'limit_%' OR type LIKE '%pwd_leak'
ORDER BY tp_timestamp;

-- Events by outcome and application
SELECT client_name, tp_outcome, count(*) AS events
FROM auth0_log
GROUP BY ALL
ORDER BY events DESC;
