-- Cost by resource group
SELECT subscription_id, resource_group_name, round(sum(cost_in_billing_currency), 2) AS cost
FROM azure_cost_and_usage_actual
GROUP BY ALL
ORDER BY cost DESC;

-- Cost by tag
SELECT tags->>'env' AS environment, sum(cost_in_billing_currency) AS cost
FROM azure_cost_and_usage_actual
WHERE tags IS NOT NULL
GROUP BY ALL;
