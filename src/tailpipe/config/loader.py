"""Files → config: finds the `.tpc` files, reads them, and has them built."""

from __future__ import annotations

import os
import stat
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path

from tailpipe.config.builder import build_config
from tailpipe.config.config import Config
from tailpipe.config.functions import Surroundings
from tailpipe.config.text import ConfigText
from tailpipe.errors import Diagnostic, Place
from tailpipe.plugin.registry import Registry

_MOST_BYTES = 16 * 1024 * 1024


def load_config(paths: Sequence[Path], registry: Registry, around: Surroundings) -> Config:
    """The config of all `*.tpc` files in the directories, or of the files named; later ones add to earlier ones."""
    problems: list[Diagnostic] = []
    texts = [text for path in paths for text in _read_path(path, problems)]
    return build_config(texts, registry, around, problems)


def _read_path(path: Path, problems: list[Diagnostic]) -> list[ConfigText]:
    try:
        is_directory = path.is_dir()
        names = os.listdir(path) if is_directory else []  # noqa: PTH208 - glob() would pass over an error
    except OSError as error:
        problems.append(Diagnostic(f"cannot read the directory: {error.strerror}", Place(_shown(path), 0, 0)))
        return []
    # Hidden files are left out: editors keep their locks and copies there.
    found = [path / name for name in sorted(names) if name.endswith(".tpc") and not name.startswith(".")]
    # Whoever names a pipe wants it read; one that lies in a directory would be waited for without an end.
    found = [file for file in found if not _is_special(file, problems)]
    texts = (read_file(file, problems) for file in (found if is_directory else [path]))
    return [text for text in texts if text is not None]


def read_file(path: Path, problems: list[Diagnostic]) -> ConfigText | None:
    """The text of a file; None if it cannot be read, which is a problem."""
    name = _shown(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        problems.append(Diagnostic(f"cannot read the file: {error.strerror}", Place(name, 0, 0)))
        return None
    if len(data) > _MOST_BYTES:
        problems.append(Diagnostic("the file is larger than 16 MB", Place(name, 0, 0), "is it a config file?"))
        return None
    data = data.removeprefix(BOM_UTF8)
    try:
        return ConfigText(name, data.decode("utf-8"), path.parent)
    except UnicodeDecodeError as error:
        text = ConfigText(name, data.decode("utf-8", "replace"))
        from tailpipe.config.vocabulary import Vocabulary

        text.hide(Vocabulary)
        start = len(data[: error.start].decode("utf-8"))
        message = f"the file is not UTF-8 text: 0x{data[error.start]:02x} is no part of it"
        problems.append(Diagnostic(message, text.place((start, start + 1)), "save it as UTF-8"))
        return None


def _is_special(path: Path, problems: list[Diagnostic]) -> bool:
    """Whether it is a pipe, a socket or a device, which is a problem; what cannot be looked at, the reader reports."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return False
    hint = "move it out of the config directory"
    message = "cannot read the file: it is a pipe, a socket or a device"
    problems.append(Diagnostic(message, Place(_shown(path), 0, 0), hint))
    return True


def _shown(path: Path) -> str:
    """The path as it is shortest to read from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
