"""The source `sftp` against a server in this process, and against OpenSSH's."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from tailpipe.errors import ChangedError, ConfigError, TailpipeError
from tailpipe.plugin import Secret, Window
from tailpipe.plugins.sftp.connection import Sftp
from tailpipe.plugins.sftp.session import close_sessions
from tailpipe.plugins.sftp.source import SftpFiles
from tests.feeds.sftp_server import Server
from tests.unit.collect.support import World

ALL = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC))
LAYOUT = "(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}"
CONFIG = """
connection "sftp" "test" {
  host     = "127.0.0.1"
  port     = PORT
  username = "anna"
  password = "open-sesame"
  host_key = "HOST_KEY"
  timeout  = "10s"
}
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
partition "app" "x" {
  source "sftp" {
    paths       = ["/"]
    connection  = connection.sftp.test
    LAYOUT
  }
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "drop").mkdir()
    return tmp_path / "drop"


@pytest.fixture
def server(root: Path, no_sessions: None) -> Iterator[Server]:
    running = Server(root)
    yield running
    close_sessions()
    running.close()


@pytest.fixture(autouse=True)
def no_sessions() -> Iterator[None]:
    yield
    close_sessions()


def login(server: Server, **options: Any) -> Sftp:
    given = {"username": "anna", "password": Secret("open-sesame"), "host_key": server.host_key, "max_retries": 1}
    return Sftp(name="test", host="127.0.0.1", port=server.port, agent=False, timeout="10s", **{**given, **options})


def source(server: Server, *paths: str, **options: Any) -> SftpFiles:
    return SftpFiles(name="sftp", paths=paths or ("/",), connection=login(server, **options))


def names(found: SftpFiles) -> list[str]:
    return [one.path for one in found.artifacts(ALL) if not one.unavailable]


def rows(*messages: str, day: str = "2024-03-09") -> str:
    return "".join(json.dumps({"time": f"{day}T10:00:00Z", "message": one}) + "\n" for one in messages)


def world_of(server: Server, tmp_path: Path, layout: str = f"file_layout = `{LAYOUT}`") -> World:
    text = CONFIG.replace("PORT", str(server.port)).replace("HOST_KEY", server.host_key).replace("LAYOUT", layout)
    return World(tmp_path / "world", text)


def test_files_grow_rotate_and_are_replaced_and_each_row_comes_once(server: Server, root: Path, tmp_path: Path) -> None:
    (tmp_path / "world").mkdir()
    world = world_of(server, tmp_path, "")
    log = root / "app.log"
    log.write_text(rows("one"))
    assert world.collect("2024-03-01").is_done
    with log.open("a") as file:
        file.write(rows("two") + rows("half a li")[:20])
    assert world.collect().is_done
    assert world.rows() == ["one", "two"]
    log.rename(root / "app.log.1")
    (root / "app.log").write_text(rows("three"))
    os.utime(root / "app.log.1", (1, 1))
    assert world.collect().is_done
    (root / "app.log.2.gz").write_bytes(gzip.compress((root / "app.log.1").read_bytes()))
    os.utime(root / "app.log.2.gz", (1, 1))
    (root / "app.log.1").unlink()
    assert world.collect().is_done
    assert world.rows() == ["one", "three", "two"]
    assert not world.has_twins()
    assert world.rows("DISTINCT tp_source_name") == ["127.0.0.1"]


def test_layouts_date_files_and_late_ones_are_found(server: Server, root: Path, tmp_path: Path) -> None:
    (tmp_path / "world").mkdir()
    world = world_of(server, tmp_path)
    (root / "a").mkdir()
    (root / "a" / "2024-03-09.jsonl").write_text(rows("one"))
    (root / "other.txt").write_text("no log")
    assert world.collect().is_done
    (root / "2024-02-20.jsonl").write_text(rows("late", day="2024-02-20"))
    assert world.collect().is_done
    assert world.rows("tp_date::VARCHAR, message") == [("2024-02-20", "late"), ("2024-03-09", "one")]


