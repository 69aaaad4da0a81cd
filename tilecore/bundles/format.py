"""The format of bundles, files with many compiled kernels:

    tilecore-bundle 2 <bytes of the index> <sha256 of the index>\\n
    unsigned\\n                                    or   ed25519 <public key> <signature>\\n   (base64)
    {"tilecore": ..., "created": ..., "kernels": [...]}
    <the members, one after the other>

The first line seals the index, and the index has the sha256 of every member, so that a signature of the first line
covers the whole file. A kernel has three members: its record (an Artifact without texts, as JSON), its source
(compressed by zlib) and its binary. Members with the same bytes are stored once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Any

from tilecore.errors import CacheError

MAGIC = b"tilecore-bundle "
VERSION = b"2"
UNSIGNED = b"unsigned"
ALGORITHM = b"ed25519"
LONGEST_LINE = 512
LARGEST_INDEX = 1 << 30
_HEX = frozenset("0123456789abcdef")


class BundleError(CacheError):
    """A file is not a bundle that this version can use, or is damaged; the message says what is wrong."""


@dataclass(frozen=True)
class Member:
    """A piece of the file. offset: from the end of the index. digest: its sha256, in hexadecimal."""

    offset: int
    size: int
    digest: str


@dataclass(frozen=True)
class Argument:
    """An argument of the call that made a kernel, as text. default: whether the function has it as the default."""

    name: str
    text: str
    default: bool


@dataclass(frozen=True)
class KernelRecord:
    """One kernel of a bundle.

    name: the function's name. label: the call, such as "matmul(200, 100, 300)". arguments: in the order of the
    function's parameters. target, adapter: the canonical target text and the execution backend that it is for.
    machine: the system and processor that it needs, for kernels that run on the host, else "". keys: the keys by which
    programs find it (``Request.portable_key``). record, source, binary: where its members are. forms: the arguments of
    all calls that mean it, where there are others than ``arguments``: of an eager function those with tensors, and the
    one with sizes.
    """

    name: str
    label: str
    arguments: tuple[Argument, ...]
    target: str
    adapter: str
    machine: str
    keys: tuple[str, ...]
    record: Member
    source: Member
    binary: Member
    forms: tuple[tuple[Argument, ...], ...] = ()

    @property
    def size(self) -> int:
        """Bytes of its members, some of which other kernels may share."""
        return self.record.size + self.source.size + self.binary.size


@dataclass(frozen=True)
class Index:
    """What the index says. tilecore: the version that wrote it. created: seconds since the epoch."""

    tilecore: str
    created: int
    kernels: tuple[KernelRecord, ...]


def is_bundle(data: bytes) -> bool:
    """Whether the bytes begin as a bundle of any version."""
    return data.startswith(MAGIC)


def first_line(index: bytes) -> bytes:
    """The line that seals the index, without its end."""
    return b"%b%b %d %b" % (MAGIC, VERSION, len(index), sha256(index).hexdigest().encode("ascii"))


def read_first_line(line: bytes) -> tuple[int, str]:
    """Size and digest of the index. Raises BundleError for a file of another kind or version."""
    if not is_bundle(line):
        raise BundleError("it is not a bundle", expected="a file that `tilecore compile` wrote")
    words = line[len(MAGIC) :].split(b" ")
    if words[0] != VERSION:
        raise BundleError(
            f"it has format {words[0][:20].decode('ascii', 'replace')}, and this tilecore reads format "
            f"{VERSION.decode()}",
            hint="compile it again with this version of tilecore, or install the version that wrote it",
        )
    if len(words) != 3 or not words[1].isdigit() or len(words[1]) > 12 or not _is_digest(words[2].decode("latin-1")):
        raise BundleError("its first line is damaged")
    return int(words[1]), words[2].decode("ascii")


def encode_index(index: Index) -> bytes:
    """The index as JSON."""
    facts = {
        "tilecore": index.tilecore,
        "created": index.created,
        "kernels": [_kernel_to_json(kernel) for kernel in index.kernels],
    }
    return json.dumps(facts, separators=(",", ":")).encode("utf-8")


def decode_index(data: bytes, room: int) -> Index:
    """The checked index; ``room`` bytes of members follow it. Raises BundleError."""
    try:
        facts = json.loads(data)
        version, created = facts["tilecore"], facts["created"]
        kernels = tuple(_kernel_from_json(kernel, room) for kernel in facts["kernels"])
    except BundleError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise BundleError(f"its index cannot be understood ({type(error).__name__}: {error})") from error
    if not isinstance(version, str) or not _is_count(created):
        raise BundleError("its index has a wrong version or time")
    return Index(version, created, kernels)


def _kernel_to_json(kernel: KernelRecord) -> dict[str, Any]:
    forms = [_arguments_to_json(form) for form in kernel.forms]
    return {
        "name": kernel.name,
        "label": kernel.label,
        "arguments": _arguments_to_json(kernel.arguments),
        **({"forms": forms} if forms else {}),
        "target": kernel.target,
        "adapter": kernel.adapter,
        "machine": kernel.machine,
        "keys": list(kernel.keys),
        "members": [[m.offset, m.size, m.digest] for m in (kernel.record, kernel.source, kernel.binary)],
    }


def _arguments_to_json(arguments: Sequence[Argument]) -> list[list[Any]]:
    return [[argument.name, argument.text, argument.default] for argument in arguments]


def _arguments_from_json(facts: Iterable[Sequence[Any]]) -> tuple[Argument, ...]:
    return tuple(Argument(name, text, default) for name, text, default in facts)


def _kernel_from_json(facts: Mapping[str, Any], room: int) -> KernelRecord:
    record, source, binary = (_member(member, room) for member in facts["members"])
    kernel = KernelRecord(
        facts["name"],
        facts["label"],
        _arguments_from_json(facts["arguments"]),
        facts["target"],
        facts["adapter"],
        facts["machine"],
        tuple(facts["keys"]),
        record,
        source,
        binary,
        tuple(map(_arguments_from_json, facts.get("forms", ()))),
    )
    texts = (kernel.name, kernel.label, kernel.target, kernel.adapter, kernel.machine)
    if not all(isinstance(text, str) for text in texts) or not all(texts[:4]):
        raise BundleError("its index has a kernel without a name, a target or an execution backend")
    for argument in chain(kernel.arguments, *kernel.forms):
        are_texts = isinstance(argument.name, str) and isinstance(argument.text, str)
        if not are_texts or type(argument.default) is not bool:
            raise BundleError(f"its index has a wrong argument of {kernel.name}")
    if not all(map(_is_digest, kernel.keys)):
        raise BundleError(f"its index has a wrong key of {kernel.name}")
    return kernel


def _member(facts: Any, room: int) -> Member:
    offset, size, digest = facts
    if not (_is_count(offset) and _is_count(size) and _is_digest(digest)):
        raise BundleError("its index has a wrong member")
    if offset + size > room:
        raise BundleError(f"it ends too early: it has {room} bytes of kernels, and one ends at {offset + size}")
    return Member(offset, size, digest)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and _HEX.issuperset(value)
