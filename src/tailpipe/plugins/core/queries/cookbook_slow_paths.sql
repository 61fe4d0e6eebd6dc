-- title: Median, 95th percentile and slowest request by path
-- tags: cookbook, health

SELECT
  path,
  count(*) AS requests,
  round(quantile_cont(duration_ms, 0.5), 1) AS p50,
  round(quantile_cont(duration_ms, 0.95), 1) AS p95,
  max(duration_ms) AS slowest
FROM app_log
GROUP BY path
ORDER BY p95 DESC
