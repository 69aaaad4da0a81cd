"""The way of a kernel from tile IR to an artifact: the page that shows it all."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tilecore import debug
from tilecore.artifact.bounded_sizes import MOST_SHARED, within
from tilecore.artifact.dims import Dim, DimExpr
from tilecore.artifact.records import Artifact, Entry, Param, ScalarParam, TensorParam, Workspace
from tilecore.contract.records import Backend, BuildRequest, CodegenRequest
from tilecore.contract.state import ParameterAlignments, Workspaces
from tilecore.errors import LimitError, TargetError, TilecoreError
from tilecore.interrupts import held_back, safe_point
from tilecore.ir.attributes import FunctionAttr
from tilecore.plugins.checking import wrong
from tilecore.plugins.guard import calling
from tilecore.plugins.pass_options import (
    LINE_DIRECTIVES,
    asks_for_lines,
    device_flags,
    keeps_lines,
    warn_of_ignored,
)
from tilecore.plugins.suitable import suitable_names
from tilecore.runtime.simulation import simulates
from tilecore.stage_times import stage

if TYPE_CHECKING:
    from tilecore.codegen.emitted import EmittedModule
    from tilecore.contract.passes import PassEnv
    from tilecore.contract.records import Capabilities
    from tilecore.ir.nodes import IRModule, PrimFunc
    from tilecore.target import Target


@dataclass(frozen=True)
class CompileOptions:
    """What a compilation depends on besides the kernel and the target; all of it goes into the cache key.

    out_idx: parameters that the call allocates, in the order in which it returns them. pass_configs: by key.
    compile_flags: for the vendor's compiler.
    """

    out_idx: tuple[int, ...] = ()
    pass_configs: Mapping[str, Any] = field(default_factory=dict)
    compile_flags: tuple[str, ...] = ()
    verbose: bool = False


def build_artifact(func: PrimFunc, backend: Backend, target: Target, adapter: str, options: CompileOptions) -> Artifact:
    """Compile tile IR for a target: lower, emit, build."""
    report: dict[str, Any] = {}
    debug.tile_ir(func)
    options = replace(options, out_idx=out_idx_of(func, options))
    if options.out_idx:
        with stage("checks"):
            checked_outputs(options.out_idx, func)  # a wrong one is refused before anything is built
    with _timed(report, "lower", "lowering"):
        module, env = lower(func, backend, target, options)
        module = prepared_for_profilers(module, func, backend, target, adapter, options)
    with _timed(report, "emit", "code generation"):
        emitted = emit(module, backend, target, adapter)
    with _timed(report, "build", f"toolchain of {backend.package}"):
        binary, binary_format = build(func, module, emitted, backend, target, adapter, options)
    with stage("record"):
        emitted.report(env)
        report.update(env.report)
        return assemble(func, module, env, backend, target, adapter, options, emitted, binary, binary_format, report)


def lower(
    func: PrimFunc,
    backend: Backend,
    target: Target,
    options: CompileOptions,
    refusals: list[TilecoreError] | None = None,
) -> tuple[IRModule, PassEnv]:
    """Tile IR to target IR: one PrimFunc for each T.Kernel. refusals: takes the errors that passes can go on after."""
    with stage("import of the passes"):
        from tilecore.contract.passes import PassEnv
        from tilecore.lowering.fewer_stages import TOPIC, with_fewer_stages
        from tilecore.lowering.pipeline import check_kernels, passes_of
        from tilecore.lowering.pipeline import lower as run_passes
        from tilecore.lowering.tile_ops.registry import implementations_of

        implementations = implementations_of(backend)
        passes_of(backend)  # which imports them
    capabilities = backend.target.capabilities(target)
    configs = pass_configs_of(func, options)
    warn_of_ignored(configs, backend.target)
    reductions: list[Any] = []
    while True:
        errors: list[TilecoreError] | None = None if refusals is None else []
        env = PassEnv(target, capabilities, implementations, configs, refusals=errors)
        module, refusal = None, None
        try:
            with held_back():
                module = run_passes(func, backend, env)
        except LimitError as error:
            refusal = error
        smaller = with_fewer_stages(func, env.report)
        if smaller is None:
            break
        reductions += env.report[TOPIC]
        func = smaller
    if refusal is not None:
        raise refusal
    if refusals is not None:
        refusals += errors or []
    if reductions:
        env.report[TOPIC] = reductions
    check_kernels(module, backend, "after the last pass", "the code generator takes kernels")
    return module, env


def prepared_for_profilers(
    module: IRModule, func: PrimFunc, backend: Backend, target: Target, adapter: str, options: CompileOptions
) -> IRModule:
    """The module with names of its kernels that profilers tell apart, and with lines of the user's where they are
    asked for; simulated devices find them by themselves."""
    from tilecore.codegen.kernel_symbols import with_distinct_names, with_line_directives

    configs, flags = dict(options.pass_configs), list(options.compile_flags)
    has_lines = asks_for_lines(configs) and keeps_lines(backend.target) and not simulates(adapter, backend)
    configs.pop(LINE_DIRECTIVES, None)
    settings = {"target": str(target), "pass_configs": configs, "compile_flags": flags}
    module = with_distinct_names(module, func, settings)
    if LINE_DIRECTIVES in json.loads(str(func.attrs.get(FunctionAttr.PASS_CONFIGS, "{}"))):
        raise TargetError(
            f"T.annotate_pass_configs sets {LINE_DIRECTIVES!r}, which the kernel itself cannot ask for",
            hint="give it to the compilation: pass_configs=, or TILECORE_LINE_INFO=1",
        )
    return with_line_directives(module) if has_lines else module


def pass_configs_of(func: PrimFunc, options: CompileOptions) -> dict[str, Any]:
    """What the caller asks for, and where that is silent, what the kernel does (T.annotate_pass_configs)."""
    return {**json.loads(str(func.attrs.get(FunctionAttr.PASS_CONFIGS, "{}"))), **options.pass_configs}


def out_idx_of(func: PrimFunc, options: CompileOptions) -> tuple[int, ...]:
    """The parameters that calls allocate: those that T.empty made, or those that the caller names."""
    declared = tuple(int(position) for position in func.attrs.get(FunctionAttr.OUT_IDX, ()))
    if declared and options.out_idx:
        raise TargetError(
            f"Out index conflict: {func.attrs['global_symbol']} returns tensors of T.empty itself",
            found=f"out_idx={list(options.out_idx)}",
            hint="leave out out_idx",
        )
    return declared or options.out_idx


def emit(module: IRModule, backend: Backend, target: Target, adapter: str = "") -> EmittedModule:
    """Target IR to source text. adapter: the execution backend, the first that runs the target where it is "".

    Raises PluginError where the code generator returns something else, and UnsupportedError for what has no form.
    """
    from tilecore.codegen.emitted import read_emitted
    from tilecore.codegen.registration import call_codegen
    from tilecore.codegen.source_callbacks import changed_source

    backend.codegen.register()
    function = backend.codegen.function
    request = CodegenRequest(target, adapter or next(iter(suitable_names(backend, target)), ""))
    with calling(backend, f"the code generator {function}"):
        with held_back():
            returned = call_codegen(function, module, str(target), request if backend.codegen.takes_request else None)
    emitted = read_emitted(backend, function, returned, [str(v.name_hint) for v in module.functions])
    emitted = replace(emitted, source=changed_source(emitted.source, target))
    debug.source(emitted.source, emitted.source_format or backend.codegen.emits)
    return emitted


def build(
    func: PrimFunc,
    module: IRModule,
    emitted: EmittedModule,
    backend: Backend,
    target: Target,
    adapter: str,
    options: CompileOptions,
) -> tuple[bytes, str]:
    """Source to binary, where the adapter wants one."""
    formats = backend.adapters[adapter].binary_formats()
    if not formats:
        return b"", ""
    debug.tools(backend)
    configs = pass_configs_of(func, options)
    annotated = tuple(str(flag) for flag in func.attrs.get(FunctionAttr.COMPILE_FLAGS, ()))
    flags = (*options.compile_flags, *annotated, *device_flags(configs))
    symbols = tuple(emitted.name_of(str(v.name_hint)) for v in module.functions)
    name = str(func.attrs["global_symbol"])
    request = BuildRequest(name, emitted.source, symbols, target, flags, options.verbose, adapter, configs)
    binary, binary_format = backend.toolchain.build(request)
    if binary_format not in formats:
        message = f"Toolchain.build made {binary_format!r}, which its execution backend {adapter!r} does not load"
        raise wrong(backend, message, binary_format, f"one of {', '.join(formats)}")
    debug.dump("binary", binary, "o" if binary_format == "object" else binary_format)
    return binary, binary_format


def assemble(
    func: PrimFunc, module: IRModule, env: PassEnv, backend: Backend, target: Target, adapter: str,
    options: CompileOptions, emitted: EmittedModule, binary: bytes, binary_format: str, report: dict[str, Any],
) -> Artifact:  # fmt: skip
    """The record of everything made."""
    from tilecore.compilation_cache.versions import versions_for_key
    from tilecore.ir.build import dtype_of
    from tilecore.ir.host_assumptions import host_assumptions
    from tilecore.ir.sizes import scalar_symbols, symbols_of_params, to_dim
    from tilecore.lowering.analysis.shared_size import require_shared

    alignments = {} if (moves := env.find_state(ParameterAlignments)) is None else moves.bytes_of
    params = tuple(aligned(param, alignments) for param in params_of(func, env.capabilities))
    buffers = [] if (allocated := env.find_state(Workspaces)) is None else allocated.buffers
    workspaces = tuple(Workspace(str(w.name), dtype_of(w), tuple(to_dim(s) for s in w.shape)) for w in buffers)
    limit = env.capabilities.shared_bytes or MOST_SHARED
    entries = tuple(_entry(v, f, emitted, limit) for v, f in module.functions.items())
    require_shared(func, max((fact.get("shared_bytes", 0) for fact in emitted.facts.values()), default=0), env)
    sizes = [d for e in entries for d in (*e.grid, e.shared_bytes)] + [d for w in workspaces for d in w.shape]
    sizes += [d for p in params if isinstance(p, TensorParam) for d in (*p.shape, *(p.strides or ()))]
    assumptions = host_assumptions(func)
    sizes += [assumption.condition for assumption in assumptions]
    return Artifact(
        name=str(func.attrs["global_symbol"]),
        target=str(target),
        backend=backend.package,
        adapter=adapter,
        params=params,
        symbols=(*symbols_of_params(func.params), *scalar_symbols(func.params, sizes)),
        workspaces=workspaces,
        entries=entries,
        out_idx=checked_out_idx(options.out_idx, params),
        source=emitted.source,
        source_format=emitted.source_format or backend.codegen.emits,
        binary=binary,
        binary_format=binary_format,
        versions=versions_for_key(backend.package, backend.version, backend.module, backend.registration),
        report=report,
        index_bits=env.capabilities.index_bits,
        index_hint=env.capabilities.index_hint,
        assumptions=assumptions,
    )


def params_of(func: PrimFunc, capabilities: Capabilities | None = None) -> tuple[Param, ...]:
    """The parameters as the user declared them, with how the kernel uses each. capabilities: of the target; one without
    pointers takes no address for a T.ptr."""
    from tilecore.dtypes import dtype as DType
    from tilecore.ir.accesses import access_modes
    from tilecore.ir.build import dtype_of
    from tilecore.ir.guards import access_conditions
    from tilecore.ir.nodes import is_buffer_var
    from tilecore.ir.sizes import to_dim

    features = capabilities.features if capabilities is not None else None
    takes_addresses = not features or "pointers" in features
    modes, conditions = access_modes(func), access_conditions(func)
    pointers = (func.attrs or {}).get(FunctionAttr.POINTERS) or {}
    params: list[Param] = []
    for param in func.params:
        kind = dtype_of(param)
        if not is_buffer_var(param):
            params.append(ScalarParam(str(param.name), kind))
            continue
        packed = 8 // DType(kind).bits if DType(kind).bits < 8 else 1
        strides = tuple(to_dim(s) for s in param.strides) or None
        shape = tuple(to_dim(s) for s in param.shape)
        name, access = str(param.name), modes.get(param, "r")
        pointer = str(pointers.get(name, ""))
        if pointer == "address" and not takes_addresses:
            pointer = ""
        params.append(
            TensorParam(name, kind, shape, strides, access, DType(kind).bytes, packed, pointer, conditions[param])
        )
    return tuple(params)


def aligned(param: Param, alignments: Mapping[str, int]) -> Param:
    """The parameter with the alignment that the compiled kernel's accesses need."""
    if not isinstance(param, TensorParam):
        return param
    return replace(param, align=max(param.align, alignments.get(param.name, 1)))


