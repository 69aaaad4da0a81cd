"""One artifact on the devices: its module is loaded into a device's primary context when it is first launched there."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from math import prod
from typing import Any

from tile_cuda import driver as api
from tile_cuda.driver import Driver, DriverError
from tile_cuda.launch.entries import NO_CLUSTER, LaunchEntry, launch_entry
from tile_cuda.launch.failures import FailedMap, Failures, refused_binary
from tilecore.artifact.dims import Dim
from tilecore.artifact.records import Artifact, Entry
from tilecore.errors import LaunchError

_PLAIN_SHARED = 48 << 10  # bytes that a block may have without asking
_ZEROS = 256  # bytes: a map's address is a multiple of 32
_PORTABLE_CLUSTER = 8  # blocks of a cluster that every device has


@dataclass(frozen=True)
class LoadedDevice:
    """A device's primary context, the kernels' functions in it, for each whether the launch must say its cluster, the
    most bytes of an L2 window, and the address of a few zeros for tensors without elements (0: there are none)."""

    context: int
    functions: list[int]
    clusters: list[bool]
    window_limit: int
    nothing: int = 0


class KernelModule:
    """The kernels of an artifact. ``entries``: by number; ``n_slots``: parameters of every kernel that are slots;
    ``sizes``: what the launch needs computed at every call, behind the slots."""

    def __init__(self, artifact: Artifact, driver: Driver, failed_map: FailedMap) -> None:
        self.artifact = artifact
        self.driver = driver
        self.entries = [launch_entry(entry) for entry in artifact.entries]
        self.n_slots = len(artifact.params) + len(artifact.workspaces) + len(artifact.symbols)
        symbolic = (size for entry in self.entries for size in entry.sizes if not isinstance(size, int))
        self.sizes: tuple[Dim, ...] = tuple(dict.fromkeys(symbolic))
        self.failures = Failures(self, failed_map)
        self.loaded: dict[int, LoadedDevice] = {}
        self._lock = threading.Lock()

    def address(self, name: str) -> int:
        """Address of a driver function; 0 if it has none of that name."""
        return self.driver.address(name)

    def place(self, size: Dim) -> tuple[int, int]:
        """(the size, -1) when it is a number, else (0, the word behind the slots that holds it)."""
        return (size, -1) if isinstance(size, int) else (0, self.n_slots + self.sizes.index(size))

    def require(self) -> None:
        """Raises LaunchError when the driver has not the functions that the launch needs."""
        needed = {"cuLaunchKernelEx": not all(e.is_plain for e in self.entries)}
        needed["cuTensorMapEncodeTiled"] = any(e.tensor_maps for e in self.entries)
        for name, is_needed in needed.items():
            if is_needed and not self.driver.address(name):
                raise LaunchError(
                    f"{self.artifact.name} needs a newer driver", found=f"one without {name}",
                    hint="install a driver of CUDA 12 or later",
                )  # fmt: skip

    def on_device(self, index: int) -> LoadedDevice:
        """The kernels on a device; loads them there at the first time. Raises LaunchError."""
        with self._lock:
            loaded = self.loaded.get(index)
            if loaded is None:
                loaded = self.loaded[index] = self._load(index)
            return loaded

    def _load(self, index: int) -> LoadedDevice:
        driver = self.driver
        try:
            context = driver.context(index)
            with driver.inside(index):
                module = driver.load_module(self.artifact.binary)
                functions = [driver.function(module, entry.symbol) for entry in self.artifact.entries]
                clusters = []
                for entry, facts, function in zip(self.artifact.entries, self.entries, functions, strict=True):
                    self._allow_shared(entry, function, index)
                    self._prefer(facts, function, index)
                    clusters.append(self._cluster(facts, function))
                nothing = driver.zeros(_ZEROS) if self._may_be_empty() else 0
                window = driver.device_attribute(api.MAX_WINDOW, index) if self._has_window() else 0
        except DriverError as error:
            raise refused_binary(self, error, index) from None
        return LoadedDevice(context, functions, clusters, window, nothing)

    def _may_be_empty(self) -> bool:
        """May a tensor that has a map be without elements?"""
        sizes = (size for entry in self.entries for tensor_map in entry.tensor_maps for size in tensor_map.shape)
        return any(not isinstance(size, int) or size == 0 for size in sizes)

    def _has_window(self) -> bool:
        return any(entry.window_slot >= 0 for entry in self.entries)

    def _allow_shared(self, entry: Entry, function: int, index: int) -> None:
        """Allow the shared memory that the entry asks for."""
        static = self.driver.function_attribute(function, api.FUNCTION_STATIC_SHARED)
        most = self.driver.limits(index)["shared"] - static
        dynamic_bytes = entry.shared_bytes
        if isinstance(dynamic_bytes, int) and dynamic_bytes > most:
            raise LaunchError(
                f"{entry.symbol} needs {dynamic_bytes} bytes of shared memory",
                found=f"{self.driver.device_name(index)}, which has {most} for a block",
                hint="use smaller tiles or fewer stages",
            )
        if not isinstance(dynamic_bytes, int) or dynamic_bytes + static > _PLAIN_SHARED:
            allowed = dynamic_bytes if isinstance(dynamic_bytes, int) else most
            self.driver.set_function_attribute(function, api.FUNCTION_DYNAMIC_SHARED, allowed)

    def _prefer(self, facts: LaunchEntry, function: int, index: int) -> None:
        """The carveout, and room in L2 for what is to stay there; the room of others is not taken away."""
        if facts.carveout is not None:
            self.driver.set_function_attribute(function, api.FUNCTION_CARVEOUT, facts.carveout)
        if facts.window_slot >= 0:
            most = self.driver.device_attribute(api.MAX_PERSISTING_L2, index)
            window_bytes = min(facts.window_bytes, most) if isinstance(facts.window_bytes, int) else most
            if window_bytes > self.driver.context_limit(api.LIMIT_PERSISTING_L2):
                self.driver.set_context_limit(api.LIMIT_PERSISTING_L2, window_bytes)

    def _cluster(self, facts: LaunchEntry, function: int) -> bool:
        """Whether the launch must say the cluster: the code does not."""
        if facts.cluster == NO_CLUSTER:
            return False
        if prod(facts.cluster) > _PORTABLE_CLUSTER:
            self.driver.set_function_attribute(function, api.FUNCTION_CLUSTER_ANY_SIZE, 1)
        return self.driver.function_attribute(function, api.FUNCTION_CLUSTER_WIDTH) == 0


def describe(module: KernelModule, index: int) -> dict[str, Any]:
    """Registers, spilled bytes and shared memory of every kernel, as the driver tells them."""
    functions = module.on_device(index).functions
    usage_by_kernel: dict[str, Any] = {}
    with module.driver.inside(index):
        for entry, function in zip(module.artifact.entries, functions, strict=True):
            usage_by_kernel[entry.symbol] = {
                "registers": module.driver.function_attribute(function, api.FUNCTION_REGISTERS),
                "local_bytes": module.driver.function_attribute(function, api.FUNCTION_LOCAL_BYTES),
                "static_shared_bytes": module.driver.function_attribute(function, api.FUNCTION_STATIC_SHARED),
            }
    return usage_by_kernel
