-- Users who used the most items
SELECT "user".email AS who, count(DISTINCT item_uuid) AS items, count(*) AS uses
FROM onepassword_item_usage
GROUP BY who
ORDER BY items DESC;

-- Items that were revealed, or copied
SELECT tp_timestamp, "user".email AS who, vault_uuid, item_uuid, action
FROM onepassword_item_usage
WHERE action IN ('reveal', 'secure-copy')
ORDER BY tp_timestamp;
