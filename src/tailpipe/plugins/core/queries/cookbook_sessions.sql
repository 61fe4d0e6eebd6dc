-- title: Sessions: requests of one address with short pauses between them
-- tags: cookbook, clients
-- param: minutes integer = 30 : a longer pause begins a new session

WITH marked AS (
  SELECT
    tp_source_ip,
    tp_timestamp,
    tp_timestamp - lag(tp_timestamp) OVER (PARTITION BY tp_source_ip ORDER BY tp_timestamp) > to_minutes($minutes) AS is_new
  FROM access_log
), numbered AS (
  SELECT *, sum(coalesce(is_new, true)::INTEGER) OVER (PARTITION BY tp_source_ip ORDER BY tp_timestamp) AS session
  FROM marked
)
SELECT tp_source_ip, session, count(*) AS requests, min(tp_timestamp) AS begun, max(tp_timestamp) - min(tp_timestamp) AS lasted
FROM numbered
GROUP BY ALL
ORDER BY requests DESC
LIMIT 10
