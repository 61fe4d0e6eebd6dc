-- Who got a role
SELECT activity_date_time, initiated_by.user.user_principal_name AS by_user, target_resources->>'$[0].userPrincipalName' AS member
FROM azure_audit_log
WHERE activity_display_name = 'Add member to role'
ORDER BY activity_date_time;

-- Changes by category and result
SELECT category, operation_type, result, count(*) AS changes
FROM azure_audit_log
GROUP BY ALL
ORDER BY changes DESC;
