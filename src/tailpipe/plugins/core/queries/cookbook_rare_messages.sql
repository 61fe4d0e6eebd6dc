-- title: Rare messages of yesterday
-- tags: cookbook, health
-- param: percent integer = 10 : messages below this share are shown

SELECT message, count(*) AS times, round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS percent
FROM app_log
WHERE tp_date = current_date - 1
GROUP BY message
QUALIFY percent < $percent
ORDER BY times
LIMIT 10
