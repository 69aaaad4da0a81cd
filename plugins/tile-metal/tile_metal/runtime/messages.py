"""Reads what kernels print and which assertions failed from the buffer that is their last argument.

``include/tilecore_metal/messages.h`` has the layout. A launch of a kernel that prints or asserts waits for it, so that
the text comes at once and a failed assertion is an error of its own launch.
"""

from __future__ import annotations

import struct

from tilecore.artifact.records import Entry
from tilecore.errors import LaunchError
from tilecore.runtime.device_messages import Messages, formatted, records

HEAD_WORDS, RECORD_WORDS = 16, 2 * 131072  # of 4 bytes; records take pairs of them
BUFFER_WORDS = HEAD_WORDS + RECORD_WORDS
_HEAD = struct.Struct("<10I24x")  # pairs used, prints dropped, failures; number, block and thread of the first one
_FLOAT = "fxxxx"  # a float32 and 4 bytes without meaning


def writes_messages(entry: Entry) -> bool:
    """Whether a kernel prints or asserts: then its last parameter is the buffer."""
    return bool(entry.attributes.get("messages"))


def words_used(head: bytes) -> int:
    """How many words behind the head have records. head: its bytes."""
    return int(min(2 * _HEAD.unpack(head[: _HEAD.size])[0], RECORD_WORDS))


def read(entry: Entry, head: bytes, memory: bytes) -> Messages:
    """What a kernel wrote. memory: the bytes of the words behind the head that are used."""
    _, dropped, failures, number, *places = _HEAD.unpack(head[: _HEAD.size])
    texts = entry.attributes.get("formats", ())
    whole, _ = records(memory)
    lines = [formatted(texts[record.number - 1], record.values, _FLOAT) for record in whole]
    block, thread = (places[0], places[1], places[2]), (places[3], places[4], places[5])
    return Messages("".join(lines), dropped, failures, number, entry.symbol, block, thread)


def report(kernel: str, entry: Entry, messages: Messages) -> None:
    """Prints the lines. Raises LaunchError for failed assertions. kernel: the artifact's name."""
    messages.show("tile-metal", kernel)
    if messages.failures:
        raise LaunchError(
            f"{kernel} failed: {entry.symbol}: {messages.failure(entry.attributes.get('assertions', ()))}"
        )