def test_globs_links_and_strange_names(server: Server, root: Path) -> None:
    for name in ("web-1/a.log", "web-2/b.log", "web-2/deep/c.log", "db/d.log", "x y%[1].log", "é\n.log", ".hidden"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    bad = os.fsencode(root) + b"/caf\xe9.log"
    Path(os.fsdecode(bad)).write_text("bytes")
    (root / "loop").symlink_to(root)
    (root / "web-1" / "out.log").symlink_to("/etc/passwd")
    assert len(names(source(server))) == 8
    assert names(source(server, "/web-*/*.log")) == ["web-1/a.log", "web-2/b.log"]
    assert names(source(server, "/web-*")) == ["web-1/a.log", "web-2/b.log", "web-2/deep/c.log"]
    assert names(source(server, "/**/*.log", "/db/d.log", "db")) == sorted(
        ["caf%E9.log", "db/d.log", "é\n.log", "web-1/a.log", "web-2/b.log", "web-2/deep/c.log", "x y%[1].log"]
    )
    reader = source(server)
    for artifact in reader.artifacts(ALL):
        with reader.open(artifact) as stream:
            assert stream.read().decode() in ("bytes", artifact.path)
    (only,) = source(server, "/web-1/out*").artifacts(ALL)
    assert "symbolic links are not followed" in only.unavailable


def test_a_source_travels_and_reads_ranges(server: Server, root: Path) -> None:
    data = bytes(range(256)) * 40_000
    (root / "big.bin").write_bytes(data)
    made = pickle.loads(pickle.dumps(source(server)))
    (artifact,) = made.artifacts(ALL)
    with made.open(artifact) as stream:
        assert stream.read() == data
        assert stream.seek(-3, os.SEEK_END) == len(data) - 3
        assert stream.read() == data[-3:]
        stream.seek(0)
        server.cut()
        assert stream.read(300) == data[:300]


@pytest.mark.parametrize("change", ["truncate", "remove", "directory", "link"])
def test_a_file_that_is_another_when_it_is_read_is_listed_again(server: Server, root: Path, change: str) -> None:
    log = root / "a.log"
    log.write_text("one\ntwo\n")
    made = source(server)
    (artifact,) = made.artifacts(ALL)
    log.unlink()
    if change == "truncate":
        log.write_text("x")
    elif change == "directory":
        log.mkdir()
    elif change == "link":
        log.symlink_to("/etc/hostname")
    with pytest.raises(ChangedError):
        made.open(artifact)


def test_a_file_that_is_rewritten_while_it_is_read_is_listed_again(server: Server, root: Path) -> None:
    log = root / "a.log"
    log.write_bytes(b"x" * 600_000)
    made = source(server)
    (artifact,) = made.artifacts(ALL)
    with made.open(artifact) as stream:
        stream.read(10)
        log.write_bytes(b"y" * 700_000)
        with pytest.raises(ChangedError, match="truncated or rewritten"):
            stream.read()


def test_an_unknown_server_is_refused_with_the_next_step(server: Server, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    options = {"host_key": None, "known_hosts": str(known)}
    for text in ("", "elsewhere " + server.host_key + "\n"):
        known.write_text(text)
        with pytest.raises(TailpipeError, match=f"the host key of 127.0.0.1:{server.port} is not in") as caught:
            names(source(server, **options))
        assert f"ssh-keyscan -p {server.port} 127.0.0.1" in caught.value.hint
    known.unlink()
    with pytest.raises(TailpipeError, match="is not in"):
        names(source(server, **options))
    known.write_text(f"[127.0.0.1]:{server.port} {server.host_key}\n")
    assert names(source(server, **options)) == []


def test_a_server_with_another_key_is_refused(server: Server) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
    with pytest.raises(TailpipeError, match="is not the one in host_key: it has changed, or the server is another"):
        names(source(server, host_key=other))


def test_a_wrong_login_is_told_without_the_secret(server: Server, root: Path, tmp_path: Path) -> None:
    with pytest.raises(TailpipeError, match=r"refused the login of connection\.sftp\.test") as caught:
        names(source(server, password=Secret("hunter2")))
    assert "hunter2" not in caught.value.with_hint
    (tmp_path / "no-key").write_text("nonsense")
    with pytest.raises(TailpipeError, match=r"the private key .* cannot be read"):
        names(source(server, private_key=str(tmp_path / "no-key")))
    with pytest.raises(TailpipeError, match=r'there is no file ".*nowhere"'):
        names(source(server, private_key=str(tmp_path / "nowhere")))


@pytest.mark.parametrize("kind", ["openssh", "pkcs8-pem"])
def test_a_key_with_a_passphrase_logs_in(root: Path, tmp_path: Path, kind: str) -> None:
    if kind == "openssh":
        if shutil.which("ssh-keygen") is None:
            pytest.skip("there is no ssh-keygen: apt install openssh-client")
        words = ["-q", "-t", "ed25519", "-N", "sesame", "-f", str(tmp_path / "id")]
        subprocess.run(["ssh-keygen", *words], check=True, capture_output=True)
    else:
        key = asyncssh.generate_private_key("ssh-ed25519")
        (tmp_path / "id").write_bytes(key.export_private_key("pkcs8-pem", passphrase="sesame"))
        (tmp_path / "id.pub").write_bytes(key.export_public_key())
    server = Server(root, str(tmp_path / "id.pub"))
    try:
        (root / "a.log").write_text("x")
        options = {"password": None, "private_key": str(tmp_path / "id"), "passphrase": Secret("sesame")}
        assert names(source(server, **options)) == ["a.log"]
        with pytest.raises(TailpipeError, match="cannot be read"):
            names(source(server, **{**options, "passphrase": Secret("wrong")}))
    finally:
        close_sessions()
        server.close()


def test_a_server_that_does_not_answer_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        connection = Sftp(host="127.0.0.1", port=free.getsockname()[1], max_retries=0, timeout="2s")
        with pytest.raises(TailpipeError, match="does not answer"):
            list(SftpFiles(paths=("/",), connection=connection).artifacts(ALL))


@pytest.mark.parametrize("name", [b"../../etc/passwd", b"a/b", b"", b"a\0b"])
def test_a_server_that_lists_names_that_lead_elsewhere_is_refused(root: Path, name: bytes) -> None:
    class Hostile(asyncssh.SFTPServer):
        async def scandir(self, path: bytes) -> Any:
            yield asyncssh.SFTPName(name, attrs=asyncssh.SFTPAttrs(permissions=0o100644, size=1, mtime=1))

    server = Server(root, factory=lambda link: Hostile(link, chroot=bytes(root)))
    try:
        with pytest.raises(TailpipeError, match="lists a name that leads elsewhere"):
            names(source(server))
    finally:
        close_sessions()
        server.close()


def test_directories_without_end_are_a_problem(root: Path) -> None:
    class Endless(asyncssh.SFTPServer):
        async def scandir(self, path: bytes) -> Any:
            yield asyncssh.SFTPName(b"again", attrs=asyncssh.SFTPAttrs(permissions=0o040755))

    server = Server(root, factory=lambda link: Endless(link, chroot=bytes(root)))
    try:
        (found,) = source(server).artifacts(ALL)
        assert "more than 64 directories in one another" in found.problem
    finally:
        close_sessions()
        server.close()


def test_what_is_not_there_is_named(server: Server) -> None:
    for path in ("/nowhere", "nowhere/*.log"):
        with pytest.raises(TailpipeError, match=f"there is no .*nowhere.* on 127.0.0.1:{server.port}"):
            names(source(server, path))
    with pytest.raises(TailpipeError, match=r"connection\.sftp\.default has no host"):
        list(SftpFiles(paths=("/",)).artifacts(ALL))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('host = "sftp://x"', '"sftp://x" is not a host'),
        ('host = "-oProxyCommand=x"', '"-oProxyCommand=x" is not a host'),
        ("port = 0", "port must be between 1 and 65,535"),
        ('timeout = "0s"', '"0s" is no time'),
    ],
)
def test_options_that_cannot_be_meant_are_refused(tmp_path: Path, option: str, message: str) -> None:
    world = World(tmp_path, f'connection "sftp" "x" {{ {option} }}')
    with pytest.raises(ConfigError) as caught:
        assert world.config
    assert [one.message for one in caught.value.diagnostics] == [message]


