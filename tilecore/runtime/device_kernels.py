"""The kernels of an artifact on the devices of a GPU driver: what every backend that launches through one shares.

A backend derives its class from DeviceKernels and says how the kernels are loaded on a device, and one from
LaunchFailures that puts the driver's error codes into words. ``launch_of`` (device_launch.py) returns the launch.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilecore.errors import LaunchError

if TYPE_CHECKING:
    from tilecore.artifact.dims import Dim
    from tilecore.artifact.records import Artifact

# codes of a launch beside those of the driver, which has none of these; _device_launch.h defines the same
BAD_DEVICE, BAD_GRID, NO_MEMORY, LOAD_FAILED = 1001, 1002, 1003, 1004
ENTRY_STEP = 10000  # a code is the driver's + this * the number of the entry
MAX_DEVICES = 64

PlainStart = Callable[..., int]  # a backend's own launch in Python; DeviceEntry has its parameters


@dataclass(frozen=True)
class DriverFunctions:
    """The addresses of the driver's functions that a launch calls.

    launch: ``int f(void *function, unsigned grid[x, y, z], block[x, y, z], shared bytes, void *stream, void
    **parameters, void **extra)``, each unsigned a parameter. get_current: ``int f(handle *)``, what is current in the
    thread. set_current: ``int f(handle)``. restore: ``int f(handle *)`` ends what set_current began; 0: set_current
    with the handle of before does. numbered: a handle is the number of a device, an ``int``; else a pointer.
    """

    launch: int
    get_current: int
    set_current: int
    restore: int = 0
    numbered: bool = False


@dataclass(frozen=True)
class DeviceEntry:
    """The launch of one kernel.

    threads: of a block. most: the most blocks along x, y and z, and the most bytes of shared memory. start: the address
    of the backend's own launch, a ``tcd_start`` (_device_launch.h); 0: the driver's launches it. start_entry: the first
    argument of ``start``. plain_start: the same in Python, for installations without the compiled extension:
    ``plain_start(device, number of the entry, words of the call, grid, stream, parameter addresses)``, with a
    LoadedDevice, the words as an array of int64, and lists of int.
    """

    threads: tuple[int, int, int]
    most: tuple[int, int, int, int]
    start: int = 0
    start_entry: int = 0
    plain_start: PlainStart | None = None


@dataclass(frozen=True)
class LoadedDevice:
    """The kernels of an artifact on one device.

    handle: what must be current in a thread that launches on the device. functions: the handles of the kernels.
    start_device: the second argument of a ``start``; 0 where no entry has one.
    """

    handle: int
    functions: Sequence[int]
    start_device: int = 0


class DeviceKernels(ABC):
    """The kernels of an artifact on all devices: the first launch on a device loads them there.

    functions: the driver's. entries: one for each kernel of the artifact. n_slots: the number of slots. n_parameters:
    how many of them, from the first on, are the parameters that every kernel has; the slots behind them are scalars
    again, as symbols of the launch's sizes. n_further: how many parameters a ``start`` may add behind the kernel's.
    sizes: the expressions whose values each launch passes after the slots. failures: words for the codes of failed
    launches.
    """

    failures: LaunchFailures

    def __init__(self, artifact: Artifact, functions: DriverFunctions, sizes: tuple[Dim, ...] = ()) -> None:
        self.artifact = artifact
        self.functions = functions
        self.entries: Sequence[DeviceEntry] = ()
        self.n_slots = len(artifact.params) + len(artifact.workspaces) + len(artifact.symbols)
        self.n_parameters = self.n_slots - sum(symbol.source[0] == "scalar" for symbol in artifact.symbols)
        self.n_further = 0
        self.sizes = sizes
        self.loaded: dict[int, LoadedDevice] = {}
        self._lock = threading.Lock()

    def on_device(self, index: int) -> LoadedDevice:
        """The kernels on a device; the first call for a device loads them. Raises LaunchError."""
        with self._lock:
            loaded = self.loaded.get(index)
            if loaded is None:
                loaded = self.loaded[index] = self.load_on(index)
            return loaded

    @abstractmethod
    def load_on(self, index: int) -> LoadedDevice:
        """Loads the kernels on a device. Raises LaunchError."""


class LaunchFailures(ABC):
    """Words for the codes that launches of an artifact's kernels return.

    symbols: the kernels' names. name: the artifact's. most: for each kernel, the words for the largest grid.
    """

    def __init__(self, name: str, symbols: Sequence[str], most: Sequence[str]) -> None:
        self._name = name
        self._symbols = list(symbols)
        self._most = list(most)
        self._thread_local = threading.local()

    def keep(self, error: BaseException) -> None:
        """Stores the error that loading raised inside a launch, for :meth:`words`."""
        self._thread_local.error = error

    def words(self, code: int) -> str | LaunchError:
        """The message for a launch's code: the kernel, the driver's name for the failure, and the exceeded limit. Where
        the kernels could not be loaded, the error that says why."""
        number, result = divmod(code, ENTRY_STEP)
        if result == LOAD_FAILED:
            error = self._thread_local.__dict__.pop("error", None)
            if isinstance(error, LaunchError):
                return error
            return str(error) if error is not None else "the kernel cannot be loaded"
        symbol = self._symbols[number] if number < len(self._symbols) else self._name
        if result == BAD_DEVICE:
            words = "the device does not exist"
        elif result == NO_MEMORY:
            words = "the host is out of memory"
        elif result == BAD_GRID:
            words = f"the grid is too large: at most {self._most[number]}"
        else:
            words = self.driver_words(number, result)
        return f"{symbol}: {words}"

    def advice(self, code: int) -> str:
        """How the user can fix a failure; "" where no advice is known."""
        result = code % ENTRY_STEP
        if result == BAD_GRID:
            return "give each block more work, or make the grid longer along x and shorter along y and z"
        return self.driver_advice(result)

    @abstractmethod
    def driver_words(self, number: int, result: int) -> str:
        """The words for a code of the driver, or of a ``start``. number: of the kernel."""

    @abstractmethod
    def driver_advice(self, result: int) -> str:
        """How the user can fix it; "" where no advice is known."""
