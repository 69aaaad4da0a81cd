"""Compiles kernel functions to callable kernels, through the caches (``tilecore.compile``)."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from tilecore import debug, settings
from tilecore.artifact.records import Artifact
from tilecore.cache.current import disk_cache
from tilecore.cache.disk import DiskCache
from tilecore.cache.key import kernel_key
from tilecore.cache.memory import MemoryCache
from tilecore.cache.source_key import SourceKey
from tilecore.cache.versions import versions_for_key
from tilecore.compiler import CompileOptions, build_artifact
from tilecore.contract.adapter import INTERPRETED, SIMULATED
from tilecore.contract.records import Backend, PassOption
from tilecore.errors import LanguageError, LaunchError, Location, TargetError
from tilecore.interrupts import held_back, safe_point
from tilecore.jit.absent import made_here
from tilecore.jit.collection import collection_paused
from tilecore.jit.execution_names import ExecutionBackend, is_usual_name
from tilecore.jit.kernel import JITKernel
from tilecore.plugins import manager
from tilecore.plugins.discovery import HOST_KIND
from tilecore.plugins.guard import describe
from tilecore.plugins.pass_options import checked_pass_configs
from tilecore.plugins.tvm_targets import is_tvm_target, kind_name
from tilecore.runtime.simulation import simulates, warn_of_simulation
from tilecore.target import Target

logger = logging.getLogger("tilecore.jit")  # level debug: compiled kernels and cache hits
DUMP_IR = PassOption("tl.enable_dump_ir", "write the files of every step, as debug_root_path does")
DUMP_IR_FOLDER = PassOption("tl.dump_ir_path", "the folder that tl.enable_dump_ir writes to", "./dump_ir", str)
OPTIONS = (DUMP_IR, DUMP_IR_FOLDER)  # the pass configurations that are read here, for every target


@dataclass(frozen=True)
class Request:
    """The resolved and checked settings of a compilation.

    debug_root: the folder for the files of every step, or None. adapter_asked: whether the user chose the adapter, by
    name or by TILECORE_SIMULATE.
    """

    backend: Backend
    target: Target
    adapter: str
    options: CompileOptions
    debug_root: str | None = None
    adapter_asked: bool = False

    def key_parts(self) -> dict[str, Any]:
        """The parts of the request that cache keys contain."""
        backend, options = self.backend, self.options
        return {
            "target": str(self.target),
            "adapter": self.adapter,
            "out_idx": tuple(options.out_idx),
            "pass_configs": {k: _plain(v) for k, v in options.pass_configs.items()},
            "compile_flags": tuple(options.compile_flags),
            "versions": versions_for_key(backend.package, backend.version, backend.module),
            "toolchain": backend.toolchain.version(self.target),
        }

    @property
    def tells_places(self) -> bool:
        """Whether errors of running kernels name source lines, as in the interpreter and on simulated devices."""
        return self.adapter == INTERPRETED or simulates(self.adapter, self.backend)

    def key_from(self, source: SourceKey | None, **facts: Any) -> str | None:
        """The cache key of a kernel by its source and by ``facts`` of the call; None where the source has no key."""
        if source is None:
            return None
        digest = source.placed if self.tells_places else source.digest
        return kernel_key({"source": digest, **facts, **self.key_parts()})


def _plain(value: Any) -> Any:
    return (
        value if isinstance(value, (str, int, float, bool, bytes, tuple, list, dict)) or value is None else str(value)
    )


def make_request(
    out_idx: Any = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: str | Sequence[str] | None = None,
    debug_root_path: Any = None,
) -> Request:
    """Resolve and check the arguments that jit, compile and par_compile share. Raises TargetError, PluginError."""
    check_host(target_host)
    backend, resolved = manager.use_default() if target in (None, "auto") else manager.resolve(target)
    asked = execution_backend not in (None, "", "auto")
    adapter = choose_adapter(backend, resolved, str(execution_backend) if asked else settings.execution_backend())
    is_verbose = settings.verbose() if verbose is None else bool(verbose)
    configs = checked_pass_configs(pass_configs, backend, OPTIONS)
    folder = _dump_folder(configs) if debug_root_path is None else str(debug_root_path)
    options = CompileOptions(_positions(out_idx), configs, _flags(compile_flags), is_verbose)
    asked = asked or settings.simulate() or settings.execution_backend() not in ("auto", "")
    return Request(backend, resolved, adapter, options, folder, asked)


def _dump_folder(configs: dict[str, Any]) -> str | None:
    """The folder that DUMP_IR asks for, for the files of every step, or None. Removes both keys from ``configs``."""
    enabled, folder = DUMP_IR.value_in(configs), DUMP_IR_FOLDER.value_in(configs)
    for option in OPTIONS:
        configs.pop(option.name, None)
    return str(folder) if enabled else None


def check_host(target_host: Any) -> None:
    """Raises TargetError for a target_host that is not the host.

    Its attributes, such as -mcpu, have no effect: the host's part of a launch is tilecore's launcher.
    """
    if target_host is None:
        return
    kind = kind_name(target_host) if is_tvm_target(target_host) else Target.parse(target_host).kind
    names = (HOST_KIND, *manager.target_spec(HOST_KIND).aliases)
    if kind not in names:
        raise TargetError(
            f"target_host={target_host!r} is not the host",
            found=f"target {kind!r}",
            expected=" or ".join(map(repr, names)),
            hint="leave out target_host",
        )


def _positions(out_idx: Any) -> tuple[int, ...]:
    """``out_idx`` as Python ints; their range is checked when the kernel's parameters are known."""
    many = isinstance(out_idx, Iterable) and not isinstance(out_idx, (str, bytes, Mapping))
    positions = [] if out_idx is None else list(out_idx) if many else [out_idx]
    for position in positions:
        if isinstance(position, bool) or not hasattr(type(position), "__index__"):
            raise TargetError(
                "out_idx must be positions of parameters",
                found=repr(out_idx),
                expected="an int or a list of ints, such as -1",
            )
    return tuple(operator.index(position) for position in positions)