def checked_outputs(out_idx: tuple[int, ...], func: PrimFunc) -> tuple[int, ...]:
    """As :func:`checked_out_idx`. Raises TargetError for an output that the kernel reads and does not write, and warns
    of one that it does not access."""
    from tilecore.ir.accesses import access_modes

    params = params_of(func)
    accessed = {str(param.name) for param in access_modes(func)}
    indices = checked_out_idx(out_idx, params)
    names = ", ".join(f"{i} {p.name}" for i, p in enumerate(params))
    for position in indices:
        param = params[position]
        if not isinstance(param, TensorParam) or "w" in param.access:
            continue
        if param.name in accessed:
            raise TargetError(
                f"out_idx {position} names {param.name}, which the kernel does not write",
                found=names,
                hint=f"the call would allocate {param.name} and leave it uninitialised; pass it instead",
            )
        message = f"{param.name} is an output that the kernel does not access: calls return it uninitialised"
        warnings.warn(message, stacklevel=2)
    return indices


def checked_out_idx(out_idx: tuple[int, ...], params: tuple[Param, ...]) -> tuple[int, ...]:
    """Output positions from 0, in the order given; negative ones count from the end."""
    names = ", ".join(f"{i} {p.name}" for i, p in enumerate(params))
    indices = []
    for number in out_idx:
        position = number + len(params) if number < 0 else number
        if not 0 <= position < len(params):
            raise TargetError(
                f"out_idx {number} names no parameter", found=names, expected=f"{-len(params)} to {len(params) - 1}"
            )
        param = params[position]
        if not isinstance(param, TensorParam):
            raise TargetError(f"out_idx {number} names {param.name}, which is no tensor", found=names)
        indices.append(position)
    return tuple(dict.fromkeys(indices))


