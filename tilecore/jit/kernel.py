"""Defines JITKernel, a compiled kernel that is called like a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from tilecore.artifact.packing import note_loaded
from tilecore.artifact.records import Artifact
from tilecore.artifact.sharing import share_parts
from tilecore.caller import keywords_checked
from tilecore.contract.adapter import INTERPRETED, SIMULATED, KernelAdapter, LoadedKernel
from tilecore.errors import ArgumentError, LaunchError, TargetError, UnsupportedError
from tilecore.jit.given_outputs import GivenOutputs
from tilecore.jit.kernel_adapter import BaseKernelAdapter
from tilecore.jit.kernel_resources import KernelResources
from tilecore.jit.kernel_sources import KernelSources
from tilecore.plugins.attributes import without_defaults
from tilecore.runtime.launcher import Launcher, call_in_c
from tilecore.tensors.torch_state import not_traced

if TYPE_CHECKING:
    from pathlib import Path

    from tilecore.contract.records import Backend
    from tilecore.pictures.picture import LayoutPicture
    from tilecore.profiler.cost import KernelCost
    from tilecore.runtime.params import KernelParam
    from tilecore.target import Target


class _Constructor(type):
    """``JITKernel(func, ...)`` compiles as :func:`tilecore.compile` does; ``JITKernel(artifact, ...)`` loads one."""

    def __call__(cls, func: Any = None, *args: Any, from_database: bool = False, **settings: Any) -> Any:
        if isinstance(func, Artifact):
            return super().__call__(func, *args, **settings)
        if from_database:
            raise TargetError(
                f"{cls.__name__}(from_database=True) is not supported",
                hint="use tilecore.load_kernel to load an exported kernel",
            )
        from tilecore.jit.compile import compile

        return compile(func, *args, **settings)


_P = ParamSpec("_P")
_T = TypeVar("_T")


_INSTEAD = (
    "torch.compile does not see into a kernel: register it as an operation of torch, op = "
    'kernel.torch_op("mylib::name"), and call that'
)


@call_in_c
class JITKernel(KernelSources, KernelResources, Launcher, Generic[_P, _T], metaclass=_Constructor):
    """A compiled kernel. ``kernel(a, b, c)`` checks the arguments and launches; parameters in ``out_idx`` are
    allocated by the call and returned. Calls raise ArgumentError and LaunchError.

    artifact: the record of the compiled kernel. target, backend, adapter: the target and its execution. from_cache:
    whether the kernel was loaded from the cache on disk. config, latency, ref_latency: set by the autotuner (latencies
    in milliseconds). pass_configs, compile_flags, verbose: the settings of the compilation. In annotations:
    ``JITKernel[P, T]``, the parameters and the result of a call.
    """

    def __init__(
        self, artifact: Artifact, backend: Backend, target: Target, make_ir: Callable[[], Any] | None = None
    ) -> None:
        adapter = backend.adapters[artifact.adapter]
        self._make_ir = make_ir
        self._require_device(artifact, backend, target)
        _require_format(artifact, adapter)
        device = backend.target.device if adapter.device is None else adapter.device
        share_parts(artifact)
        super().__init__(artifact, self._load(artifact, adapter), adapter, device)
        self._execution = adapter
        self.backend = backend
        self.target = target
        self.from_cache = False
        self.config: Any = None
        self.latency: float | None = None
        self.ref_latency: float | None = None
        self.pass_configs: Mapping[str, Any] = {}
        self.compile_flags: tuple[str, ...] = ()
        self.verbose = False
        note_loaded(artifact)

    def _require_device(self, artifact: Artifact, backend: Backend, target: Target) -> None:
        present = backend.adapters[artifact.adapter].available(target)
        if not present.present:
            raise not_here(artifact, backend, target, present.detail, is_loaded=self._make_ir is None)

    def _load(self, artifact: Artifact, adapter: KernelAdapter) -> LoadedKernel:
        return adapter.load(artifact)

    # -- properties -------------------------------------------------------------------------------------------

    @property
    def params(self) -> tuple[KernelParam, ...]:
        """The declared parameters; ``artifact.params`` has them as plain data."""
        from tilecore.runtime.params import params_of

        return params_of(self.artifact.params)

    @property
    def execution(self) -> KernelAdapter:
        """The execution backend; kernels share it."""
        return self._execution

    @property
    def adapter(self) -> BaseKernelAdapter:  # type: ignore[override]
        """The execution backend, with the kernel as ``adapter.func``."""
        return BaseKernelAdapter(self._execution, self)

    @property
    def torch_function(self) -> JITKernel[_P, _T]:
        """The kernel itself, which takes torch tensors."""
        return self

    @property
    def out_idx(self) -> list[int]:
        """Positions of the parameters that a call allocates and returns."""
        return list(self.artifact.out_idx)

    @property
    def execution_backend(self) -> str:
        return self.artifact.adapter

    @property
    def prim_func(self) -> Any:
        """The kernel's tile IR, built again for a kernel from the cache. Raises TargetError for exported kernels."""
        if self._make_ir is None:
            raise TargetError(f"{self.artifact.name} was loaded from a file, which has no tile IR")
        return self._make_ir()

    func = prim_func

    @property
    def ir(self) -> Any:
        """The kernel's tile IR, as ``ir`` of a T.prim_func."""
        return self.prim_func

    def get_tir(self) -> Any:
        """The kernel's tile IR."""
        return self.prim_func

    def explain(self) -> Any:
        """The compiler's choices and reasons: prints as a report; ``.data`` has it as plain data."""
        from tilecore.jit.explain import Explanation

        toolchain = self.backend.toolchain
        return Explanation(self.artifact, toolchain.describe, toolchain.remarks)

    def layout(self, name: str) -> LayoutPicture:
        """A picture of the layout of a buffer: print it, or ``save("file.svg")`` it.

        name: a fragment or a shared buffer. Lowers the kernel once more. Raises TargetError for a kernel without such a
        buffer, or on a target whose blocks have no threads.
        """
        pictures = self.layouts()
        if name not in pictures:
            raise TargetError(
                f"{self.artifact.name} has no buffer {name!r} with a layout",
                expected=", ".join(pictures) or "a kernel with fragments or shared buffers, on a target with threads",
            )
        return pictures[name]

    def layouts(self) -> dict[str, LayoutPicture]:
        """The pictures of all buffers that have a layout, by name."""
        from tilecore.compiler import CompileOptions, lower
        from tilecore.pictures.collect import pictures_of

        options = CompileOptions(pass_configs=self.pass_configs)
        _, env = lower(self.prim_func, self.backend, self.target, options)
        return pictures_of(env)

    # -- use ---------------------------------------------------------------------------------------------

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Checks the arguments and launches; parameters in ``out_idx`` are allocated and returned (one tensor, or a
        list of several). Raises ArgumentError and LaunchError."""
        result: Any = super().__call__(*args, **kwargs)
        return result  # type: ignore[no-any-return]

    not_traced(__call__, _INSTEAD)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """``kernel[(grid,)](a, b)``: the same as ``kernel(a, b)``, because T.Kernel defines the grid.

        ``grid`` must be one to three positive integers, else ArgumentError. Outputs in ``out_idx`` may be passed at
        their positions: ``kernel[(1,)](a, b, c)`` writes to ``c``.
        """
        sizes = grid if isinstance(grid, tuple) else (grid,)
        if not 1 <= len(sizes) <= 3 or not all(isinstance(s, int) and s > 0 for s in sizes):
            raise ArgumentError(
                f"{self.artifact.name}[grid]: the grid is wrong",
                found=repr(grid),
                expected="one to three positive ints; T.Kernel defines the grid, and this one has no effect",
            )
        return GivenOutputs(self) if self.artifact.out_idx else self

    @keywords_checked
    def get_profiler(self, tensor_supply_type: Any = None) -> Any:
        """A Profiler: timing and checking with generated inputs."""
        from tilecore.profiler import Profiler, TensorSupplyType

        return Profiler(self, TensorSupplyType.Auto if tensor_supply_type is None else tensor_supply_type)

    def cost(self, *arguments: Any, **sizes: int) -> KernelCost:
        """What a call does, counted in the tile IR: floating-point operations and bytes of global memory.

        sizes: those that only a call gives (and integer scalars), by name; ``arguments`` of a call give them, too.
        ``kernel.cost(M=1024)``, ``kernel.cost(a, b)``. Raises ArgumentError where some are missing, TargetError for an
        exported kernel, which has no tile IR.
        """
        from tilecore.profiler.cost import cost_of

        return cost_of(self, arguments, sizes)

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        """Run the kernel, or ``func``, on generated inputs; its result."""
        return self.get_profiler().run_once(func)

    def update_tuner_result(self, latency: float, config: Any, ref_latency: float | None) -> JITKernel[_P, _T]:
        """Notes what an autotuner of the program's own has measured; returns the kernel. Latencies in milliseconds."""
        self.latency, self.config, self.ref_latency = latency, config, ref_latency
        return self

    def get_tuner_result(self) -> dict[str, Any]:
        """Its ``latency``, ``config`` and ``ref_latency``. Raises ValueError for a kernel that is not tuned."""
        if self.latency is None:
            raise ValueError(f"{self.artifact.name} was not tuned: no autotuner has measured it")
        return {"latency": self.latency, "config": self.config, "ref_latency": self.ref_latency}

    @keywords_checked
    def export(self, path: str | Path, *, simulation: bool = False) -> Path:
        """Write the compiled kernel to ``path``; ``tilecore.load_kernel(path)`` loads it, without TVM.

        Folders that are missing are made. simulation: allow the export of a kernel for a simulated device. Raises
        UnsupportedError for a kernel that the interpreter runs, and for one of a simulated device without
        ``simulation``; CacheError when the path cannot be written.
        """
        from tilecore.jit.export import write_kernel
        from tilecore.runtime.simulation import refuse_export

        self._require_code()
        if not simulation:
            refuse_export(self.artifact, self.backend)
        return write_kernel(self.artifact, path)

    @keywords_checked
    def export_library(
        self, kernel_file: str | Path, *, header: str | Path | None = None, name: str | None = None
    ) -> None:
        """Write a shared library with the kernel, for programs without tilecore. It needs a C compiler. Folders that
        are missing are made.

        Without ``header`` it has the function ``__tvm_ffi_<kernel>``, which takes all parameters, outputs too:
        ``tvm_ffi.load_module(path)["<kernel>"]`` calls it. With ``header`` it has a function for C and C++, which the
        header declares: it takes addresses, numbers, sizes and, on devices that have streams, a stream. name: of this
        function, the kernel's by default; kernels of one name that a program uses together need different ones. A
        kernel that runs on a simulated device, as on a machine without the target's, is compiled for the device. Raises
        UnsupportedError for an execution backend that gives no host code, and for kernels with workspaces where it
        does not allocate them; ``export`` takes those.
        """
        from tilecore.jit.device_kernel import kernel_with_host_code
        from tilecore.jit.library import export_library

        self._require_code()
        kernel = kernel_with_host_code(self)
        export_library(kernel.artifact, kernel._execution, kernel._device_type(), kernel_file, header, name)

    @keywords_checked
    def torch_op(
        self,
        name: str,
        *,
        backward: Any = None,
        setup_context: Callable[..., None] | None = None,
        autocast: Any = None,
        vmap: Any = None,
    ) -> Any:
        """The kernel as the operation ``name`` of torch ("namespace::name"), for torch.compile, torch.export and others
        that record torch's operations; a torch._ops.OpOverload, which is called as the kernel is.

        It takes the kernel's arguments in their order and returns what a call of the kernel returns (a tuple for
        several results). backward, setup_context, autocast, vmap: :class:`tilecore.torch_ops.TorchOpRules`. The same
        kernel under the same name and rules is the same operation. Raises ArgumentError for a wrong or taken name and
        for rules that do not fit the kernel, UnsupportedError for what no operation of torch can do.
        """
        from tilecore.torch_ops import TorchOpRules, op_of_kernel

        return op_of_kernel(self, name, TorchOpRules(backward, setup_context, autocast, vmap))

    def get_host_source(self) -> str:
        """The C source of the function that ``export_library`` compiles; "" where the execution backend gives none.
        Calls of the kernel itself go through tilecore's launcher."""
        from tilecore.jit.library import source_of

        return source_of(self.artifact, self._execution, self._device_type())

    def _device_type(self) -> int:
        """DLPack's type of the device that its tensors are on."""
        device = self._execution.device
        return self.backend.target.device if device is None else device

    def _require_code(self) -> None:
        if self.artifact.adapter == INTERPRETED:
            raise UnsupportedError(
                f"{self.artifact.name} runs in the interpreter, so it has no compiled code to export",
                hint="compile it without TILECORE_INTERPRET=1; on targets without a simulated device also without "
                "TILECORE_SIMULATE=1",
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled kernels are loaded like exported ones, without TVM and without tile IR."""
        from tilecore.jit.export import unpickled

        self._require_code()
        facts = {name: getattr(self, name) for name in ("from_cache", "config", "latency", "ref_latency")}
        return unpickled, (self.artifact, facts)

    def __copy__(self) -> JITKernel:
        return self

    def __deepcopy__(self, memo: Any) -> JITKernel:
        """The kernel itself: copies of a model share it."""
        return self

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.artifact.params)
        return f"<JITKernel {self.artifact.name}({names}) on {self.target.kind}, {self.artifact.adapter}>"


def _require_format(artifact: Artifact, adapter: KernelAdapter) -> None:
    formats = adapter.binary_formats() or ("",)
    if artifact.binary_format not in formats:
        raise UnsupportedError(
            f"the binary of {artifact.name} is {artifact.binary_format!r}, which its execution backend does not load",
            found=f"execution_backend={artifact.adapter!r}",
            expected=" or ".join(map(repr, formats)),
            hint="compile the kernel again with this version",
        )


def not_here(artifact: Artifact, backend: Backend, target: Target, missing: str, *, is_loaded: bool) -> LaunchError:
    """The LaunchError for a kernel whose execution backend is not available on this machine. is_loaded: it comes from a
    file, and cannot be compiled again."""
    available = [name for name, adapter in backend.adapters.items() if adapter.available(target).present]
    expected = f"a machine that runs {without_defaults(backend, target)}"
    way = "a target of this machine; `tilecore targets` lists them"
    hint = f"compile it for {way}"
    if SIMULATED in available:
        way = f'execution_backend="{SIMULATED}", the simulated device'
        hint = f'compile it with execution_backend="{SIMULATED}", or set TILECORE_SIMULATE=1, for the simulated device'
    if is_loaded:
        hint = f"call it there; to run the function here, compile it from its source for {way}"
    elif available:
        expected = f"an execution backend that is available here: {', '.join(available)}"
    return LaunchError(
        f"{artifact.name} cannot run with execution_backend={artifact.adapter!r} here",
        found=missing,
        expected=expected,
        hint=hint,
    )
