-- title: Orders and payments by user
-- description: JSON and structs are reached with a dot or an arrow.
-- tags: cookbook, shape
-- param: who varchar = '' : only this user; empty for all

SELECT user, count(*) AS orders, round(sum(("order"->>'total')::DOUBLE), 2) AS paid
FROM app_log
WHERE "order" IS NOT NULL AND ($who = '' OR user = $who)
GROUP BY user
ORDER BY paid DESC