def _entry(var: Any, func: PrimFunc, emitted: EmittedModule, limit: int) -> Entry:
    """The record of a kernel. limit: the most bytes of shared memory of a block."""
    from tilecore.ir.sizes import to_dim
    from tilecore.lowering.analysis.cost import block_cost, longest_block

    symbol = str(var.name_hint)
    entry_facts = emitted.facts.get(symbol, {})
    x, y, z = (to_dim(e) for e in func.attrs[FunctionAttr.GRID])
    tx, ty, tz = (int(t) for t in func.attrs[FunctionAttr.THREADS])
    shared: Dim = entry_facts.get("shared_bytes", 0)
    if FunctionAttr.DYNAMIC_SHARED in func.attrs:
        dynamic = to_dim(func.attrs[FunctionAttr.DYNAMIC_SHARED])
        shared = within(("+", shared, dynamic.tree if isinstance(dynamic, DimExpr) else dynamic), limit)
    attributes = entry_facts.get("attributes", {})
    return Entry(
        emitted.name_of(symbol), (x, y, z), (tx, ty, tz), shared, block_cost(func), attributes, longest_block(func)
    )


@contextmanager
def _timed(report: dict[str, Any], step: str, title: str) -> Any:
    """A step of the report; title: its name in the table of stages."""
    safe_point()
    start = time.perf_counter()
    with stage(title, is_shown=True):
        yield
    report.setdefault("steps", {})[step] = round((time.perf_counter() - start) * 1e3, 3)
