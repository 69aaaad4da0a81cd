"""KernelAdapter: how one execution backend loads an artifact, launches it and handles its device's tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tilecore.contract.timing import HostTimer, Timer
from tilecore.errors import LaunchError, UnsupportedError
from tilecore.frozen_dataclasses import frozen

if TYPE_CHECKING:
    from tilecore.artifact.dims import Dim
    from tilecore.artifact.records import Artifact
    from tilecore.contract.records import Presence
    from tilecore.target import Target
    from tilecore.tensors.device_array import DeviceArray, DeviceMemory

INTERPRETED = "interpret"  # name of the execution backend that runs kernels by their definition (TILECORE_INTERPRET)
SIMULATED = "sim"  # name of the execution backend that runs kernels without their device; TILECORE_SIMULATE chooses it


def this_machine() -> str:
    """The system and processor of this host, as :meth:`KernelAdapter.machine` names them: "linux-x86_64"."""
    import platform
    import sys

    return f"{sys.platform}-{platform.machine()}"


@frozen
class LoadedKernel:
    """A loaded artifact, ready to launch.

    launch: either a PyCapsule named ``tilecore.launch`` that holds the address of a
    ``int (*)(void *state, const int64_t *slots, const int64_t *grids, void *stream)``, or a Python callable
    ``launch(slots_address, grids_address, stream)`` for adapters without native code. With ``on_device`` it takes the
    index of the tensors' device too, before the stream: the capsule is then named ``tilecore.launch_on_device`` and
    holds an ``int (*)(void *state, const int64_t *slots, const int64_t *grids, int device, void *stream)``, the
    callable is ``launch(slots_address, grids_address, device, stream)``. ``slots`` are as
    :class:`~tilecore.artifact.records.Entry` says; ``grids`` holds 4 int64 an entry: x, y, z, shared bytes;
    an entry with 0 blocks along an axis is left out. Behind the slots stand the ``sizes``. It returns 0, or an
    error number, which ``error`` describes: in words, or by the error itself, which is then raised as it is. With
    ``takes_tensors`` it is a Python callable, and its last argument is a tuple of the objects that the tensor slots
    stand for: the tensors as the caller passed them or ``empty`` returned them, then the workspaces.
    state: address that a native launch gets. owner: the object that keeps the loaded code alive. on_device,
    takes_tensors: see ``launch``. sizes: further values of a launch, computed from the sizes of the call. advice: what
    the user can do about an error number, "" where nothing is known.
    """

    launch: Any
    state: int = 0
    error: Callable[[int], str | LaunchError] | None = None
    owner: Any = None
    on_device: bool = False
    sizes: tuple[Dim, ...] = ()
    advice: Callable[[int], str] | None = None
    takes_tensors: bool = False

    @property
    def capsule_name(self) -> str:
        """Name of the capsule that ``launch`` must be if it is one."""
        return "tilecore.launch_on_device" if self.on_device else "tilecore.launch"


@frozen
class HostCode:
    """What a shared library with a kernel needs of an execution backend.

    source: text in C that defines
    ``static int tilecore_launch(const int64_t *slots, const int64_t *grids, int device)``, which launches all entries,
    with the slots and grids of :class:`LoadedKernel`, and returns 0 or an error code. objects: object files to link.
    allocates: whether the text also defines ``static void *tilecore_allocate(int64_t bytes, int device)``, which
    returns NULL where there is no memory, and ``static void tilecore_free(void *memory, int device)``; kernels with
    workspaces need them. errors: what some of the error codes mean. has_streams: whether the text asks
    ``tilecore_stream(device)``, which stands in front of it, for the stream to launch on. finds_device: whether it
    defines ``static int tilecore_current_device(int *device)``, which finds the device that a program in C has made
    current, and returns 0 or an error code. sizes: those whose values stand behind the slots, as in
    :class:`LoadedKernel`.
    """

    source: str
    objects: tuple[bytes, ...] = ()
    allocates: bool = False
    errors: Mapping[int, str] = field(default_factory=dict)
    has_streams: bool = False
    finds_device: bool = False
    sizes: tuple[Dim, ...] = ()


@frozen
class ForeignTensor:
    """Memory that an object describes by a protocol of its device.

    address: of element 0. shape, strides: in elements. dtype: DLPack's (code, bits, lanes). device: DLPack's (type,
    index). owner: keeps the memory alive.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: tuple[int, int, int]
    device: tuple[int, int]
    read_only: bool = False
    owner: Any = None


