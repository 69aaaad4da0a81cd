"""The table of modules that only hold names of other modules: ``tilecore.utils.tensor`` and others.

A module is not in the table if tilecore has a file of that name. Modules of one chip (``tilecore.<kind>``) are offered
by its backend (``TargetSpec.modules``), which may add names to modules of this table, too.
"""

from __future__ import annotations

# module, then its names, each "name=module:attribute" under tilecore; the attribute may be left out where it is the
# name
_TABLE = """
utils
    TensorSupplyType=profiler get_tensor_supply=profiler.tensor_supply torch_assert_close=testing.assertions
    determine_target=plugins.determine
utils.tensor
    TensorSupplyType=profiler get_tensor_supply=profiler.tensor_supply torch_assert_close=testing.assertions
    is_float8_dtype=tensors.float8 fp8_remove_negative_zeros_=tensors.float8
utils.target
    determine_target=plugins.determine auto_detect_target=plugins.determine
utils.language
    is_global=language.buffer_facts is_shared=language.buffer_facts is_shared_dynamic=language.buffer_facts
    is_local=language.buffer_facts is_fragment=language.buffer_facts is_local_var=language.buffer_facts
    get_buffer_elems=language.buffer_facts retrieve_shape=language.buffer_facts retrieve_dtype=language.buffer_facts
    retrieve_stride=language.buffer_facts bits_product=language.buffer_facts array_reduce=language.buffer_facts
    retrieve_func_from_module=jit.lower:only_function get_prim_func_name=language.buffer_facts
    prim_expr_equal=language.buffer_facts
utils.device
    get_current_device=tensors.current_device device_synchronize=tensors.current_device
    get_available_cpu_count=tensors.current_device
backend
backend.target
    determine_target=plugins.determine auto_detect_target=plugins.determine
carver
carver.arch
    TileDevice=profiler.tile_device get_arch=profiler.tile_device auto_infer_current_arch=profiler.tile_device
carver.arch.arch_base
    TileDevice=profiler.tile_device
carver.arch.driver
contrib
engine.callback
    register_postproc=codegen.source_callbacks register_postproc_callback=codegen.source_callbacks
tools
    Analyzer=profiler.analyzer plot_layout=pictures.plot plot_fragment_tv=pictures.plot
tools.Analyzer
    Analyzer=profiler.analyzer AnalysisResult=profiler.analyzer
tools.plot_layout
    plot_layout=pictures.plot plot_fragment_tv=pictures.plot
tileop
    GemmWarpPolicy=language.gemm
tileop.base
    GemmWarpPolicy=language.gemm
layout.layout
    Layout=language.layouts
layout.fragment
    Fragment=language.layouts
layout.swizzle
    make_swizzled_layout=layout make_full_bank_swizzled_layout=layout make_half_bank_swizzled_layout=layout
    make_quarter_bank_swizzled_layout=layout make_linear_layout=layout make_wgmma_swizzled_layout=layout
    make_gemm_fragment_8x8=layout make_gemm_fragment_8x8_transposed=layout
    make_fully_replicated_layout_fragment=layout
layout.swizzle_mode
    SwizzleMode=layout
transform.pass_config
    PassConfigKey=transform
transform.simplify
    simplify_prim_func=frontend.unused_parameters apply_simplify=frontend.unused_parameters
autotuner.param
    AutotuneResult=autotune.result ProfileArgs=autotune.profile_args
autotuner.tuner
    AutoTuner=autotune.tuner AutoTuneImpl=autotune.decorator:AutotunedKernel autotune=autotune.decorator
autotuner.capture
    set_autotune_inputs=autotune.inputs get_autotune_inputs=autotune.inputs
jit.exceptions
    JITNoBuilderError=errors:LanguageError EagerJITBuildError=errors:LanguageError
jit.adapter.base
    BaseKernelAdapter=jit.kernel_adapter
language.fp8
    determine_torch_fp8_type=language.float8
language.allocate
    alloc_shared=language alloc_local=language alloc_fragment=language alloc_var=language alloc_global=language
    alloc_reducer=language empty=language
"""


def _read(text: str) -> dict[str, dict[str, str]]:
    modules: dict[str, dict[str, str]] = {}
    module = ""
    for line in text.strip().splitlines():
        if not line.startswith(" "):
            module = line.strip()
            modules[module] = {}
            continue
        for entry in line.split():
            name, _, place = entry.partition("=")
            path, _, attribute = place.partition(":")
            modules[module][name] = f"tilecore.{path}:{attribute or name}"
    return modules


# module under tilecore: its names with their places ("tilecore.profiler:do_bench")
MODULES: dict[str, dict[str, str]] = _read(_TABLE)
# a module's second name, with the module that it is
SAME = {"language.dtypes": "tilecore.dtypes"}
