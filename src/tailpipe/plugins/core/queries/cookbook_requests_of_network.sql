-- title: Requests from a network
-- description: Addresses compare as networks, for IPv4 and IPv6 alike.
-- tags: cookbook, clients
-- param: network inet = 203.0.113.0/26 : network of the addresses

SELECT tp_source_ip, count(*) AS requests
FROM access_log
WHERE tp_source_ip::inet <<= $network::inet
GROUP BY tp_source_ip
ORDER BY requests DESC
