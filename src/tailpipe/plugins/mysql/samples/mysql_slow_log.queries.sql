-- Queries that took longest
SELECT tp_timestamp, "user", schema, query_time, rows_examined, query
FROM mysql_slow_log
ORDER BY query_time DESC
LIMIT 20;

-- Users by time in slow queries
SELECT "user", count(*) AS queries, sum(query_time) AS seconds, sum(rows_examined) AS rows
FROM mysql_slow_log
GROUP BY "user"
ORDER BY seconds DESC;
