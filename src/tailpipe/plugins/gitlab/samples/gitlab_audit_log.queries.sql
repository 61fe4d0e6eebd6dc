-- Projects whose visibility was changed
SELECT tp_timestamp, author_name, target_details, "from", "to"
FROM gitlab_audit_log
WHERE change = 'visibility'
ORDER BY tp_timestamp;

-- Events by author and address
SELECT author_name, tp_source_ip, count(*) AS events
FROM gitlab_audit_log
GROUP BY ALL
ORDER BY events DESC;
