-- Cost by service
SELECT invoice_month, service_description, round(sum(cost), 2) AS cost, currency
FROM gcp_billing_report
GROUP BY ALL
ORDER BY cost DESC;

-- Cost after credits, by project
SELECT project_id, sum(cost) AS cost, sum(coalesce((credits->>'$[0].amount')::DOUBLE, 0)) AS first_credit
FROM gcp_billing_report
WHERE project_id IS NOT NULL
GROUP BY project_id;
