"""Queries over tables of packs: those of their pages, and one query that all tables of a kind answer alike."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from tailpipe.formats import NginxAccessLog
from tailpipe.plugin import Plugin
from tests.unit.plugins.pack_rows import QUERIES, REGISTRY, load_sample, trial_of

PACKS = [plugin for plugin in REGISTRY.plugins.values() if plugin.folder]
WEB = [
    *("apache_access_log", "caddy_access_log", "envoy_access_log", "haproxy_log", "iis_access_log"),
    *("cloudflare_http_request", "nginx_access_log", "squid_access_log", "traefik_access_log"),
]
NOT_LOGGED = {
    "apache_access_log": {"host", "request_time"},
    "cloudflare_http_request": {"remote_user"},
    "envoy_access_log": {"remote_user", "http_referer"},
    "haproxy_log": {"remote_user", "http_referer", "http_user_agent"},
    "iis_access_log": {"server_protocol"},
    "nginx_access_log": {"host", "request_time"},
    "squid_access_log": {"server_protocol", "http_referer", "http_user_agent"},
    "traefik_access_log": {"host"},
}
"""What the usual layouts of a server do not say."""


def queries(path: Path) -> dict[str, str]:
    """The statements of a file, by the titles above them."""
    parts = re.split(r"^-- (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert not parts[0].strip(), f"{path.name} begins with a title"
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)
def test_every_query_of_a_pack_has_an_answer(pack: Plugin) -> None:
    for path in sorted((Path(pack.folder) / "samples").glob(f"*{QUERIES}")):
        name = path.name.removesuffix(QUERIES)
        with duckdb.connect() as connection:
            load_sample(connection, name)
            found = {title: connection.execute(sql).fetchall() for title, sql in queries(path).items()}
        assert len(found) >= 2, f"{name} has two queries at least"
        assert all(found.values()), f"{name}: {[title for title, rows in found.items() if not rows]}"


@pytest.mark.slow
@pytest.mark.parametrize("name", WEB)
def test_all_tables_of_web_servers_answer_one_query_alike(name: str) -> None:
    expected = {
        "remote_addr": "192.0.2.10",
        "remote_user": "anna",
        "request_method": "GET",
        "request_uri": "/shop/cart",
        "server_protocol": "HTTP/1.1",
        "status": 200,
        "body_bytes_sent": 5120,
        "http_referer": "https://shop.example.com/",
        "http_user_agent": "Mozilla/5.0",
        "host": "shop.example.com",
        "request_time": 0.109,
        "tp_outcome": "success",
    }
    with duckdb.connect() as connection:
        load_sample(connection, name)
        sql = f"""
            SELECT remote_addr, remote_user, request_method, split_part(request_uri, '?', 1) AS request_uri,
                server_protocol, status, body_bytes_sent, http_referer,
                split_part(http_user_agent, ' ', 1) AS http_user_agent, host, request_time, tp_outcome
            FROM {name} WHERE status < 400 AND request_uri LIKE '/shop/%'
        """
        (row,) = connection.execute(sql).fetchall()
        failed = f"SELECT tp_source_ip, status FROM {name} WHERE request_method = 'POST' AND tp_outcome = 'failure'"
        assert connection.execute(failed).fetchall() == [("2001:db8::7", 401)]
    missing = dict.fromkeys(NOT_LOGGED.get(name, ()))
    assert dict(zip(expected, row, strict=True)) == {**expected, **missing}


@pytest.mark.slow
def test_tables_of_flows_answer_one_query_alike() -> None:
    sums = "dst_port, sum(bytes), sum(packets), min(start_time) <= max(end_time)"
    sql = f"SELECT {sums} FROM {{}} WHERE protocol = 6 GROUP BY dst_port"
    with duckdb.connect() as connection:
        load_sample(connection, "zeek_conn_log")
        assert connection.execute(sql.format("zeek_conn_log")).fetchall() == [(443, 4193, 13, True)]
        flow = b"version srcaddr dstaddr srcport dstport protocol packets bytes start end\n"
        flow += b"2 192.0.2.10 198.51.100.4 50000 443 6 13 4193 1709632800 1709632801\n"
        found = trial_of(REGISTRY.tables["aws_vpc_flow_log"], flow).rows
        connection.register("aws_vpc_flow_log", found)
        assert connection.execute(sql.format("aws_vpc_flow_log")).fetchall() == [(443, 4193, 13, True)]


def test_a_source_may_bring_its_own_layout_to_a_shipped_table() -> None:
    layout = (
        'log_format own escape=json \'{"time":"$time_iso8601","ip":"$remote_addr","uri":"$request_uri","st":$status,'
        '"took":"$request_time","up":"$upstream_addr","ust":"$upstream_status","x":"$my_variable"}\';'
    )
    line = (
        '{"time":"2024-03-05T10:15:30+01:00","ip":"2001:db8::7","uri":"\\/a\\"b","st":504,"took":"1.5",'
        '"up":"10.0.0.8:80, 10.0.0.9:80 : 10.0.0.7:80","ust":"502, - : 504","x":"y"}'
    )
    rows = trial_of(REGISTRY.tables["nginx_access_log"], line.encode(), NginxAccessLog(layout=layout)).rows
    assert rows is not None
    (row,) = rows.to_pylist()
    assert {name: row[name] for name in ("remote_addr", "request_uri", "status", "request_time", "additional")} == {
        "remote_addr": "2001:db8::7",
        "request_uri": '/a"b',
        "status": 504,
        "request_time": 1.5,
        "additional": '{"my_variable":"y"}',
    }
    assert row["upstream_addrs"] == ["10.0.0.8:80", "10.0.0.9:80", "10.0.0.7:80"]
    assert (row["upstream_statuses"], row["upstream_status"]) == (["502", "-", "504"], 504)
    assert row["tp_ips"] == ["2001:db8::7", "10.0.0.8", "10.0.0.9", "10.0.0.7"]
    assert str(row["tp_timestamp"]) == "2024-03-05 09:15:30"


def test_the_log_of_an_ingress_controller_has_a_layout_of_its_own() -> None:
    line = (
        '192.0.2.10 - - [05/Mar/2024:09:15:30 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/8" 80 0.109 [shop-web-80] []'
        " 10.0.0.8:80 5 0.100 200 abc"
    )
    form = REGISTRY.presets["nginx_access_log.ingress"]
    assert isinstance(form, NginxAccessLog)
    rows = trial_of(REGISTRY.tables["nginx_access_log"], line.encode(), form).rows
    assert rows is not None
    (row,) = rows.to_pylist()
    assert (row["request_length"], row["request_time"], row["upstream_response_time"]) == (80, 0.109, 0.1)
    assert '"req_id":"abc"' in row["additional"]