def _flags(compile_flags: Any) -> tuple[str, ...]:
    many = isinstance(compile_flags, Iterable) and not isinstance(compile_flags, str)
    flags = tuple(compile_flags) if many else () if compile_flags is None else (compile_flags,)
    if not all(isinstance(flag, str) for flag in flags):
        raise TargetError("compile_flags must be text", found=repr(compile_flags), expected='"-a" or ["-a", "-b"]')
    return flags


def choose_adapter(backend: Backend, target: Target, wanted: str) -> str:
    """The name of the execution backend; for "auto" the first that is available here, else the first.

    TILECORE_INTERPRET chooses the interpreter, TILECORE_SIMULATE the simulated device (the interpreter where the target
    has none), whatever ``wanted`` is. Raises TargetError for an unknown name.
    """
    names = list(backend.adapters)
    if settings.interpret() or (settings.simulate() and SIMULATED not in names):
        return INTERPRETED
    if SIMULATED in names and settings.simulate():
        return SIMULATED
    if is_usual_name(wanted, names):
        wanted = settings.execution_backend()
        wanted = "auto" if is_usual_name(wanted, names) else wanted
    if wanted not in ("auto", ""):
        if wanted not in names:
            raise TargetError(
                f"target {target.kind!r} has no execution backend {wanted!r}",
                expected=", ".join(dict.fromkeys([*get_args(ExecutionBackend), *names])),
                hint="the environment variable TILECORE_EXECUTION_BACKEND sets it"
                if wanted == settings.execution_backend()
                else None,
            )
        return wanted
    for name in names:
        if backend.adapters[name].available(target).present:
            return name
    return names[0]


_kernels: MemoryCache[JITKernel] = MemoryCache()
_dumped: set[tuple[str, str]] = set()  # (folder, key) of kernels whose steps this process has written


def files_of(request: Request) -> str | None:
    """The folder for the files of every step, or None. With a folder the cache is not read."""
    return request.debug_root or settings.dump()


def ir_of(func: Any) -> Any:
    """The tile IR of a T.prim_func or of TVM's PrimFunc. Raises LanguageError for other objects."""
    from tilecore.frontend.function import PrimFunc

    if isinstance(func, PrimFunc):
        return func.ir
    if type(func).__name__ == "PrimFunc":
        return func
    code = getattr(func, "__code__", None)
    fault = f"a {type(func).__name__} cannot be compiled" if code is None else f"{func.__qualname__} is not a kernel"
    raise LanguageError(
        fault,
        found=None if code is None else "a plain function",
        expected="a function decorated with @T.prim_func",
        hint="for a function that returns a kernel, use tilecore.jit",
        location=None if code is None else Location(code.co_filename, code.co_firstlineno, 0),
    )


def compile(
    func: Any = None,
    out_idx: Any = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: str | Sequence[str] | None = None,
    debug_root_path: Any = None,
) -> JITKernel:
    """Compile a T.prim_func.

    out_idx: parameters (an int or several, negative from the end) that calls allocate and return, in this order.
    execution_backend: how kernels run ("auto": the target's first that is available). target: "auto", a name with
    attributes, a dict, a tilecore.Target or TVM's. target_host: None or the host. verbose: print the steps.
    pass_configs: values by PassConfigKey. compile_flags: for the vendor's compiler. debug_root_path: a folder for the
    files of every step.

    Raises LanguageError and UnsupportedError for kernels that are invalid or that the target does not support,
    TargetError for wrong settings, PluginError and ToolchainError for faults of a backend.
    """
    request = make_request(
        out_idx, execution_backend, target, target_host, verbose, pass_configs, compile_flags, debug_root_path
    )
    return compile_ir(lambda: ir_of(func), request)


