"""TLS and proxies: certificates are checked, and what logs in goes to the service alone."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.authority import Authority
from tests.http.forward_proxy import ForwardProxy, proxied
from tests.http.server import Events, Server, refusal, served
from tests.http.world import SOURCE, FakeTime, actors, config, world

DAY = ("2024-03-09", "2024-03-09")
TOKEN = "t0ken-of-the-test"
BEARER = f'auth "bearer" {{ token = "{TOKEN}" }}\n'
LINKS = SOURCE + 'pagination "link_header" {}'


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def secure(authority: Authority) -> Iterator[Server]:
    with served(authority.context()) as made:
        Events(made).say("2024-03-09", "ada", "bob", "cy")
        yield made


@pytest.fixture
def proxy() -> Iterator[ForwardProxy]:
    with proxied() as made:
        yield made


def test_a_private_authority_is_trusted_if_config_says_so(secure: Server, authority: Authority, tmp_path: Path) -> None:
    made = world(tmp_path, config(secure.url, LINKS, BEARER + f'ca_file = "{authority.ca_file}"'))
    assert made.collect(*DAY).is_done
    assert actors(made) == ["ada", "bob", "cy"]


def test_a_certificate_of_nobody_is_refused_at_once(secure: Server, tmp_path: Path, clock: FakeTime) -> None:
    summary = world(tmp_path, config(secure.url, LINKS, BEARER)).collect(*DAY)
    assert "the certificate is not trusted" in str(summary)
    assert "set ca_file" in str(summary)
    assert (secure.asked, clock.slept) == ([], [])


def test_a_certificate_of_another_host_is_refused(authority: Authority, tmp_path: Path, clock: FakeTime) -> None:
    with served(authority.context("other.example")) as server:
        made = world(tmp_path, config(server.url, LINKS, BEARER + f'ca_file = "{authority.ca_file}"'))
        assert "the certificate is not trusted" in str(made.collect(*DAY))
        assert server.asked == []


def test_a_client_certificate_is_shown(authority: Authority, tmp_path: Path) -> None:
    with served(authority.context(wants_client=True)) as server:
        Events(server).say("2024-03-09", "ada")
        options = f'ca_file = "{authority.ca_file}"\n client_certificate = "{authority.issue("client")}"'
        made = world(tmp_path, config(server.url, LINKS, options))
        assert made.collect(*DAY).is_done
        assert actors(made) == ["ada"]


def test_a_file_of_certificates_that_is_not_there_is_named(secure: Server, tmp_path: Path) -> None:
    summary = world(tmp_path, config(secure.url, LINKS, 'ca_file = "/nowhere/ca.pem"')).collect(*DAY)
    assert "cannot load ca_file of connection.http.api: No such file or directory" in str(summary)


def test_a_redirect_from_https_to_http_is_refused(
    secure: Server, server: Server, authority: Authority, tmp_path: Path
) -> None:
    secure.faults = [refusal(302, Location=f"{server.url}/x")]
    made = world(tmp_path, config(secure.url, LINKS, BEARER + f'ca_file = "{authority.ca_file}"'))
    assert "redirects to http://127.0.0.1, which is not encrypted" in str(made.collect(*DAY))
    assert server.asked == []


def test_https_goes_through_a_tunnel_that_sees_no_login(
    secure: Server, authority: Authority, proxy: ForwardProxy, tmp_path: Path
) -> None:
    proxy.login = "Basic " + base64.b64encode(b"me:pr0xy-password").decode()
    login = f'proxy = "{proxy.url}"\n proxy_username = "me"\n proxy_password = "pr0xy-password"\n'
    made = world(tmp_path, config(secure.url, LINKS, BEARER + login + f'ca_file = "{authority.ca_file}"'))
    assert made.collect(*DAY).is_done
    assert proxy.seen == [("CONNECT", secure.url.removeprefix("https://"))]
    assert all("proxy-authorization" not in one.headers for one in secure.asked)


def test_http_goes_through_the_proxy_of_the_environment(
    server: Server, proxy: ForwardProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Events(server).say("2024-03-09", "ada")
    monkeypatch.setenv("http_proxy", proxy.url)
    made = world(tmp_path, config(server.url, LINKS))
    assert made.collect(*DAY).is_done
    assert len(proxy.seen) == 1
    assert proxy.seen[0][1].startswith(f"{server.url}/logs?")


@pytest.mark.parametrize("option", ['proxy = ""', ""])
def test_a_proxy_can_be_bypassed(
    server: Server, proxy: ForwardProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    Events(server).say("2024-03-09", "ada")
    monkeypatch.setenv("http_proxy", proxy.url)
    if not option:
        monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = world(tmp_path, config(server.url, LINKS, option))
    assert made.collect(*DAY).is_done
    assert proxy.seen == []


def test_a_proxy_that_refuses_is_reported_without_the_password(
    secure: Server, authority: Authority, proxy: ForwardProxy, tmp_path: Path, clock: FakeTime
) -> None:
    proxy.login = "Basic other"
    login = f'proxy = "{proxy.url}"\n proxy_username = "me"\n proxy_password = "pr0xy-password"\n max_retries = 0\n'
    summary = world(tmp_path, config(secure.url, LINKS, login + f'ca_file = "{authority.ca_file}"')).collect(*DAY)
    assert "Tunnel connection failed: 407" in str(summary)
    assert "pr0xy-password" not in str(summary)
