-- title: The last network flow before each error
-- description: An ASOF join takes the newest earlier row.
-- tags: cookbook, clients

SELECT app.tp_timestamp, app.message, flow.tp_source_ip, app.tp_timestamp - flow.tp_timestamp AS before
FROM app_log app
ASOF JOIN flow_log flow ON app.tp_timestamp >= flow.tp_timestamp
WHERE app.level = 'error'
ORDER BY app.tp_timestamp DESC
LIMIT 10
