-- title: A column for each status, a row for each day
-- tags: cookbook, shape

PIVOT access_log ON status USING count(*) GROUP BY tp_date ORDER BY tp_date
