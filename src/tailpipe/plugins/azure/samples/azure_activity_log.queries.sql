-- Failed operations by caller
SELECT caller, operation_name, sub_status, count(*) AS operations
FROM azure_activity_log
WHERE status = 'Failed'
GROUP BY ALL
ORDER BY operations DESC;

-- Storage accounts that were changed
SELECT event_timestamp, caller, http_request.client_ip_address, resource_id
FROM azure_activity_log
WHERE operation_name = 'Microsoft.Storage/storageAccounts/write' AND status = 'Succeeded'
ORDER BY event_timestamp;

-- Operations by subscription and resource group
SELECT subscription_id, resource_group_name, count(*) AS operations
FROM azure_activity_log
WHERE subscription_id IS NOT NULL
GROUP BY ALL
ORDER BY operations DESC;
