"""Writes a bundle: lays out the members, each content once, seals and signs the index, and puts the file in place."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from tilecore.artifact.records import Artifact
from tilecore.bundles.format import (
    UNSIGNED,
    Argument,
    BundleError,
    Index,
    KernelRecord,
    Member,
    encode_index,
    first_line,
)
from tilecore.bundles.signatures import signature_line
from tilecore.compilation_cache.versions import portable_versions
from tilecore.whole_files import write_whole_bytes


@dataclass(frozen=True)
class BundledKernel:
    """A compiled kernel that goes into a bundle, with what programs find it by: see
    :class:`~tilecore.bundles.format.KernelRecord`."""

    name: str
    label: str
    arguments: tuple[Argument, ...]
    artifact: Artifact
    keys: tuple[str, ...]
    machine: str = ""
    forms: tuple[tuple[Argument, ...], ...] = ()


class Members:
    """The bytes behind the index."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self._known: dict[str, Member] = {}

    def add(self, data: bytes) -> Member:
        """The place of ``data``, which is stored once."""
        digest = sha256(data).hexdigest()
        member = self._known.get(digest)
        if member is None:
            member = self._known[digest] = Member(self.size, len(data), digest)
            self.pieces.append(data)
            self.size += len(data)
        return member


def bundle_bytes(kernels: Sequence[BundledKernel], private_key: Any = None) -> bytes:
    """The bytes of a bundle. private_key: an Ed25519 key of ``cryptography`` that signs it, or None."""
    members = Members()
    records = tuple(_record(kernel, members) for kernel in kernels)
    version = portable_versions("", "").get("tilecore", "")
    index = encode_index(Index(version, int(time.time()), records))
    line = first_line(index)
    signature = UNSIGNED if private_key is None else signature_line(line, private_key)
    return b"".join((line, b"\n", signature, b"\n", index, *members.pieces))


def write_bundle(path: Path, kernels: Sequence[BundledKernel], private_key: Any = None) -> int:
    """Write a bundle, whole or not at all, in a folder that is made if there is none; returns its size in bytes. Raises
    BundleError."""
    data = bundle_bytes(kernels, private_key)
    try:
        write_whole_bytes(path, data)
    except OSError as error:
        raise BundleError(f"{path} cannot be written: {error.strerror or error}") from error
    return len(data)


def _record(kernel: BundledKernel, members: Members) -> KernelRecord:
    artifact = kernel.artifact
    return KernelRecord(
        kernel.name,
        kernel.label,
        kernel.arguments,
        artifact.target,
        artifact.adapter,
        kernel.machine,
        kernel.keys,
        members.add(json.dumps(artifact.to_json(), separators=(",", ":")).encode("utf-8")),
        members.add(zlib.compress(artifact.source.encode("utf-8"), 6)),
        members.add(bytes(artifact.binary)),
        kernel.forms,
    )
