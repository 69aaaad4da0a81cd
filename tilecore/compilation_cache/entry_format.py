"""Encodes and decodes the cache's files. An entry is a header line, the manifest, the emitted source and the binary:

    tilecore-entry 2 <bytes of the manifest> <sha256 of the manifest>\\n
    {"key": ..., "members": {"source": [bytes, sha256], "binary": [bytes, sha256]}, "artifact": {...}}
    <source, UTF-8, compressed by zlib (RFC 1950)><binary>

Kernels are loaded far more often than their sources are read, so the source is decompressed when it is.

An entry is a single file, so that one rename publishes the whole group at once, replacing an entry of the same key
included (a directory cannot be replaced that way), and a warm start opens one file instead of three.

A note, a small text that goes by a key, is ``tilecore-note 1 <sha256 of both> <key> <text>``.
"""

from __future__ import annotations

import json
import zlib
from hashlib import sha256

from tilecore.artifact.check import require_sound
from tilecore.artifact.packing import defer_source
from tilecore.artifact.records import Artifact
from tilecore.errors import CacheError

_ANY_ENTRY = b"tilecore-entry "
_FORMAT = 2
_MAGIC = _ANY_ENTRY + b"%d " % _FORMAT
_NOTE_MAGIC = b"tilecore-note 1 "
_LONGEST_HEADER = 128


class BadEntryError(ValueError):
    """The bytes are not an intact entry or note of the key that was asked for; the message says what is wrong."""


class OtherFormatError(BadEntryError):
    """The bytes are an entry as another version of tilecore writes them."""


def is_entry(data: bytes) -> bool:
    """Whether the bytes begin as an entry of any version; a file that ``kernel.export()`` wrote is one."""
    return data.startswith(_ANY_ENTRY)


def encode(key: str, artifact: Artifact) -> bytes:
    """The bytes of an entry. Raises TypeError or ValueError when the artifact is not plain data."""
    source = zlib.compress(artifact.source.encode("utf-8"))
    binary = bytes(artifact.binary)
    facts = {
        "key": key,
        "members": {"source": _seal(source), "binary": _seal(binary)},
        "artifact": artifact.to_json(),
    }
    manifest = json.dumps(facts, separators=(",", ":")).encode("utf-8")
    size, digest = _seal(manifest)
    return b"".join((_MAGIC, f"{size} {digest}\n".encode("ascii"), manifest, source, binary))


def decode(data: bytes, key: str) -> Artifact:
    """The artifact, once every size, digest and the key have been checked; raises BadEntryError otherwise."""
    facts, start = _manifest(data)
    if facts.get("key") != key:
        raise BadEntryError("it holds another key")
    try:
        source_seal, binary_seal = facts["members"]["source"], facts["members"]["binary"]
        middle, end = start + source_seal[0], start + source_seal[0] + binary_seal[0]
        source, binary = data[start:middle], data[middle:end]
        if len(data) != end:
            raise BadEntryError(f"it has {len(data)} bytes instead of {end}")
        if _seal(source) != source_seal:
            raise BadEntryError("its source does not match its digest")
        if _seal(binary) != binary_seal:
            raise BadEntryError("its binary does not match its digest")
        artifact = Artifact.from_json(facts["artifact"], "", binary)
        require_sound(artifact)
        name = artifact.name
        defer_source(artifact, lambda: _source(source, name), in_memory=True)
        return artifact
    except BadEntryError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise BadEntryError(f"its manifest cannot be understood ({type(error).__name__}: {error})") from error


def _source(compressed: bytes, name: str) -> str:
    try:
        return zlib.decompress(compressed).decode("utf-8")
    except (zlib.error, ValueError) as error:
        raise CacheError(f"the stored source of kernel {name} cannot be unpacked: {error}") from error


def encode_note(key: str, text: str) -> bytes:
    pair = f"{key} {text}".encode()
    return b"%b%b %b\n" % (_NOTE_MAGIC, sha256(pair).hexdigest().encode("ascii"), pair)


def decode_note(data: bytes, key: str) -> str:
    """The text that goes by ``key``; raises BadEntryError unless it is intact."""
    start = len(_NOTE_MAGIC) + 65
    pair = data[start:-1]
    digest = sha256(pair).hexdigest().encode("ascii")
    if data != b"%b%b %b\n" % (_NOTE_MAGIC, digest, pair) or not pair.startswith(key.encode("ascii") + b" "):
        raise BadEntryError("it is not an intact note of this key")
    return pair[len(key) + 1 :].decode()


def _manifest(data: bytes) -> tuple[dict, int]:
    """The manifest and the offset of what follows it."""
    if is_entry(data) and not data.startswith(_MAGIC):
        number = data[len(_ANY_ENTRY) : len(_ANY_ENTRY) + 8].split(b" ")[0].decode("ascii", "replace")
        raise OtherFormatError(f"it has format {number} of another version of tilecore; this one has format {_FORMAT}")
    if not data.startswith(_MAGIC):
        raise BadEntryError("it does not begin as an entry")
    line_end = data.find(b"\n", 0, _LONGEST_HEADER)
    words = data[len(_MAGIC) : max(line_end, 0)].split(b" ")
    if len(words) != 2 or not words[0].isdigit():
        raise BadEntryError("its header is damaged")
    start = line_end + 1
    end = start + int(words[0])
    manifest = data[start:end]
    if sha256(manifest).hexdigest().encode("ascii") != words[1]:
        raise BadEntryError("its manifest does not match its digest")
    try:
        facts = json.loads(manifest)
    except (ValueError, RecursionError) as error:
        raise BadEntryError(f"its manifest is not JSON ({error})") from None
    if not isinstance(facts, dict):
        raise BadEntryError("its manifest is not a JSON object")
    return facts, end


def _seal(data: bytes) -> list:
    """Size and digest of a member, as the manifest has them."""
    return [len(data), sha256(data).hexdigest()]
