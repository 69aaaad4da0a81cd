"""One artifact on the devices: its module is loaded into a device's primary context when it is first launched there."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from tile_cuda import driver as api
from tile_cuda.driver import Driver, DriverError
from tilecore.errors import LaunchError
from tilecore.runtime.artifact import Artifact, Entry, TensorParam

# results of our own, beside the driver's; launch_native.h has the same
BAD_DEVICE, BAD_GRID, NO_MEMORY, LOAD_FAILED = 1001, 1002, 1003, 1004
ENTRY_STEP = 10000
_PLAIN_SHARED = 48 << 10  # bytes that a block may have without asking
_L2_LIMIT = 6  # CU_LIMIT_PERSISTING_L2_CACHE_SIZE
_INVALID_IMAGE, _NO_BINARY, _UNSUPPORTED_PTX = 200, 209, 222
_OUT_OF_RESOURCES, _INVALID_VALUE = 701, 1


@dataclass(frozen=True)
class LaunchEntry:
    """What a launch needs of one entry. window_slot: slot of the tensor that is kept in L2, -1 for none."""

    threads: tuple[int, int, int]
    window_slot: int = -1
    window_bytes: int = 0
    window_ratio: float = 1.0
    programmatic: bool = False


def _launch_entry(entry: Entry) -> LaunchEntry:
    slot, size, ratio = entry.attributes.get("l2_window", (-1, 0, 1.0))
    return LaunchEntry(entry.threads, int(slot), int(size), float(ratio), bool(entry.attributes.get("programmatic")))


class KernelModule:
    """The kernels of an artifact. ``entries``: by number; ``n_slots``: parameters of every kernel."""

    def __init__(self, artifact: Artifact, driver: Driver) -> None:
        self.artifact = artifact
        self.driver = driver
        self.entries = [_launch_entry(entry) for entry in artifact.entries]
        self.n_slots = len(artifact.params) + len(artifact.workspaces) + len(artifact.symbols)
        self._loaded: dict[int, tuple[int, list[int]]] = {}
        self._lock = threading.Lock()
        self._failure: BaseException | None = None

    def address(self, name: str) -> int:
        """Address of a driver function; 0 if it has none of that name."""
        return self.driver.address(name)

    def on_device(self, index: int) -> tuple[int, list[int]]:
        """(the device's primary context, the kernels' functions in it); raises LaunchError."""
        with self._lock:
            known = self._loaded.get(index)
            if known is None:
                known = self._loaded[index] = self._load(index)
            return known

    def _load(self, index: int) -> tuple[int, list[int]]:
        driver = self.driver
        try:
            context = driver.context(index)
            with driver.inside(index):
                module = driver.load_module(self.artifact.binary)
                functions = [driver.function(module, entry.symbol) for entry in self.artifact.entries]
                for entry, function in zip(self.artifact.entries, functions, strict=True):
                    self._prepare(entry, function, index)
        except DriverError as error:
            raise self._refusal(error, index) from None
        return context, functions

    def _prepare(self, entry: Entry, function: int, index: int) -> None:
        """Allow the shared memory that the entry asks for."""
        static = self.driver.function_attribute(function, api.FUNCTION_STATIC_SHARED)
        most = self.driver.limits(index)["shared"] - static
        asked = entry.shared_bytes
        if isinstance(asked, int) and asked > most:
            raise LaunchError(
                f"{entry.symbol} asks for {asked} bytes of shared memory",
                found=f"{self.driver.device_name(index)} gives a block {most}",
                hint="smaller tiles or fewer stages",
            )
        if not isinstance(asked, int) or asked + static > _PLAIN_SHARED:
            allowed = asked if isinstance(asked, int) else most
            self.driver.set_function_attribute(function, api.FUNCTION_DYNAMIC_SHARED, allowed)
        window = _launch_entry(entry)
        if window.window_slot >= 0:
            self.driver.call("cuCtxSetLimit", _L2_LIMIT, window.window_bytes)

    def _refusal(self, error: DriverError, index: int) -> LaunchError:
        name = self.artifact.name
        if error.code in (_NO_BINARY, _INVALID_IMAGE, _UNSUPPORTED_PTX):
            major, minor = self.driver.capability(index)
            return LaunchError(
                f"{name} was compiled for another GPU: {error}",
                found=f"{self.artifact.target}; the device is {self.driver.device_name(index)}, sm_{major}{minor}",
                hint=f'target="cuda -arch=sm_{major}{minor}"',
            )
        return LaunchError(f"{name} cannot be loaded on device {index}: {error}")

    # -- words for what went wrong -------------------------------------------------------------------------------

    def failed(self, error: BaseException) -> None:
        """Keep what a load raised inside a launch, for :meth:`words`."""
        self._failure = error

    def words(self, code: int) -> str:
        """What the code of a launch means: the kernel, the driver's name for it and the limit that was hit."""
        number, result = divmod(code, ENTRY_STEP)
        if result == LOAD_FAILED:
            error, self._failure = self._failure, None
            return str(error) if error is not None else "the kernel could not be loaded"
        symbol = self.artifact.entries[number].symbol if number < len(self.artifact.entries) else self.artifact.name
        own = {
            BAD_DEVICE: "there is no such device",
            BAD_GRID: f"the grid is too large: at most {2**31 - 1} blocks along x, 65535 along y and z",
            NO_MEMORY: "out of memory on the host",
        }
        if result in own:
            return f"{symbol}: {own[result]}"
        limits = "; ".join(self._limits_hit(number)) if result in (_INVALID_VALUE, _OUT_OF_RESOURCES) else ""
        assertions = (
            self.artifact.entries[number].attributes.get("assertions", ()) if number < len(self.entries) else ()
        )
        if result in (710, 719) and assertions:
            limits = "a device assertion may have failed: " + " | ".join(map(str, assertions))
        return f"{symbol}: {self.driver.words(result)}" + (f"; {limits}" if limits else "")

    def _limits_hit(self, number: int) -> list[str]:
        """Limits of the device or of the compiled kernel that the launch went beyond."""
        entry = self.artifact.entries[number]
        made: list[str] = []
        x, y, z = entry.threads
        for index, (_, functions) in self._loaded.items():
            try:
                limit = self.driver.limits(index)
                with self.driver.inside(index):
                    most = self.driver.function_attribute(functions[number], api.FUNCTION_THREADS)
                    registers = self.driver.function_attribute(functions[number], api.FUNCTION_REGISTERS)
            except DriverError:
                continue
            if x * y * z > limit["threads"]:
                made.append(f"{x * y * z} threads a block, the limit is {limit['threads']}")
            elif x * y * z > most:
                made.append(f"{x * y * z} threads a block, with {registers} registers each at most {most} fit")
            if isinstance(entry.shared_bytes, int) and entry.shared_bytes > limit["shared"]:
                made.append(f"{entry.shared_bytes} bytes of shared memory, the limit is {limit['shared']}")
            break
        return made


def tensor_slots(artifact: Artifact) -> int:
    """Number of slots that hold tensors' addresses."""
    return sum(isinstance(param, TensorParam) for param in artifact.params) + len(artifact.workspaces)


def describe(module: KernelModule, index: int) -> dict[str, Any]:
    """Registers, spilled bytes and shared memory of every kernel, as the driver tells them."""
    _, functions = module.on_device(index)
    made: dict[str, Any] = {}
    with module.driver.inside(index):
        for entry, function in zip(module.artifact.entries, functions, strict=True):
            made[entry.symbol] = {
                "registers": module.driver.function_attribute(function, api.FUNCTION_REGISTERS),
                "local_bytes": module.driver.function_attribute(function, api.FUNCTION_LOCAL_BYTES),
                "static_shared_bytes": module.driver.function_attribute(function, api.FUNCTION_STATIC_SHARED),
            }
    return made
