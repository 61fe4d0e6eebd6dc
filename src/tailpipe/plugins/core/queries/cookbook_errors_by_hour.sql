-- title: Errors by hour, including hours without any
-- tags: cookbook, health
-- param: hours integer = 24 : look back this many hours

WITH hours AS (
  SELECT unnest(generate_series(date_trunc('hour', now()::TIMESTAMP) - to_hours($hours), now()::TIMESTAMP, INTERVAL 1 HOUR)) AS hour
)
SELECT hours.hour, count(log.tp_id) AS errors
FROM hours
LEFT JOIN app_log log ON log.level = 'error' AND date_trunc('hour', log.tp_timestamp) = hours.hour
GROUP BY ALL
ORDER BY hour
