"""Blocks with `for_each`: one block for each item of a list or map, with `each.key` and `each.value` filled in."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailpipe.config.convert import Reference
from tailpipe.config.functions import a_kind
from tailpipe.config.scope import LABELS, Located, Scope
from tailpipe.config.syntax import Block, Body, Expression, Label, List, Literal, Name, Span
from tailpipe.config.text import EACH_NOTE, ConfigText, Problem
from tailpipe.errors import Diagnostic, Note
from tailpipe.model.nearest import did_you_mean

_NAME = "for_each"
_INNER = "source"
"""The block inside another that may have a `for_each`."""
_LIMIT = 10_000
_IN_SQL = ("dataset", "detection", "detections", "queries", "query", "schema", "sigma", "table")
"""Blocks whose names cannot have a hyphen."""


@dataclass
class ForEach:
    """Expands blocks once all names are known; `gather` takes an expanded block as if it stood in the text."""

    scope: Scope
    report: Callable[..., None]
    gather: Callable[[ConfigText, Block], None]
    _waiting: dict[Reference, Located] = field(default_factory=dict)
    _members: dict[Reference, dict[str, Reference] | None] = field(default_factory=dict)
    _expanding: list[Reference] = field(default_factory=list)
    _count: int = 0

    def takes(self, text: ConfigText, block: Block, *, is_pack: bool) -> bool:
        """Whether the block has a `for_each`; it is then expanded later."""
        given = block.attribute(_NAME)
        if given is None:
            return False
        if is_pack:
            self.report(text, Problem("a pack has no for_each", given.span, "write each block out"))
        elif len(block.labels) != LABELS[block.type]:
            # The decoder says what is wrong with the labels.
            self.gather(text, dataclasses.replace(block, body=Body(is_broken=True)))
        elif (reference := _reference(block)) in self._waiting:
            self.twice(text, block, self._waiting[reference])
        else:
            self._waiting[reference] = Located(text, block)
        return True

    def expand(self, texts: Sequence[ConfigText]) -> None:
        """Expand all blocks, and the sources inside of blocks; blocks stay in the order of the texts."""
        for reference, located in self._waiting.items():
            if reference in self.scope.blocks:
                self.twice(located.text, located.block, self.scope.blocks[reference])
            else:
                self.members(reference)
        blocks = self.scope.blocks
        if self._waiting:
            order = {text.name: number for number, text in enumerate(texts)}
            ordered = sorted(blocks, key=lambda one: (order[blocks[one].text.name], blocks[one].block.span))
            self.scope.blocks = blocks = {one: blocks[one] for one in ordered}
        for reference, located in blocks.items():
            if any(inner.attribute(_NAME) for inner in located.block.inner(_INNER)):
                blocks[reference] = Located(located.text, self._with_inner(located))

    def members(self, reference: Reference) -> Mapping[str, Reference] | None:
        """The expanded blocks by key; None if no block of that name has a `for_each`."""
        if reference in self._members:
            return self._members[reference] or {}
        located = self._waiting.get(reference)
        if located is None:
            return None
        if reference in self._expanding:
            circle = [*self._expanding[self._expanding.index(reference) :], reference]
            raise ValueError("for_each depends on itself: " + " → ".join(map(str, circle)))
        self._expanding.append(reference)
        try:
            made = {key: (text, block) for key, text, block in self._instances(located.text, located.block)}
        except Problem as problem:
            self.report(located.text, problem)
            made = {}
        finally:
            self._expanding.pop()
        self._members[reference] = {key: _reference(block) for key, (_, block) in made.items()}
        for text, block in made.values():
            self.gather(text, block)
        return self._members[reference] or {}

    def _with_inner(self, located: Located) -> Block:
        body, inner = located.block.body, list[Block]()
        for one in body.blocks:
            if one.type != _INNER or one.attribute(_NAME) is None:
                inner.append(one)
                continue
            try:
                inner += [block for _, _, block in self._instances(located.text, one)]
            except Problem as problem:
                self.report(located.text, problem)
                body = dataclasses.replace(body, is_broken=True)
        return dataclasses.replace(located.block, body=dataclasses.replace(body, blocks=inner))

    def _instances(self, text: ConfigText, block: Block) -> Iterator[tuple[str, ConfigText, Block]]:
        given = block.attribute(_NAME)
        assert given is not None  # noqa: S101 - only such blocks are expanded
        others = [one for one in block.body.attributes if one is not given]
        names: dict[str, str] = {}
        for key, value in _items(self.scope.evaluate(text, given.value), given.value).items():
            self._count += 1
            if self._count > _LIMIT:
                raise Problem(f"for_each makes more than {_LIMIT:,} blocks", given.span)
            # What a name cannot have becomes `_`.
            name = re.sub(r"[^A-Za-z0-9_]" if block.type in _IN_SQL else r"[^A-Za-z0-9_-]", "_", key)
            if name in names:
                message = f'the items "{names[name]}" and "{key}" make the same name "{name}"'
                raise Problem(message, given.value.span, "write a map, with another key for one of them")
            names[name] = key
            own = text.in_each(key, given.span)
            try:
                body = _bound(dataclasses.replace(block.body, attributes=others), key, value)
            except Problem as problem:
                self.report(own, problem)
                body = Body(is_broken=True)
            made = dataclasses.replace(block, labels=_labels(block, name), body=body, each=(key, given.span))
            yield key, own, made

    def twice(self, text: ConfigText, block: Block, first: Located) -> None:
        """Report a block that is already defined."""
        note = Note("first defined here", first.text.place(first.block.span))
        shown = ".".join(label.text for label in block.labels)
        self.report(text, Problem(f'{block.type} "{shown}" is defined twice', block.span), note)


def once(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Drop problems that a block with `for_each` repeats for further keys."""
    seen: set[tuple[str, int, int]] = set()
    for one in diagnostics:
        place = (one.place.file, one.place.line, one.place.column)
        is_each = any(note.message.startswith(EACH_NOTE) for note in one.notes)
        if not is_each or place not in seen:
            yield one
        if is_each:
            seen.add(place)


