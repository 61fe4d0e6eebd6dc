-- title: Rows, first and last event of each day
-- tags: cookbook, data

SELECT tp_date, count(*) AS rows, min(tp_timestamp) AS first, max(tp_timestamp) AS last
FROM access_log
GROUP BY tp_date
ORDER BY tp_date DESC
