"""The kernels of one artifact on all devices: the first launch on a device loads them into its primary context."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

from tile_cuda import driver as api
from tile_cuda.driver import Driver, DriverError
from tile_cuda.launch.entries import NO_CLUSTER, LaunchEntry, launch_entry
from tile_cuda.launch.failures import MAX_GRID, FailedMap, Failures, refused_binary
from tilecore.artifact.dims import Dim
from tilecore.artifact.records import Artifact, Entry, TensorParam
from tilecore.errors import LaunchError
from tilecore.runtime.device_kernels import DeviceEntry, DeviceKernels, LoadedDevice, PlainStart

MAX_SHARED = 2**31 - 1  # bytes that a launch can ask for
_PLAIN_SHARED = 48 << 10  # bytes of shared memory that a block may have without an opt-in
_ZEROS = 256  # bytes of the zeros that tensor maps of empty tensors describe; their address is a multiple of 32
_PORTABLE_CLUSTER = 8  # blocks of a cluster that every device supports


@dataclass(frozen=True)
class DeviceLimits:
    """What the launch attributes of an artifact's kernels need to know of one device.

    clusters: for each kernel, whether the launch must pass the size of its clusters. window: the most bytes of an L2
    access policy window. nothing: the address of zeros for the tensor maps of tensors that are empty or None; 0:
    no tensor with a map can be.
    """

    clusters: list[bool]
    window: int
    nothing: int = 0


class Start(Protocol):
    """The launch of entries with launch attributes or tensor maps: NativeStart of ``_native.pyx``, or AttributesStart.

    start: its address, 0 for one in Python. plain_start: the function in Python, None for one in C. ``entry`` and
    ``device`` return the addresses of its first two arguments.
    """

    @property
    def start(self) -> int: ...

    @property
    def plain_start(self) -> PlainStart | None: ...

    def entry(self, number: int) -> int: ...

    def device(self, limits: DeviceLimits) -> int: ...


class KernelModule(DeviceKernels):
    """The kernels of an artifact, loaded into the primary contexts of devices.

    launch_entries: the launch attributes of each kernel. limits: what they need to know of each loaded device.
    """

    def __init__(self, artifact: Artifact, driver: Driver, failed_map: FailedMap) -> None:
        self.launch_entries = [launch_entry(entry) for entry in artifact.entries]
        symbolic = (size for entry in self.launch_entries for size in entry.sizes if not isinstance(size, int))
        super().__init__(artifact, driver.functions(), tuple(dict.fromkeys(symbolic)))
        self.driver = driver
        self.failures: Failures = Failures(self, failed_map)
        self.limits: dict[int, DeviceLimits] = {}
        self._start: Start | None = None

    def start_with(self, start: Start) -> None:
        """Sets the launch of the entries that have launch attributes or tensor maps."""
        self._start = start
        self.entries = [self._entry(number, entry, start) for number, entry in enumerate(self.launch_entries)]
        self.n_further = max((len(entry.tensor_maps) for entry in self.launch_entries), default=0)

    @staticmethod
    def _entry(number: int, entry: LaunchEntry, start: Start) -> DeviceEntry:
        most = (*MAX_GRID, MAX_SHARED)
        if entry.is_plain and not entry.tensor_maps:
            return DeviceEntry(entry.threads, most)
        return DeviceEntry(entry.threads, most, start.start, start.entry(number), start.plain_start)

    def address(self, name: str) -> int:
        """The address of a driver function; 0 where the driver has no function of that name."""
        return self.driver.address(name)

    def place(self, size: Dim) -> tuple[int, int]:
        """(the size, -1) for an integer; else (0, the index of the word after the slots that has its value)."""
        return (size, -1) if isinstance(size, int) else (0, self.n_slots + self.sizes.index(size))

    def require(self) -> None:
        """Raises LaunchError where the driver lacks a function that the launch needs."""
        needed = {"cuLaunchKernelEx": not all(e.is_plain for e in self.launch_entries)}
        needed["cuTensorMapEncodeTiled"] = any(e.tensor_maps for e in self.launch_entries)
        for name, is_needed in needed.items():
            if is_needed and not self.driver.address(name):
                raise LaunchError(
                    f"{self.artifact.name} needs a newer driver", found=f"one without {name}",
                    hint="install a driver of CUDA 12 or later",
                )  # fmt: skip

    def load_on(self, index: int) -> LoadedDevice:
        driver = self.driver
        try:
            context = driver.context(index)
            with driver.inside(index):
                module = driver.load_module(self.artifact.binary)
                functions = [driver.function(module, entry.symbol) for entry in self.artifact.entries]
                clusters = []
                for entry, facts, function in zip(self.artifact.entries, self.launch_entries, functions, strict=True):
                    self._allow_shared(entry, function, index)
                    self._prefer(facts, function, index)
                    clusters.append(self._cluster(facts, function))
                nothing = driver.zeros(_ZEROS) if self._may_be_empty() else 0
                window = driver.device_attribute(api.MAX_WINDOW, index) if self._has_window() else 0
        except DriverError as error:
            raise refused_binary(self, error, index) from None
        assert self._start is not None, "start_with was not called"
        limits = self.limits[index] = DeviceLimits(clusters, window, nothing)
        return LoadedDevice(context, functions, self._start.device(limits))

    def _may_be_empty(self) -> bool:
        """Whether a tensor that has a tensor map may be empty, or None."""
        if any(isinstance(param, TensorParam) and param.needed != 1 for param in self.artifact.params):
            return any(entry.tensor_maps for entry in self.launch_entries)
        sizes = (size for entry in self.launch_entries for tensor_map in entry.tensor_maps for size in tensor_map.shape)
        return any(not isinstance(size, int) or size == 0 for size in sizes)

    def _has_window(self) -> bool:
        return any(entry.window_slot >= 0 for entry in self.launch_entries)

    def _allow_shared(self, entry: Entry, function: int, index: int) -> None:
        """Opts in to the dynamic shared memory of the entry where that is needed. Raises LaunchError for too much."""
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
        """Sets the carveout and enlarges the L2 set-aside for persisting accesses; it is never made smaller."""
        if facts.carveout is not None:
            self.driver.set_function_attribute(function, api.FUNCTION_CARVEOUT, facts.carveout)
        if facts.window_slot >= 0:
            most = self.driver.device_attribute(api.MAX_PERSISTING_L2, index)
            window_bytes = min(facts.window_bytes, most) if isinstance(facts.window_bytes, int) else most
            if window_bytes > self.driver.context_limit(api.LIMIT_PERSISTING_L2):
                self.driver.set_context_limit(api.LIMIT_PERSISTING_L2, window_bytes)

    def _cluster(self, facts: LaunchEntry, function: int) -> bool:
        """Whether the launch must pass the size of the clusters, because the code does not define it."""
        if facts.cluster == NO_CLUSTER:
            return False
        if prod(facts.cluster) > _PORTABLE_CLUSTER:
            self.driver.set_function_attribute(function, api.FUNCTION_CLUSTER_ANY_SIZE, 1)
        return self.driver.function_attribute(function, api.FUNCTION_CLUSTER_WIDTH) == 0


def describe(module: KernelModule, index: int) -> dict[str, Any]:
    """The registers, bytes of local memory and bytes of static shared memory of each kernel, as the driver reports."""
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
