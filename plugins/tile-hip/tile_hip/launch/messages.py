"""Reads what kernels print and which assertions failed, from a global variable of the code object.

``include/tilecore_hip/messages.h`` has the layout. A launch of a kernel that prints or asserts waits for its stream, so
that the text comes at once and a failed assertion is an error of its own launch. While a stream is captured nothing can
wait: then the next launch that is not captured, or ``synchronize``, reads what replays of the graph wrote.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_hip.driver import Driver, DriverError
from tile_hip.launch.failures import ASSERTION
from tilecore.errors import LaunchError
from tilecore.runtime.device_kernels import ENTRY_STEP
from tilecore.runtime.device_messages import Messages, formatted, records

if TYPE_CHECKING:
    from tile_hip.launch.module import KernelModule

VARIABLE = "tc_messages"
_HEAD = struct.Struct("<QQQ8i72s")  # used, dropped, failures; number, block, thread, unused; kernel
_FAILURES = 16  # where in it the failures begin
_CAPTURING = {900, 905, 906}  # hipErrorStreamCaptureUnsupported, ...Isolation, ...Implicit


def has_messages(binary: bytes) -> bool:
    """Whether the kernels of a code object print or assert: then its table of symbols names the variable."""
    return b"\0" + VARIABLE.encode() + b"\0" in binary


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


def printed(memory: bytes) -> tuple[list[str], int]:
    """(the texts of the records in some memory, the words that they take). A record's number is the length of its text,
    which follows its values."""
    whole, words = records(memory)
    texts = [record.rest[: record.number].partition(b"\0")[0].decode(errors="replace") for record in whole]
    return [formatted(text, record.values) for text, record in zip(texts, whole, strict=True)], words


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
        messages.show("tile-hip", self._kernels.artifact.name)
        return self._failed(messages) if messages.failures else 0

    def _failed(self, messages: Messages) -> int:
        entries = self._kernels.artifact.entries
        number = next((i for i, entry in enumerate(entries) if entry.symbol.startswith(messages.kernel)), 0)
        self._kernels.failures.keep_assertion(messages.failure(entries[number].attributes.get("assertions", ())))
        return ASSERTION + ENTRY_STEP * number

    def failure(self, code: int) -> str:
        """The words for a code that :meth:`read` returned."""
        return str(self._kernels.failures.words(code))


_lock = threading.Lock()
_launches: weakref.WeakSet[MessageLaunch] = weakref.WeakSet()


def read_all(index: int, stream: int) -> str:
    """Reads the messages of all kernels on a device; the words for the first failure, "" for none. stream: of the
    device, for the copies."""
    with _lock:
        launches = list(_launches)
    failures = [launch.failure(code) for launch in launches if (code := launch.read(index, stream))]
    return failures[0] if failures else ""
