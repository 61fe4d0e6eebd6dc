-- Failed attempts by user and address
SELECT target_user.email AS who, client.ip_address AS address, type, count(*) AS attempts
FROM onepassword_signin_attempt
WHERE tp_outcome = 'failure'
GROUP BY ALL
ORDER BY attempts DESC;

-- Countries that users have signed in from
SELECT target_user.email AS who, list(DISTINCT country) AS countries
FROM onepassword_signin_attempt
WHERE tp_outcome = 'success'
GROUP BY who
ORDER BY len(countries) DESC;
