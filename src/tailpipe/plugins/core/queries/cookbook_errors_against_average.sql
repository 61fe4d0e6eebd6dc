-- title: Errors of each day and the mean of the seven days before
-- tags: cookbook, health

WITH daily AS (
  SELECT tp_date, count(*) FILTER (WHERE level = 'error') AS errors FROM app_log GROUP BY tp_date
)
SELECT
  tp_date,
  errors,
  round(avg(errors) OVER (ORDER BY tp_date ROWS BETWEEN 7 PRECEDING AND 1 PRECEDING), 1) AS usual
FROM daily
ORDER BY tp_date DESC
