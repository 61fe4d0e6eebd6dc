"""Listings as XML: what S3 and services that follow it send, read without a document type.

A listing never has one, and entities that expand to gigabytes need one.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from urllib.parse import unquote_plus
from xml.etree import ElementTree

from tailpipe.plugins.buckets.bucket import Key, Page

ARCHIVED = ("GLACIER", "DEEP_ARCHIVE")


def parse_xml(body: bytes) -> ElementTree.Element:
    """The root of a document; raises `ValueError` for what no listing holds."""
    if b"<!DOCTYPE" in body or b"\0" in body:
        raise ValueError("a document with a document type, which no listing has")
    try:
        return ElementTree.fromstring(body)  # noqa: S314 - without a document type there are no entities
    except ElementTree.ParseError as error:
        raise ValueError(f"not XML: {error}") from None


def without_namespace(tag: str) -> str:
    """The name of an element."""
    return tag.rpartition("}")[2]


def read_listing(body: bytes) -> Page:
    """A page of `ListObjectsV2`, as S3 and Google Cloud Storage send it; raises `ValueError` if it is none."""
    root = parse_xml(body)
    if without_namespace(root.tag) != "ListBucketResult":
        raise ValueError(f"not a listing but <{without_namespace(root.tag)[:40]}>")
    start = len(root.tag) - len(without_namespace(root.tag))
    facts = {child.tag[start:]: child.text or "" for child in root if len(child) == 0}
    decode = unquote_plus if facts.get("EncodingType") == "url" else str
    keys, folders = [], []
    try:
        for child in root:
            match child.tag[start:]:
                case "Contents":
                    keys.append(_key({one.tag[start:]: one for one in child}, decode))
                case "CommonPrefixes":
                    folders.append(decode(child[0].text or ""))
    except (KeyError, IndexError) as error:
        raise ValueError(f"a listing with an object without {error}") from None
    token = facts.get("NextContinuationToken") if facts.get("IsTruncated") == "true" else None
    return Page(tuple(keys), tuple(folders), token)


def _key(facts: dict[str, ElementTree.Element], decode: Callable[[str], str]) -> Key:
    kind = facts["StorageClass"].text or "" if "StorageClass" in facts else ""
    is_restored = "RestoreStatus" in facts and any(
        one.tag.endswith("RestoreExpiryDate") for one in facts["RestoreStatus"]
    )
    return Key(
        name=decode(facts["Key"].text or ""),
        size=int(facts["Size"].text or 0),
        etag=(facts["ETag"].text or "").strip('"') if "ETag" in facts else "",
        modified=datetime.fromisoformat(facts["LastModified"].text or ""),
        archived=kind if kind in ARCHIVED and not is_restored else "",
    )