class KernelAdapter(ABC):
    """One way to run kernels of a target; ``name`` is what users pass as ``execution_backend``.

    device: DLPack device type of the tensors that it takes; None: the target's own.
    tensor_streams: whether kernels run on the stream that the library of the tensors calls current, which the built
    launcher then reads from their DLPack exchange table, in C; ``current_stream`` is asked for tensors without one.
    simulates: whether it runs kernels on the host in place of the target's device. Its kernels are no deployment.
    host_tensors: whether kernels take tensors in the host's memory too, beside those of ``device``, as on machines
    where both have one memory. Outputs are then on the host if all tensors of the call are.
    """

    name: str
    device: int | None = None
    tensor_streams: bool = False
    simulates: bool = False
    host_tensors: bool = False

    @abstractmethod
    def available(self, target: Target) -> Presence:
        """Whether it can run on this machine. Quick; ``detail`` says what is missing and how to get it."""

    def target(self, target: Target) -> Target:
        """The target that its kernels are compiled for: ``target``, or ``target`` with an attribute by which kernels
        for this execution backend are lowered otherwise. Raises TargetError where it runs no kernels of this target."""
        return target

    def fit(self, compiled_for: Target, wanted: Target) -> int:
        """How well a kernel that was compiled for ``compiled_for`` serves a call that wants ``wanted``: 0 where it may
        not run there or would compute something else, else the larger the better. Both targets are resolved. Bundles
        have kernels for several targets, and the best one is used. By default only equal targets fit."""
        return 1 if compiled_for == wanted else 0

    def machine(self, target: Target) -> str:
        """The host that kernels for a resolved target need, where the target says: its system and its processor as
        ``sys.platform`` and ``platform.machine()`` name them there, such as "linux-x86_64" or "win32-AMD64". By default
        "": kernels that run on the host need the one that compiled them, and others need none."""
        return ""

    @abstractmethod
    def load(self, artifact: Artifact) -> LoadedKernel:
        """Load an artifact that was built for this adapter; its binary is of one of ``binary_formats``. Must not import
        TVM."""

    def host_code(self, artifact: Artifact) -> HostCode | None:
        """How a shared library launches the kernel (``kernel.export_library``, ``kernel.get_host_source``); None: it
        cannot, and kernels are exported to files of tilecore's own."""
        return None

    def binary_formats(self) -> Sequence[str]:
        """Formats of binaries that it loads; empty: it loads the source itself and no toolchain is called."""
        return ()

    def current_stream(self, device_index: int) -> int:
        """The stream to launch on, as an integer handle; 0 is the default stream."""
        return 0

    def capture(self, device_index: int, stream: int) -> int:
        """The identifier of the capture that records the launches of a stream into a graph, 0 while there is none; no
        two captures have the same. Called before launches of kernels with workspaces, which must outlive the graph."""
        return 0

    def synchronize(self, device_index: int = 0) -> None:  # noqa: B027 - nothing to wait for on a host
        """Wait until everything launched has finished."""

    def timer(self, device_index: int = 0, backend: str = "event") -> Timer:
        """A timer for work on the device; each measurement gets a new one.

        backend: "event" for the device's own clock where it has one, "wall" for the host's; an adapter may have others.
        By default both are the host's clock around ``synchronize``. Raises UnsupportedError for an unknown backend.
        """
        if backend not in ("event", "wall"):
            raise UnsupportedError(
                f"execution backend {self.name!r} cannot time by {backend!r}", expected='"event" or "wall"'
            )
        plain = getattr(self.synchronize, "__func__", None) is KernelAdapter.synchronize
        return HostTimer(None if plain else lambda: self.synchronize(device_index))

    def empty(self, shape: tuple[int, ...], dtype: str, device_index: int = 0) -> Any:
        """An uninitialised tensor that this adapter's kernels can access: of torch if it is installed, else of numpy.

        A call whose tensors are numpy arrays gets arrays on the host, unless an adapter overrides this method.
        """
        from tilecore.tensors.views import device_problem, empty

        device = self.torch_device(device_index)
        try:
            return empty(shape, dtype, device)
        except Exception as error:
            made = self._without_torch(shape, dtype, device_index) if isinstance(error, ImportError) else None
            if made is not None:
                return made
            problem = device_problem(device)
            if not problem:
                raise
            raise LaunchError(
                f"execution backend {self.name!r} has its tensors on {device!r}, and torch makes none there",
                found=problem,
                hint="install the torch that knows the device; tensors that the call passes, outputs too, are not made",
            ) from error

    def _without_torch(self, shape: tuple[int, ...], dtype: str, device_index: int) -> DeviceArray | None:
        """An array in memory that the execution backend allocates by itself; None where it does not."""
        from math import prod

        from tilecore.dtypes import FACTS
        from tilecore.tensors.device_array import DeviceArray

        name = FACTS[dtype].torch if FACTS[dtype].bits < 8 else dtype
        memory = self.allocate(prod(shape) * FACTS[name].bits // 8, device_index)
        if memory is None:
            return None
        return DeviceArray(memory, shape, name, lambda: self.synchronize(device_index))

    def torch_device(self, device_index: int = 0) -> str:
        return "cpu"

    def largest_run(self) -> int | None:
        """The most element operations that a benchmark should run (simulators are slow); None: no limit."""
        return None

    def device_ranges(self) -> tuple[Callable[[str], Any], Callable[[], Any]] | None:
        """Two functions for the profiler of the device's vendor: one opens a range of this name on the calling thread,
        the other closes the innermost. Asked for once in a kernel, where TILECORE_RANGES asks for ranges; raises
        ToolchainError where what they need is not installed. None: the device has no such profiler."""
        return None

    def allocate(self, size: int, device_index: int) -> DeviceMemory | None:
        """Memory of ``size`` bytes on the device, for outputs and workspaces where torch is not installed. None: the
        execution backend allocates none, and torch is needed. Raises LaunchError."""
        return None

    def foreign_tensor(self, value: Any, stream: Callable[[int], int]) -> ForeignTensor | None:
        """The tensor that ``value`` describes by a protocol of the device's own; it is of no library that is known, and
        has neither ``__dlpack__`` nor ``__array_interface__``.

        stream: gives the stream of a device index on which the tensor will be used. None: it describes none. Raises
        UnsupportedError for a tensor that kernels cannot use; its message continues "A cannot be used: "."""
        return None
