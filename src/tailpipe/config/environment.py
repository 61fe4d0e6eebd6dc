"""Where things are: flags win over environment variables, these over the workspace block, that over defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tailpipe.config.config import Config
from tailpipe.config.settings import LogLevels, WorkspaceSettings
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean


@frozen
class Environment:
    """What flags and environment variables say, before any config is read."""

    home: Path
    install_dir: Path
    config_paths: tuple[Path, ...]
    workspace: str
    log_level: str | None
    has_own_config: bool
    """Whether the config is in the install directory, which tailpipe makes, and not in one that was named."""

    @property
    def cache_dir(self) -> Path:
        """What can be made again: scratch of running collections, Java's classes."""
        return self.install_dir / "cache"

    @property
    def packs_dir(self) -> Path:
        """Where `tailpipe plugin install` puts packs."""
        return self.install_dir / "plugins"

    @classmethod
    def resolve(
        cls, env: Mapping[str, str], *, config_path: str | None = None, workspace: str | None = None
    ) -> Environment:
        """Read the variables; a flag given as an argument wins."""
        home = Path(env.get("HOME") or Path.home())
        install = _expand(env.get("TAILPIPE_INSTALL_DIR") or "~/.tailpipe", home)
        named = config_path or env.get("TAILPIPE_CONFIG_PATH")
        paths = [_expand(part, home) for part in named.split(os.pathsep) if part] if named else [install / "config"]
        for path in paths if named else ():
            try:
                path.stat()
            except (FileNotFoundError, NotADirectoryError):
                hint = "see --config-path and TAILPIPE_CONFIG_PATH"
                raise UsageError(f'there is no "{path}" to read config from', hint=hint) from None
            except OSError as error:
                raise UsageError(f'cannot read config from "{path}": {error.strerror}') from None
        level = env.get("TAILPIPE_LOG_LEVEL") or None
        if level is not None:
            LogLevels.parse(level)
        return cls(
            home=home,
            install_dir=install,
            config_paths=tuple(paths),
            workspace=workspace or env.get("TAILPIPE_WORKSPACE") or "default",
            log_level=level,
            has_own_config=not named,
        )


@frozen
class Settings:
    """What holds for this run, when everything has been read."""

    workspace: WorkspaceSettings
    location: Path
    data_dir: Path
    log_levels: LogLevels

    @classmethod
    def resolve(cls, environment: Environment, config: Config) -> Settings:
        """Join what the environment and the workspace block say."""
        name = environment.workspace
        block = config.workspaces.get(name)
        if block is None:
            if name != "default":
                known = ["default", *config.workspaces]
                hint = did_you_mean(name, known, f'add it to the config: workspace "{name}" {{}}')
                raise UsageError(f'there is no workspace "{name}"', hint=hint)
            block = WorkspaceSettings(name=name)
        usual = environment.install_dir / "data" / name
        location = _expand(block.location, environment.home) if block.location else usual
        data_dir = _expand(block.data_dir, environment.home) if block.data_dir else location
        default = block.log_level or "warning"
        return cls(block, location, data_dir, LogLevels.parse(environment.log_level or default, default))


def _expand(path: str, home: Path) -> Path:
    text = str(home) + path[1:] if path == "~" or path.startswith("~/") else path
    return Path(text).absolute()