def compile_ir(
    make_ir: Callable[[], Any],
    request: Request,
    source_key: str | None = None,
    outputs: Callable[[], tuple[int, ...]] | None = None,
) -> JITKernel:
    """The kernel from the caches, else compiled.

    make_ir: builds the tile IR. source_key: the cache key that finds the kernel without building its IR. outputs:
    returns the ``out_idx`` of the request, where it is known only after the IR is built.
    """
    with held_back(), collection_paused():
        return _load_or_compile(make_ir, request, source_key, outputs)


def _load_or_compile(
    make_ir: Callable[[], Any],
    request: Request,
    source_key: str | None,
    outputs: Callable[[], tuple[int, ...]] | None,
) -> JITKernel:
    disk = disk_cache()
    if source_key is not None and files_of(request) is None:
        kernel_key_of_source = disk.resolve(source_key)
        if kernel_key_of_source is not None:
            kernel = _kernels.get(kernel_key_of_source)
            if kernel is not None:
                return kernel
            kernel = _stored(disk, kernel_key_of_source, request, make_ir)
            if kernel is not None:
                _kernels.put(kernel_key_of_source, kernel)
                return kernel
    func = make_ir()
    if outputs is not None:
        request = replace(request, options=replace(request.options, out_idx=outputs()))
    if request.adapter == INTERPRETED:
        return interpreted_kernel(func, request)
    key = ir_key(func, request)
    files = files_of(request)
    if files is not None and (files, key) not in _dumped:  # a kernel from the caches would write no files
        _dumped.add((files, key))
        _kernels.put(key, _load_or_build(func, request, key))
    kernel = _kernels.get_or_make(key, lambda: _load_or_build(func, request, key))
    if source_key is not None:
        disk.link(source_key, key)
    return kernel


def interpreted_kernel(func: Any, request: Request) -> JITKernel:
    """A kernel that the interpreter runs; it is kept in memory only."""
    from tilecore.jit.interpreted import interpreted  # imports numpy, which a warm start does not need

    def make() -> JITKernel:
        artifact, backend = interpreted(func, request.backend, request.target, request.options)
        return kernel_of(artifact, replace(request, backend=backend), lambda: func)

    return _kernels.get_or_make(ir_key(func, request), make)


def ir_key(func: Any, request: Request) -> str:
    """The cache key of tile IR with the settings of ``request``: the same in every process and on every machine."""
    text = str(func.script(show_meta=True))
    places: tuple[str, ...] = ()
    if request.tells_places or "device_assert" in text:
        from tilecore.jit.places import places_of  # imports TVM, which a warm start does not need

        places = places_of(func)
    return kernel_key({"ir": text, "places": places, **request.key_parts()})


def _load_or_build(func: Any, request: Request, key: str) -> JITKernel:
    disk = disk_cache()
    kernel = _stored(disk, key, request, lambda: func) if files_of(request) is None else None
    if kernel is not None:
        return kernel
    artifact = build(func, request)
    safe_point()
    disk.put(key, artifact)
    return kernel_of(artifact, request, lambda: func)


def _stored(disk: DiskCache, key: str, request: Request, make_ir: Callable[[], Any]) -> JITKernel | None:
    """The kernel of a cache entry on disk, or None. An entry that cannot be loaded is removed from the cache."""
    artifact = disk.get(key)
    if artifact is None:
        return None
    expected = str(request.target), request.adapter
    if (artifact.target, artifact.adapter) != expected:
        disk.discard(key, f"it is for {artifact.target} by {artifact.adapter}, not for {' by '.join(expected)}")
        return None
    try:
        kernel = kernel_of(artifact, request, make_ir, from_cache=True)
    except (TargetError, LaunchError):  # the device is missing: not a fault of the entry
        raise
    except Exception as error:
        disk.discard(key, describe(error))
        return None
    _say(f"{artifact.name}: from the cache")
    return kernel


def kernel_of(
    artifact: Artifact, request: Request, make_ir: Callable[[], Any], *, from_cache: bool = False
) -> JITKernel:
    """The kernel of an artifact; it cannot be launched where its device is missing. make_ir: builds the tile IR."""
    if not request.adapter_asked:
        warn_of_simulation(artifact, request.backend, request.target)
    kernel: JITKernel = made_here(artifact, request.backend, request.target, make_ir)
    kernel.from_cache = from_cache
    kernel.pass_configs = request.options.pass_configs
    return kernel


def build(func: Any, request: Request) -> Artifact:
    """Compile a kernel to an artifact, with the debug output that the settings ask for."""
    name = str(func.attrs["global_symbol"])
    with debug.compiling(name, request.debug_root, request.options.verbose):
        _say(f"{name}: target {request.target}, execution backend {request.adapter}")
        artifact = build_artifact(func, request.backend, request.target, request.adapter, request.options)
    if settings.print_on_compilation() or request.options.verbose:
        steps = artifact.report.get("steps", {})
        debug.announce(f"compiled {name} for {request.target.kind} in {sum(steps.values()):.0f} ms")
    return artifact


def _say(text: str) -> None:
    debug.say(debug.BACKEND, text)
    logger.debug(text)
