"""Reads what kernels print and which assertions failed, from a global variable of the code object.

``include/tilecore_hip/messages.h`` has the layout. A launch of a kernel that prints or asserts waits for its stream, so
that the text comes at once and a failed assertion is an error of its own launch. While a stream is captured nothing can
wait: then the next launch that is not captured, or ``synchronize``, reads what replays of the graph wrote.
"""

from __future__ import annotations

import re
import struct
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_hip.driver import Driver, DriverError
from tile_hip.launch.failures import ASSERTION
from tilecore.errors import LaunchError
from tilecore.runtime.device_kernels import ENTRY_STEP

if TYPE_CHECKING:
    from tile_hip.launch.module import KernelModule

VARIABLE = "tc_messages"
_HEAD = struct.Struct("<QQQ8i72s")  # used, dropped, failures; number, block, thread, unused; kernel
_FAILURES = 16  # where in it the failures begin
_PLACE = re.compile(r"%%|%([^%a-z]*)l*([a-z])")  # a percent sign, or where a number stands: its flags, its kind
_CAPTURING = {900, 905, 906}  # hipErrorStreamCaptureUnsupported, ...Isolation, ...Implicit


def has_messages(binary: bytes) -> bool:
    """Whether the kernels of a code object print or assert: then its table of symbols names the variable."""
    return b"\0" + VARIABLE.encode() + b"\0" in binary


@dataclass(frozen=True)
class Messages:
    """What the kernels of a code object wrote since the last reading.

    lines: the text that they printed. dropped: the number of prints that found no room. failures: the number of
    assertions that failed; number, kernel, block, thread: of the first one.
    """

    lines: str = ""
    dropped: int = 0
    failures: int = 0
    number: int = 0
    kernel: str = ""
    block: tuple[int, int, int] = (0, 0, 0)
    thread: tuple[int, int, int] = (0, 0, 0)


@dataclass
class Position:
    """How far the variable of a module was read on one device: words of records, and the count of lost prints."""

    words: int = 0
    dropped: int = 0


def read_messages(driver: Driver, module: int, stream: int, position: Position) -> Messages:
    """Reads what is new in the variable of a module on the current device. Raises DriverError.

    Kernels on other streams may write at the same time: records that are not whole yet are left for the next reading,
    and the variable is emptied when half of it was used and all of that was read, or when it is full.
    """
    address, size = driver.variable(module, VARIABLE)
    start, room = address + _HEAD.size, (size - _HEAD.size) // 8
    head = _HEAD.unpack(driver.read(address, _HEAD.size, stream))
    used, dropped, failures = min(head[0], room), head[1] - position.dropped, head[2]
    texts: list[str] = []
    if used > position.words:
        new = driver.read(start + 8 * position.words, 8 * (used - position.words), stream)
        texts, words = printed(new)
        position.words += words
    position.dropped += dropped
    if failures:
        driver.clear(address + _FAILURES, _HEAD.size - _FAILURES, stream)
    if head[0] >= room or (position.words == used and used > room // 2):
        driver.clear(start, 8 * room, stream)
        driver.clear(address, _FAILURES, stream)
        position.words = position.dropped = 0
    name = head[-1].partition(b"\0")[0].decode(errors="replace")
    return Messages("".join(texts), dropped, failures, head[3], name, head[4:7], head[7:10])


def printed(records: bytes) -> tuple[list[str], int]:
    """(the texts of records in order, the words that they take). A record without a head is not written yet; it and
    those behind it are left."""
    texts, at = [], 0
    while at + 8 <= len(records):
        (first,) = struct.unpack_from("<Q", records, at)
        words, values, text_bytes = first & 0xFFFF, first >> 16 & 0xFFFF, first >> 32
        if not words or at + 8 * words > len(records):
            break
        start = at + 8 + 8 * values
        text = records[start : start + text_bytes].partition(b"\0")[0].decode(errors="replace")
        texts.append(formatted(text, records[at + 8 : start]))
        at += 8 * words
    return texts, at // 8


def formatted(text: str, values: bytes) -> str:
    """The text of a print. values: 8 bytes for each number: an int64, a uint64 or a float64, as its place says."""
    kinds = "".join({"d": "q", "u": "Q"}.get(place[2], "d") for place in _PLACE.finditer(text) if place[2])
    without_lengths = _PLACE.sub(lambda place: f"%{place[1]}{place[2]}" if place[2] else "%%", text)
    return without_lengths % struct.unpack(f"<{kinds}", values)


class MessageLaunch:
    """Launches, waits for the device, and prints and reports what the kernels wrote: ``launch`` of a LoadedKernel."""

    def __init__(self, kernels: KernelModule, launch: Callable[[int, int, int, int], int]) -> None:
        self._kernels = kernels
        self._launch = launch
        self._lock = threading.Lock()
        self._positions: dict[int, Position] = {}
        with _lock:
            _launches.add(self)

    def __call__(self, slots: int, grids: int, index: int, stream: int) -> int:
        code = self._launch(slots, grids, index, stream)
        if code or self._kernels.driver.capture(stream):
            return code
        return self.read(index, stream)

    def read(self, index: int, stream: int) -> int:
        """Waits for a stream and prints what the kernels wrote on its device; 0, or the code of a failure of the device
        or of an assertion."""
        driver, module = self._kernels.driver, self._kernels.modules.get(index)
        if module is None:
            return 0
        with self._lock:
            try:
                with driver.inside(index), driver.relaxed():
                    driver.wait(stream)
                    messages = read_messages(driver, module, stream, self._positions.setdefault(index, Position()))
            except DriverError as error:
                if not error.code:  # of this library, not of the runtime: a code of 0 would say that all is well
                    name = self._kernels.artifact.name
                    raise LaunchError(f"what {name} printed or asserted cannot be read: {error}") from None
                return 0 if error.code in _CAPTURING else error.code
        if messages.lines:
            sys.stdout.write(messages.lines)
            sys.stdout.flush()
        if messages.dropped:
            name = self._kernels.artifact.name
            print(f"tile-hip: {messages.dropped} more prints of {name} found no room and are lost", file=sys.stderr)
        return self._failed(messages) if messages.failures else 0

    def _failed(self, messages: Messages) -> int:
        entries = self._kernels.artifact.entries
        number = next((i for i, entry in enumerate(entries) if entry.symbol.startswith(messages.kernel)), 0)
        texts = entries[number].attributes.get("assertions", ())
        text = texts[messages.number - 1] if 0 < messages.number <= len(texts) else f"number {messages.number}"
        words = f"device assertion failed: {text} in block {messages.block}, thread {messages.thread}"
        if messages.failures > 1:
            words += f"; {messages.failures - 1} more failed"
        self._kernels.failures.keep_assertion(words)
        return ASSERTION + ENTRY_STEP * number

    def failure(self, code: int) -> str:
        """The words for a code that :meth:`read` returned."""
        return self._kernels.failures.words(code)


_lock = threading.Lock()
_launches: weakref.WeakSet[MessageLaunch] = weakref.WeakSet()


def read_all(index: int, stream: int) -> str:
    """Reads the messages of all kernels on a device; the words for the first failure, "" for none. stream: of the
    device, for the copies."""
    with _lock:
        launches = list(_launches)
    failures = [launch.failure(code) for launch in launches if (code := launch.read(index, stream))]
    return failures[0] if failures else ""
