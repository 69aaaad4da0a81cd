"""Compiles kernel functions to callable kernels, through the caches (``tilecore.compile``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tilecore.caller import keywords_checked
from tilecore.compilation_cache.current import disk_cache
from tilecore.compilation_cache.memory import MemoryCache
from tilecore.compilation_cache.versions import note_compiler
from tilecore.compilation_cache.warning import warn
from tilecore.contract.adapter import INTERPRETED
from tilecore.errors import LanguageError, LaunchError, Location, TargetError
from tilecore.frontend.function import PrimFunc
from tilecore.installation import compiler_is_installed
from tilecore.interrupts import held_back, safe_point
from tilecore.jit.absent import made_here
from tilecore.jit.collection import collection_paused
from tilecore.jit.layered import bundled, bundled_by_ir, may_compile, request_of
from tilecore.jit.request import build, files_of, ir_key, make_request, say
from tilecore.plugins.attributes import without_defaults
from tilecore.plugins.guard import describe
from tilecore.runtime.simulation import warn_of_simulation
from tilecore.stage_times import add_earlier, recording, rename, stage
from tilecore.tensors.torch_state import not_traced
from tilecore.tracing.current import without_builder

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.compilation_cache.disk import DiskCache
    from tilecore.jit.kernel import JITKernel
    from tilecore.jit.request import Request

_kernels: MemoryCache[JITKernel] = MemoryCache()
_dumped: set[tuple[str, str]] = set()  # (folder, key) of kernels whose steps this process has written


def ir_of(func: Any) -> Any:
    """The tile IR of a T.prim_func or of TVM's PrimFunc. Raises LanguageError for other objects."""
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


@keywords_checked
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
    with recording("a kernel", verbose):
        request = make_request(
            out_idx, execution_backend, target, target_host, verbose, pass_configs, compile_flags, debug_root_path
        )
        if isinstance(func, PrimFunc):
            add_earlier("front end", func.seconds_before)
        return compile_ir(lambda: ir_of(func), request)


not_traced(compile, "torch.compile does not trace tilecore.compile: compile kernels outside, and call their torch_op")


def compile_ir(
    make_ir: Callable[[], Any],
    request: Request,
    source_key: str | None = None,
    bundle_key: str | None = None,
    name: str | None = None,
    call: Callable[[], str] | None = None,
) -> JITKernel:
    """The kernel from the caches or from a bundle, else compiled.

    make_ir: builds the tile IR. source_key, bundle_key: the keys that find the kernel without building its IR, in the
    cache and in bundles. name, call: of the function that the user calls, where the IR may have another name, and the
    text of its call, for messages.
    """
    # the body of another kernel may ask for this one
    with held_back(), collection_paused(), without_builder(), recording("a kernel", request.options.verbose):
        return _load_or_compile(make_ir, request, source_key, bundle_key, name, call)


def _load_or_compile(
    make_ir: Callable[[], Any],
    request: Request,
    source_key: str | None,
    bundle_key: str | None,
    name: str | None,
    call: Callable[[], str] | None,
) -> JITKernel:
    disk = disk_cache()
    if source_key is not None and files_of(request) is None:
        with stage("cache"):
            kernel_key_of_source = disk.resolve(source_key)
        if kernel_key_of_source is not None:
            kernel = _kernels.get(kernel_key_of_source)
            if kernel is not None:
                return kernel
            kernel = _stored(disk, kernel_key_of_source, request, make_ir)
            if kernel is not None:
                _kernels.put(kernel_key_of_source, kernel)
                return kernel
    if bundle_key is not None:
        kernel = _bundled(bundled(request, bundle_key), request, make_ir)
        if kernel is not None:
            return kernel
    if not compiler_is_installed():
        from tilecore.plugins.module_finder import compiler_missing

        missing = "the kernel" if call is None else call()
        raise compiler_missing(f"{missing} is not in the cache, and compiling it needs tilecore's compiler")
    with stage("front end"):
        func = make_ir()
    rename(f"{func.attrs['global_symbol']} for {request.target.kind}")
    if request.adapter == INTERPRETED:
        return interpreted_kernel(func, request)
    with stage("cache"):
        key = ir_key(func, request)
    files = files_of(request)
    if files is not None and (files, key) not in _dumped:  # a kernel from the caches would write no files
        _dumped.add((files, key))
        _kernels.put(key, _load_or_build(func, request, key, make_ir, name, call))
    kernel = _kernels.get_or_make(key, lambda: _load_or_build(func, request, key, make_ir, name, call))
    if source_key is not None:
        with stage("cache"):
            disk.link(source_key, key)
    return kernel


