-- title: Logins
FROM app_log
