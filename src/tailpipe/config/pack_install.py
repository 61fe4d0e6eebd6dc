"""Install a pack: its files are checked and copied, and nothing in it is run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from tailpipe.config.packs import load_file, read_pack
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.names import check_name
from tailpipe.plugin.plugin import Plugin
from tailpipe.plugin.registry import Registry

_COPIED = ("plugin.tpc", "tables/*.tpc", "detections/*.tpc", "samples/*", "*.md", "LICENSE*")
_CODE = (".py", ".pyc", ".so", ".dll", ".dylib", ".exe", ".sh", ".jar", ".whl")
_LARGEST = 16 * 1024 * 1024


@frozen
class InstalledPack:
    """A pack that was installed, and the files of its folder that were not copied."""

    plugin: Plugin
    skipped: tuple[str, ...]


def install_pack(source: Path, packs: Path, registry: Registry, *, force: bool) -> InstalledPack:
    """Check a pack and copy it into the directory of packs; an old one of its name is replaced only by `force`."""
    plugin = read_pack(str(source))
    check_name(plugin.name)
    target = packs / plugin.name
    _check_names(plugin, registry, target, force=force)
    files, skipped = _files(source)
    check_pack(plugin, registry)
    packs.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = packs / f".{plugin.name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    for name in files:
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, fresh / name)
    if target.exists():
        shutil.rmtree(target)
    fresh.rename(target)
    return InstalledPack(read_pack(str(target)), tuple(skipped))


def check_pack(plugin: Plugin, registry: Registry) -> None:
    """Read every table, format and detection of a pack together with the other plugins, and check the SQL of tables."""
    from tailpipe.sql.check import check_table  # late, because it loads DuckDB

    others = [one for one in registry.plugins.values() if one.name != plugin.name]
    around = Registry([*others, plugin])
    detections = plugin.declared("detection")
    for kind, parts in (("table", plugin.tables), ("preset", plugin.presets), ("detection", detections)):
        for part in parts:
            made = load_file(kind, part.name, part.place, around)  # type: ignore[union-attr] # a pack's are files
            for problem in check_table(made) if kind == "table" else ():
                raise UsageError(f'table "{made.name}": {problem.address}: {problem.message}', hint=problem.hint)


def remove_pack(name: str, packs: Path) -> bool:
    """Delete an installed pack; whether there was one."""
    for folder in packs.iterdir() if packs.is_dir() else ():
        if (folder / "plugin.tpc").is_file() and folder.name == name:
            shutil.rmtree(folder)
            return True
    return False


def _check_names(plugin: Plugin, registry: Registry, target: Path, *, force: bool) -> None:
    present = registry.plugins.get(plugin.name)
    if present is not None and Path(present.folder or os.sep) != target:
        where = "is built in" if present.package in ("tailpipe", "pack") else f"comes from package {present.package}"
        hint = "give the pack another name"
        raise UsageError(f'a plugin named "{plugin.name}" already exists, which {where}', hint=hint)
    if target.exists() and not force:
        raise UsageError(f'pack "{plugin.name}" is already installed', hint="replace it with --force")
    for kind, what in (("table", "table"), ("preset", "format")):
        for name, _ in plugin.parts(kind):  # type: ignore[arg-type] # both are kinds
            owner = registry.owner(kind, name)  # type: ignore[arg-type]
            if owner not in (None, plugin.name):
                raise UsageError(f'{what} "{name}" is defined by plugin "{owner}"', hint="give it another name")


def _files(source: Path) -> tuple[list[str], list[str]]:
    """The files of a pack, and those that do not belong to one."""
    root = source.resolve()
    wanted = {path.relative_to(source).as_posix() for pattern in _COPIED for path in source.glob(pattern)}
    files, skipped = [], []
    for name in sorted(_walk(source)):
        path = source / name
        if not path.resolve().is_relative_to(root):
            raise UsageError(f'"{name}" is a link to outside the pack', hint="copy the file into the pack")
        if name not in wanted or not path.is_file() or name.endswith(_CODE):
            skipped.append(name)
        elif path.stat().st_size > _LARGEST:
            raise UsageError(f'"{name}" has more than {_LARGEST:,} bytes', hint="samples are short")
        else:
            files.append(name)
    return files, skipped


def _walk(source: Path) -> Iterator[str]:
    """The files below a folder, and links to folders, which are not entered; hidden ones are left out."""
    for directory, folders, names in os.walk(source):
        here = Path(directory)
        folders[:] = [name for name in folders if not name.startswith(".")]
        links = [name for name in folders if (here / name).is_symlink()]
        yield from ((here / name).relative_to(source).as_posix() for name in [*names, *links] if name[:1] != ".")