def interpreted_kernel(func: Any, request: Request) -> JITKernel:
    """A kernel that the interpreter runs; it is kept in memory only."""
    from tilecore.jit.interpreted import interpreted  # imports numpy, which a warm start does not need

    def make() -> JITKernel:
        artifact, backend = interpreted(func, request.backend, request.target, request.options)
        return kernel_of(artifact, replace(request, backend=backend), lambda: func)

    return _kernels.get_or_make(ir_key(func, request), make)


def _load_or_build(
    func: Any,
    request: Request,
    key: str,
    make_ir: Callable[[], Any],
    name: str | None,
    call: Callable[[], str] | None,
) -> JITKernel:
    """The kernel. make_ir: builds the tile IR once more, which the kernel does not keep."""
    disk = disk_cache()
    kernel = _stored(disk, key, request, make_ir) if files_of(request) is None else None
    if kernel is None:
        kernel = _bundled(bundled_by_ir(request, func), request, make_ir)
    if kernel is not None:
        return kernel
    may_compile(name or str(func.attrs["global_symbol"]), request, call or partial(_text_of_ir, func))
    artifact = build(func, request)
    safe_point()
    with stage("cache"):
        disk.put(key, artifact)
        note_compiler()
    return kernel_of(artifact, request, make_ir)


def _text_of_ir(func: Any) -> str:
    from tilecore.jit.kernel_text import parameters_text

    return parameters_text(func)


def _stored(disk: DiskCache, key: str, request: Request, make_ir: Callable[[], Any]) -> JITKernel | None:
    """The kernel of a cache entry on disk, or None. An entry that cannot be loaded is removed from the cache."""
    with stage("cache"):
        artifact = disk.get(key)
    if artifact is None:
        return None
    rename(f"{artifact.name} for {request.target.kind}, from the cache")
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
    say(f"{artifact.name}: from the cache")
    return kernel


def _bundled(artifact: Artifact | None, request: Request, make_ir: Callable[[], Any]) -> JITKernel | None:
    """The kernel of an artifact of a bundle; None where there is none, or it cannot be loaded, which a warning says."""
    if artifact is None:
        return None
    rename(f"{artifact.name} for {request.target.kind}, from a bundle")
    try:
        kernel = kernel_of(artifact, request_of(artifact, request), make_ir, from_cache=True)
    except Exception as error:
        warn(f"{artifact.name} of a bundle cannot be loaded and is compiled here: {describe(error)}")
        return None
    say(f"{artifact.name}: from a bundle, for {artifact.target}")
    return kernel


def kernel_of(
    artifact: Artifact, request: Request, make_ir: Callable[[], Any], *, from_cache: bool = False
) -> JITKernel:
    """The kernel of an artifact; it cannot be launched where its device is missing. make_ir: builds the tile IR."""
    if not request.is_adapter_chosen:
        warn_of_simulation(artifact, request.backend, without_defaults(request.backend, request.target))
    with stage("load", is_shown=True):
        kernel: JITKernel = made_here(artifact, request.backend, request.target, make_ir)
    kernel.from_cache = from_cache
    kernel.pass_configs = request.options.pass_configs
    kernel.compile_flags = request.options.compile_flags
    kernel.verbose = request.options.verbose
    return kernel
