from __future__ import annotations

from pathlib import Path

import pytest

from tailpipe.config.config import Config
from tailpipe.config.environment import Environment, Settings
from tailpipe.config.settings import LogLevels
from tailpipe.errors import UsageError
from tests.unit.config.world import build

HOME = {"HOME": "/home/me"}


def settings(block: str = "", **env: str) -> Settings:
    return Settings.resolve(Environment.resolve({**HOME, **env}), build(block))


def test_without_anything_the_defaults_hold() -> None:
    environment = Environment.resolve(HOME)
    assert environment.install_dir == Path("/home/me/.tailpipe")
    assert environment.config_paths == (Path("/home/me/.tailpipe/config"),)
    assert environment.has_own_config
    assert environment.workspace == "default"
    found = Settings.resolve(environment, Config())
    assert found.location == found.data_dir == Path("/home/me/.tailpipe/data/default")
    assert found.log_levels.level == "warning"


def test_the_install_directory_moves_config_and_data() -> None:
    found = Environment.resolve({**HOME, "TAILPIPE_INSTALL_DIR": "~/tp"})
    assert found.config_paths == (Path("/home/me/tp/config"),)
    assert Settings.resolve(found, Config()).location == Path("/home/me/tp/data/default")


def test_a_flag_wins_over_the_environment_for_the_config_path(tmp_path: Path) -> None:
    for name in ("flag", "variable"):
        (tmp_path / name).mkdir()
    env = {**HOME, "TAILPIPE_CONFIG_PATH": str(tmp_path / "variable")}
    assert Environment.resolve(env).config_paths == (tmp_path / "variable",)
    assert not Environment.resolve(env).has_own_config
    assert Environment.resolve(env, config_path=str(tmp_path / "flag")).config_paths == (tmp_path / "flag",)


def test_several_config_paths_have_colons_between(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    found = Environment.resolve(HOME, config_path=f"{tmp_path / 'a'}:{tmp_path / 'b'}:")
    assert found.config_paths == (tmp_path / "a", tmp_path / "b")


def test_a_relative_config_path_is_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    assert Environment.resolve(HOME, config_path="config").config_paths == (tmp_path / "config",)


def test_a_config_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "none", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match=r"there is no .* to read config from"):
            Environment.resolve(HOME, config_path=str(path))
        with pytest.raises(UsageError, match=r"there is no .* to read config from"):
            Environment.resolve({**HOME, "TAILPIPE_CONFIG_PATH": str(path)})


def test_a_config_path_that_cannot_be_asked_for_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read config from .*: File name too long"):
        Environment.resolve(HOME, config_path=str(tmp_path / ("x" * 300)))


def test_a_flag_wins_over_the_environment_for_the_workspace() -> None:
    env = {**HOME, "TAILPIPE_WORKSPACE": "variable"}
    assert Environment.resolve(env).workspace == "variable"
    assert Environment.resolve(env, workspace="flag").workspace == "flag"


def test_the_environment_wins_over_the_workspace_block_and_that_over_the_default() -> None:
    block = 'workspace "default" { log_level = "info" }'
    assert settings().log_levels.level == "warning"
    assert settings(block).log_levels.level == "info"
    assert settings(block, TAILPIPE_LOG_LEVEL="debug").log_levels.level == "debug"
    assert settings(block, TAILPIPE_LOG_LEVEL="DEBUG").log_levels.level == "debug"
    assert settings(block, TAILPIPE_LOG_LEVEL="").log_levels.level == "info"


def test_the_workspace_block_says_where_the_data_lies() -> None:
    found = settings('workspace "default" { location = "~/logs" }')
    assert found.location == found.data_dir == Path("/home/me/logs")
    found = settings('workspace "default" { location = "/fast" data_dir = "/shared/~" }')
    assert (found.location, found.data_dir) == (Path("/fast"), Path("/shared/~"))


def test_the_block_of_the_chosen_workspace_counts() -> None:
    blocks = 'workspace "default" { location = "/a" }\nworkspace "other" { location = "/b" }\nworkspace "third" {}'
    assert settings(blocks).location == Path("/a")
    assert settings(blocks, TAILPIPE_WORKSPACE="other").location == Path("/b")
    assert settings(blocks, TAILPIPE_WORKSPACE="third").location == Path("/home/me/.tailpipe/data/third")


def test_an_unknown_workspace_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match='there is no workspace "prodution"') as caught:
        settings('workspace "production" {}', TAILPIPE_WORKSPACE="prodution")
    assert caught.value.hint == 'did you mean "production"?'
    with pytest.raises(UsageError) as caught:
        settings("", TAILPIPE_WORKSPACE="zzz")
    assert caught.value.hint == 'add it to the config: workspace "zzz" {}'


def test_an_unknown_log_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match='TAILPIPE_LOG_LEVEL is "loud": there is no level "loud"') as caught:
        settings(TAILPIPE_LOG_LEVEL="loud")
    assert caught.value.hint == "the levels are: debug, info, warning, error, off"


def test_a_variable_that_only_names_loggers_leaves_the_level_to_the_workspace() -> None:
    block = 'workspace "default" { log_level = "info" }'
    assert settings(block, TAILPIPE_LOG_LEVEL="botocore=debug").log_levels == LogLevels("info", {"botocore": "debug"})
