-- Failed sign-ins by user and reason
SELECT user_principal_name, status.error_code, status.failure_reason, count(*) AS sign_ins
FROM azure_signin_log
WHERE status.error_code <> 0
GROUP BY ALL
ORDER BY sign_ins DESC;

-- Users that sign in from several countries
SELECT user_principal_name, count(DISTINCT location.country_or_region) AS countries, list(DISTINCT ip_address) AS addresses
FROM azure_signin_log
WHERE user_principal_name IS NOT NULL
GROUP BY user_principal_name
ORDER BY countries DESC;

-- Sign-ins of service principals
SELECT service_principal_name, resource_display_name, count(*) AS sign_ins
FROM azure_signin_log
WHERE service_principal_id IS NOT NULL
GROUP BY ALL;