@pytest.mark.slow
@pytest.mark.parametrize("point", ["staging.made", "commit.before", "commit.after"])
def test_a_kill_loses_no_row_and_doubles_none(server: Server, root: Path, tmp_path: Path, point: str) -> None:
    (tmp_path / "world").mkdir()
    world = world_of(server, tmp_path)
    (root / "2024-03-09.jsonl").write_text(rows("one", "two"))
    (tmp_path / "config.tpc").write_text(world.text)
    now = (world.now + timedelta(minutes=1)).isoformat()
    call = [sys.executable, "-m", "tests.feeds.collector", str(world.root), str(tmp_path / "config.tpc"), now]
    killed = subprocess.run([*call, f"{point}=kill"], capture_output=True, check=False, timeout=120)
    assert killed.returncode == -9, killed.stderr.decode()
    assert world.collect().is_done
    assert world.rows() == ["one", "two"]


@pytest.mark.slow
def test_openssh_is_read_as_well(root: Path, tmp_path: Path) -> None:
    sshd = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin")
    if sshd is None:
        pytest.skip("there is no sshd: apt install openssh-server")
    for name in ("host", "client"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    Path("/run/sshd").mkdir(exist_ok=True)
    (tmp_path / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/client.pub\n"
        f"StrictModes no\nUsePAM no\nPidFile {tmp_path}/pid\nSubsystem sftp internal-sftp\n"
    )
    (root / "2024-03-09.jsonl").write_text(rows("one"))
    with subprocess.Popen(
        [sshd, "-D", "-e", "-f", str(tmp_path / "sshd_config")], stderr=subprocess.DEVNULL
    ) as running:
        try:
            _await_port(port)
            known = tmp_path / "known_hosts"
            known.write_text(f"[127.0.0.1]:{port} {(tmp_path / 'host.pub').read_text()}")
            made = SftpFiles(
                paths=(str(root),),
                connection=Sftp(
                    host="127.0.0.1",
                    port=port,
                    username=os.environ.get("USER", "root"),
                    private_key=str(tmp_path / "client"),
                    known_hosts=str(known),
                ),
            )
            (artifact,) = made.artifacts(ALL)
            assert artifact.path == "2024-03-09.jsonl"
            with made.open(artifact) as stream:
                assert stream.read().decode() == rows("one")
            close_sessions()
        finally:
            running.terminate()


def _await_port(port: int) -> None:
    for _ in range(200):
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
