"""The history in manifests: whether it is complete, and if not, up to where it is proven.

A manifest names the one before it in its partition, and all of them are numbered without a gap. Whatever was lost could
have retired files or have taken artifacts: what comes after it cannot be applied without rows twice or rows lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import count

from tailpipe.catalog.manifest_record import Manifest
from tailpipe.frozen import frozen


@frozen
class Hole:
    """Something that is missing: the transaction if its name is known, else the number of its commit."""

    transaction: str = ""
    sequence: int = 0
    partition: str = ""

    def __str__(self) -> str:
        what = f"{self.transaction}.manifest" if self.transaction else f"the manifest of commit {self.sequence}"
        return f"{what} of {self.partition}" if self.partition else what


@frozen
class History:
    """The manifests that follow from each other, those that come after a hole, and the holes."""

    whole: tuple[Manifest, ...]
    cut: tuple[Manifest, ...] = ()
    holes: tuple[Hole, ...] = ()

    def without(self, first: Manifest) -> History:
        """The history up to a manifest that could not be applied; only its partition is cut."""
        gone = [one for one in self.whole if one.partition == first.partition and one.sequence >= first.sequence]
        kept = tuple(one for one in self.whole if one not in gone)
        return replace(self, whole=kept, cut=(*self.cut, *gone))


def read_history(found: Iterable[Manifest], newest: int = 0, accepted: Collection[int] = ()) -> History:
    """Put manifests in order; `newest` is the highest number that is known, `accepted` are those known to be lost."""
    manifests = sorted(found, key=lambda one: (one.sequence, one.committed_at))
    by_partition: dict[str, list[Manifest]] = defaultdict(list)
    for one in manifests:
        by_partition[one.partition].append(one)
    chains = {name: _since_image(chain) for name, chain in by_partition.items()}
    known = {one.sequence for one in manifests} | set(accepted)
    for chain in chains.values():
        known |= numbers_in(chain[0])
    gaps = [number for number in range(1, max([newest, *known], default=0) + 1) if number not in known]
    breaks = {name: _first_break(chain) for name, chain in chains.items()}
    holes = [
        Hole(str(chain[at].previous), partition=name)
        for name, chain in chains.items()
        if (at := breaks[name]) is not None
    ]
    # As many numbers as there are names are explained by these; each of the others could be of any partition.
    unknown = gaps[len(holes) :] if len(gaps) > len(holes) else []
    if unknown:
        holes += [Hole(sequence=number) for number in gaps]
        for name, chain in chains.items():
            found_at = (breaks[name], _first_unproven(chain, gaps))
            breaks[name] = min((at for at in found_at if at is not None), default=None)
    whole = [one for name, chain in chains.items() for one in chain[: breaks[name]]]
    cut = [one for name, chain in chains.items() if (at := breaks[name]) is not None for one in chain[at:]]
    return History(tuple(_numbered(whole)), tuple(cut), tuple(holes))


def numbers_in(manifest: Manifest) -> set[int]:
    """The numbers of the commits of this workspace in an image; earlier versions had the sequence alone."""
    rows = (row.values for row in manifest.image if row.table == "transactions")
    numbers = (values.get("number", values["sequence"]) for values in rows)
    return {int(number) for number in numbers if number is not None}


def _since_image(chain: Sequence[Manifest]) -> Sequence[Manifest]:
    """The manifests from the newest image on: it contains everything before it."""
    images = [at for at, one in enumerate(chain) if one.image]
    return chain[images[-1] :] if images else chain


def _first_break(chain: Sequence[Manifest]) -> int | None:
    """The index of the first manifest that does not name the one before it."""
    for at, one in enumerate(chain):
        before = chain[at - 1].transaction if at else ""
        if one.previous not in (None, before) and not (at == 0 and one.image):
            return at
    return None


def _first_unproven(chain: Sequence[Manifest], gaps: Sequence[int]) -> int | None:
    """The index of the first manifest that comes after a gap and does not name the one before it."""
    for at, one in enumerate(chain):
        before = chain[at - 1].sequence if at else 0
        if one.previous is None and any(before < gap < one.sequence for gap in gaps):
            return at
    return None


def _numbered(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Manifests in commit order, renumbered if two share a number, as after an old catalog was restored."""
    ordered = sorted(manifests, key=lambda one: (one.sequence, one.committed_at))
    if max(Counter(one.sequence for one in ordered).values(), default=0) < 2:
        return ordered
    free = count(ordered[-1].sequence + 1)  # above those of all images, too
    return [replace(one, sequence=next(free)) for one in ordered]
