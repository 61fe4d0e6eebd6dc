"""How a command starts Spark: at once, only if there is work, and in the usual way if anything is unusual."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.spark.homes import Home, WatchedJava

BROKEN = '[ "$kind" != direct ] || { echo cannot do that >&2; exit 5; }'


def scratch(home: Home) -> list[str]:
    return sorted(path.name for path in home.root.glob("cache/spark/*"))


@pytest.mark.slow
def test_a_run_with_nothing_new_starts_no_java_and_one_with_something_new_starts_one(tmp_path: Path) -> None:
    java = WatchedJava(tmp_path / "java")
    home = Home(tmp_path / "home", JAVA_HOME=str(java.home))
    home.collect(1)
    assert java.starts == ["direct"]
    done = home.run("collect", "--from", "2024-03-01", "--no-progress")
    assert done.returncode == 0, done.stderr
    assert home.run("collect", "--dry-run", "--from", "2024-03-01").returncode == 0
    assert java.starts == ["direct"]
    assert scratch(home) == []


@pytest.mark.slow
def test_a_java_that_was_started_ahead_for_nothing_leaves_nothing_behind(tmp_path: Path) -> None:
    java = WatchedJava(tmp_path / "java")
    home = Home(tmp_path / "home", JAVA_HOME=str(java.home))
    done = home.run("collect", "--from", "2024-03-01", "--no-progress")  # no file is there yet
    assert done.returncode == 0, done.stderr
    assert java.starts in ([], ["direct"])  # it may have been ended before it could note its start
    assert scratch(home) == []
    assert not any(str(tmp_path) in one for one in commands())


def commands() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue  # it has ended
    return found


@pytest.mark.slow
def test_if_java_does_not_start_in_our_way_it_starts_in_that_of_spark(tmp_path: Path) -> None:
    java = WatchedJava(tmp_path / "java", before=BROKEN)
    home = Home(tmp_path / "home", JAVA_HOME=str(java.home))
    home.collect(1)
    assert [kind for kind in java.starts if kind != "other"] == ["direct", "submit", "submit"]  # one is the launcher's
    assert scratch(home) == []
    (log,) = home.root.rglob("spark.log")
    assert "cannot do that" in log.read_text()


@pytest.mark.slow
def test_jars_of_the_workspace_are_left_to_the_scripts_of_spark(tmp_path: Path) -> None:
    java = WatchedJava(tmp_path / "java")
    home = Home(tmp_path / "home", JAVA_HOME=str(java.home))
    text = 'workspace "default" {\n  spark {\n    conf = { "spark.files" = "FILE" }\n  }\n}\n'
    (home.root / "config" / "w.tpc").write_text(text.replace("FILE", str(home.root / "config" / "app.tpc")))
    home.collect(1)
    assert "direct" not in java.starts
    assert "submit" in java.starts


@pytest.mark.slow
def test_a_setting_that_spark_refuses_is_told_at_once(tmp_path: Path) -> None:
    java = WatchedJava(tmp_path / "java")
    home = Home(tmp_path / "home", JAVA_HOME=str(java.home))
    text = 'workspace "default" {\n  spark {\n    conf = { "spark.memory.fraction" = "lots" }\n  }\n}\n'
    (home.root / "config" / "w.tpc").write_text(text)
    (home.root / "logs" / "1.jsonl").write_text('{"time": "2024-03-01T10:00:00Z"}\n')
    done = home.run("collect", "--from", "2024-03-01", "--no-progress")
    assert done.returncode == 1
    assert "Spark did not start: " in done.stdout
    assert "spark.log" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert java.starts == ["direct"]


@pytest.mark.slow
def test_without_a_java_on_the_path_the_one_of_the_package_is_started(tmp_path: Path) -> None:
    home = Home(tmp_path / "a home", PATH=str(tmp_path))
    home.env.pop("JAVA_HOME", None)
    home.collect(1)
    assert (home.root / "cache" / "java" / "bin" / "java").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_java_that_was_started_ahead_ends_with_the_command(tmp_path: Path, number: signal.Signals) -> None:
    java = WatchedJava(tmp_path / "java")
    home = Home(tmp_path / "home", JAVA_HOME=str(java.home))
    (home.root / "logs" / "1.jsonl").write_text('{"time": "2024-03-01T10:00:00Z"}\n')
    call = [sys.executable, "-m", "tailpipe", "collect", "--from", "2024-03-01", "--no-progress"]
    process = subprocess.Popen(call, env=home.env, cwd=home.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while "direct" not in java.starts:
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=240)
    assert b"Traceback" not in out
    end = time.monotonic() + 240
    while any(str(home.root) in one for one in commands()):
        assert time.monotonic() < end
        time.sleep(0.05)
    home.collect(1)
    assert scratch(home) == []


@pytest.mark.slow
def test_two_first_runs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", TAILPIPE_AUTO_WARMUP="yes")
    (home.root / "more").mkdir()
    other = f'partition "app_log" "y" {{\n  source "file" {{ paths = ["{home.root}/more"] }}\n}}\n'
    (home.root / "config" / "other.tpc").write_text(other)
    for name in ("logs", "more"):
        (home.root / name / "1.jsonl").write_text('{"time": "2024-03-01T10:00:00Z"}\n')
    calls = [[sys.executable, "-m", "tailpipe", "collect", f"app_log.{name}", "--from", "2024-03-01"] for name in "xy"]
    both = [subprocess.Popen(call, env=home.env, cwd=home.root, stdout=subprocess.PIPE, text=True) for call in calls]
    assert [one.communicate()[0].partition(",")[0] for one in both] == ["app_log.x: 1 row", "app_log.y: 1 row"]
    home.wait_for_archive()
    home.env["TAILPIPE_AUTO_WARMUP"] = "no"
    (home.root / "logs" / "2.jsonl").write_text('{"time": "2024-03-01T10:00:00Z"}\n')
    done = home.run("collect", "--from", "2024-03-01", "--no-progress")
    assert done.returncode == 0, done.stderr
    assert len(home.archives) == 1
    assert list(home.root.glob("cache/java/draft-*")) == []


@pytest.mark.slow
def test_no_process_of_a_run_imports_pandas(tmp_path: Path) -> None:
    (tmp_path / "modules" / "pandas").mkdir(parents=True)
    seen = tmp_path / "seen"
    text = f"import sys\nwith open({str(seen)!r}, 'a') as file: file.write(str(sys.orig_argv))\nraise ImportError\n"
    (tmp_path / "modules" / "pandas" / "__init__.py").write_text(text)
    home = Home(tmp_path / "home", PYTHONPATH=str(tmp_path / "modules"))
    home.collect(1)
    assert not seen.exists(), seen.read_text()
