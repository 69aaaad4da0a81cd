"""What TileLang's modules hold that tilecore leaves out, and what to use instead.

These are the parts of TileLang's own compiler. A module of the same name here could only pretend to be one.
"""

from __future__ import annotations

_PASSES = "tilecore lowers kernels by passes of its own: `tilecore passes --target TARGET` lists them"
_DUMP = "TILECORE_DUMP=FOLDER writes the IR after every pass, as `tilecore passes --dump FOLDER FILE` does"
_BACKENDS = "a backend is a package with five hooks: docs/write-a-backend.md; `tilecore targets` lists those installed"
_LANGUAGE = "the names of the language are in tilecore.language alone (import tilecore.language as T)"
_ADAPTER = 'execution_backend="..." chooses how a kernel is launched; kernel.adapter is what launches it'
_CACHE = "tilecore.cache has stats, verify, clear and path; so has the command `tilecore cache`"
_FILES = "kernel.export(FILE) and tilecore.load_kernel(FILE) write and read a kernel; AutotuneResult has save_to_disk"
_FIRST_LINE = "errors and tilecore.explain name the source line of each operation"
_EMITTERS = "T.gemm on fragments and shared tiles uses the chip's matrix instructions"
_POLICY = "write a list of configurations for @tilecore.autotune, with block sizes of your own"

# module (with all below it), or "module: names" for some names of a module; then what to use instead
_TABLE = f"""
analysis | {_PASSES}; they check kernels, too
autodd | `tilecore fuzz` reduces the kernels that it finds; `tilecore explain FILE` shows one
ast | {_LANGUAGE}
autotuner.grouped_compile | tilecore.par_compile compiles many kernels at once
autotuner.param: CompileArgs | AutoTuner.set_compile_args takes the arguments
autotuner.param: BEST_CONFIG_PATH FUNCTION_PATH OUT_IDX_PATH LATENCY_PATH DEVICE_KERNEL_PATH HOST_KERNEL_PATH \
EXECUTABLE_PATH KERNEL_LIB_PATH KERNEL_CUBIN_PATH KERNEL_PY_PATH PARAMS_PATH | {_FILES}
backend: BackendContext BackendModule create_backend_context get_backend list_backends register_backend | {_BACKENDS}
backend.device_codegen | {_BACKENDS}
backend.execution_backend | {_BACKENDS}
backend.host_codegen | {_BACKENDS}
backend.module | {_BACKENDS}
backend.pass_pipeline | {_PASSES}
backend.target: TargetDetectorSpec TargetNormalizerSpec register_target_detector register_target_normalizer \
list_target_detectors _TARGET_DETECTORS | {_BACKENDS}
cache: _dispatch_map | {_CACHE}
cache.binary_cache | {_CACHE}
carver.analysis | {_PASSES}
carver.common_schedules | {_PASSES}
carver.matmul_analysis | {_PASSES}
carver.roller | {_POLICY}
carver.template | {_POLICY}
carver.utils | {_POLICY}
carver: MatmulTemplate GEMVTemplate ElementwiseTemplate GeneralReductionTemplate FlashAttentionTemplate ConvTemplate \
TensorCorePolicy DefaultPolicy | {_POLICY}
contrib.cc | the targets' toolchains find their compilers: `tilecore doctor` lists them
contrib.msvc | the targets' toolchains find their compilers: `tilecore doctor` lists them
engine.semantic_check | {_PASSES}; they check kernels, too
errors: enrich_error _MARKER_RE | errors of tilecore have message, location, found, expected and hint
instrumentation | {_DUMP}; TILECORE_DEBUG=2 prints the time of every step
ir: make_span span_to_location get_stmt_span set_stmt_span get_buffer_span set_buffer_span span_coverage | {_FIRST_LINE}
jit.abi | {_ADAPTER}
jit.adapter.base: CachedTextSource | {_ADAPTER}
jit.adapter.cython | {_ADAPTER}
jit.adapter.tvm_ffi | {_ADAPTER}
jit.adapter.torch | {_ADAPTER}
jit.adapter.kernel_cache | {_CACHE}
jit.adapter.libgen | {_ADAPTER}
jit.adapter.utils | {_ADAPTER}
jit.adapter.wrapper | {_ADAPTER}
jit.diagnostics | TILECORE_DEBUG=2 prints the time of every step, TILECORE_DEBUG=6 the command lines of tools
jit.env | tilecore.cache.path() is the folder of compiled kernels
jit.param | tilecore.engine.param has KernelParam and CompiledArtifact
language.ast | {_LANGUAGE}
language.eager | {_LANGUAGE}; @tilecore.jit builds eager kernels
language.frame | {_LANGUAGE}
language.overrides | {_LANGUAGE}
language.parser | {_LANGUAGE}
language.proxy | {_LANGUAGE}
language.tir | {_LANGUAGE}
layout.cute | T.Layout(shape, function) makes a layout of any function of the indices
profiler.bench: _bench_with_cupti | tilecore.profiler.do_bench times a function
tileop.gemm | {_EMITTERS}
tileop.gemm_sp | {_EMITTERS}
tools.compile_only | `tilecore explain FILE --targets TARGET` compiles every kernel of a file without a device
tools.lower_trace | {_DUMP}
tools.pass_timing | TILECORE_DEBUG=2 prints the time of every step
tools.pass_visualizer | {_DUMP}
transform.add_bufstore_wrapper | {_PASSES}
transform.decouple_type_cast | {_PASSES}
transform.hoist_broadcast_values | {_PASSES}
utils.deprecated | warnings.warn(TEXT, DeprecationWarning) says that a name is old
utils.pass_diff | {_DUMP}
utils.pass_diff_hook | {_DUMP}
utils.language: to_buffer_region to_tile_region retrieve_ptr retrieve_offset retrieve_buffer_and_offset \
retrive_ptr_from_buffer_region legalize_pairwise_extents is_full_region side_effect | {_LANGUAGE}; a slice A[i:j] is a
region
"""
# Parts of TileLang's modules of a chip (``tilelang.<chip>.<part>``).
_OF_CHIPS = {
    "backend": _BACKENDS,
    "codegen": _BACKENDS,
    "execution_backend": _BACKENDS,
    "op": _EMITTERS,
    "pipeline": _PASSES,
    "transform": _PASSES,
    "intrinsics.macro": _EMITTERS,
    "intrinsics.mfma_macro_generator": _EMITTERS,
    "intrinsics.wmma_macro_generator": _EMITTERS,
    "language.intrinsics": _EMITTERS,
}


def _read(text: str) -> tuple[dict[str, str], dict[str, str]]:
    modules: dict[str, str] = {}
    names: dict[str, str] = {}
    for line in text.strip().splitlines():
        where, _, instead = line.partition(" | ")
        module, has_names, listed = where.partition(":")
        if has_names:
            names |= {f"{module}.{name}": instead for name in listed.split()}
        else:
            modules[module] = instead
    return modules, names


MODULES, NAMES = _read(_TABLE)


def instead_of(path: str) -> str | None:
    """What to use instead of ``tilecore.<path>``, a module or a name of one; None where it is not left out."""
    if path in NAMES:
        return NAMES[path]
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        instead = MODULES.get(".".join(parts[:count]))
        if instead is not None:
            return instead
    if parts[0] == "transform" and len(parts) > 1 and parts[1][:1].isupper():
        return _PASSES
    return next((text for part, text in _OF_CHIPS.items() if _begins(parts[1:], part.split("."))), None)


def _begins(words: list[str], first: list[str]) -> bool:
    return words[: len(first)] == first
