-- title: Files that the rows came from
-- description: Every row knows its file.
-- tags: cookbook, data
-- param: days integer = 7 : look back this many days

SELECT tp_source_location, count(*) AS rows
FROM app_log
WHERE tp_date >= current_date - $days
GROUP BY ALL
ORDER BY tp_source_location