def _reference(block: Block) -> Reference:
    return Reference(block.type, tuple(label.text for label in block.labels))


def _labels(block: Block, name: str) -> list[Label]:
    """The labels with the key behind the name; a source without a name is named by the key."""
    *others, last = block.labels or [Label("")]
    if block.type == _INNER and not others:
        return [*block.labels, Label(name, block.span)]
    return [*others, Label(f"{last.text}_{name}", last.span)]


def _items(value: Any, expression: Expression) -> dict[str, Any]:
    """Key and value of each item; an item of a list is its own key, a block has its name as the key."""
    if isinstance(value, list):
        parts = expression.items if isinstance(expression, List) else [expression] * len(value)
        items: dict[str, Any] = {}
        for item, part in zip(value, parts, strict=True):
            key = _key(item, part.span)
            if key in items:
                raise Problem(f'the item "{key}" is duplicated', part.span)
            items[key] = item
        return items
    if not isinstance(value, dict):
        hint = "write […] or { key = value }"
        raise Problem(f"expected a list or a map, got {a_kind(value)}", expression.span, hint)
    if "" in value:
        raise Problem("a key cannot be empty", expression.span)
    return value


def _key(item: Any, span: Span) -> str:
    if isinstance(item, Reference):
        return item.labels[-1]
    if isinstance(item, int) and not isinstance(item, bool):
        return str(item)
    if not isinstance(item, str) or not item:
        found = a_kind(item) if item != "" else "empty text"
        hint = "write a map, with a key for each: { name = … }"
        raise Problem(f"an item of for_each must be text, not {found}", span, hint)
    return item


def _bound(node: Any, key: str, value: Any) -> Any:
    """The syntax tree with `each` filled in; the sources inside that have a `for_each` have their own `each`."""
    if isinstance(node, list):
        return [_bound(one, key, value) for one in node]
    if isinstance(node, tuple):
        return tuple(_bound(one, key, value) for one in node)
    if isinstance(node, Name) and node.parts[0] == "each":
        return _each(node, key, value)
    if not dataclasses.is_dataclass(node) or isinstance(node, Literal | Name | Label):
        return node
    if isinstance(node, Block) and (given := node.attribute(_NAME)) is not None:
        others = [one for one in node.body.attributes if one is not given]
        bound = dataclasses.replace(given, value=_bound(given.value, key, value))
        return dataclasses.replace(node, body=dataclasses.replace(node.body, attributes=[bound, *others]))
    changed = {
        one.name: _bound(getattr(node, one.name), key, value)
        for one in dataclasses.fields(node)
        if one.name not in ("span", "each")
    }
    return dataclasses.replace(node, **changed)  # type: ignore[type-var] # a node, not its class


def _each(name: Name, key: str, value: Any) -> Expression:
    if len(name.parts) == 1:
        raise Problem('"each" is an incomplete name', name.span, "write each.key or each.value")
    known: dict[str, Any] = {"key": key, "value": value}
    found, address = known.get(name.parts[1]), ".".join(name.parts[:2])
    if name.parts[1] not in known:
        hint = did_you_mean(name.parts[1], known, "write each.key or each.value")
        raise Problem(f"there is no {address}", name.span, hint)
    for number, part in enumerate(name.parts[2:], 2):
        if isinstance(found, Reference):
            return Name([found.kind, *found.labels, *name.parts[number:]], name.span)
        if not isinstance(found, dict) or part not in found:
            hint = did_you_mean(part, found) if isinstance(found, dict) else ""
            raise Problem(f"there is no {address}.{part}", name.span, hint)
        found, address = found[part], f"{address}.{part}"
    return Literal(found, name.span)
