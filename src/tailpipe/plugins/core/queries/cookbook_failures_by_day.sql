-- title: Share of failed responses by day, as a bar
-- tags: cookbook, health
-- param: status integer = 500 : a response with this status or a higher one has failed

SELECT
  tp_date,
  round(100.0 * count(*) FILTER (WHERE status >= $status) / count(*), 2) AS percent_failed,
  bar(count(*) FILTER (WHERE status >= $status), 0, 20, 20) AS failed
FROM access_log
GROUP BY tp_date
ORDER BY tp_date
