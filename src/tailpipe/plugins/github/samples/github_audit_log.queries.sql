-- Who changed what, most often
SELECT actor, action, count(*) AS events, max(tp_timestamp) AS last
FROM github_audit_log
GROUP BY ALL
ORDER BY events DESC;

-- Repositories that were made, made public or removed
SELECT tp_timestamp, actor, action, repo, additional_fields->>'visibility' AS visibility
FROM github_audit_log
WHERE action IN ('repo.create', 'repo.access', 'repo.destroy', 'repo.transfer')
ORDER BY tp_timestamp;

-- Addresses that tokens were used from
SELECT hashed_token, list(DISTINCT actor_ip) AS addresses, count(*) AS events
FROM github_audit_log
WHERE hashed_token IS NOT NULL
GROUP BY hashed_token
ORDER BY len(addresses) DESC;
