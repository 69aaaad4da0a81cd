"""Pass configuration: the keys that kernels set, under TileLang's names."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from tilecore.errors import TargetError


class PassConfigKey(str, Enum):
    """Keys of ``pass_configs``. A key that a target has no use for is accepted and has no effect there.

    docs/language.md says which targets use which.
    """

    TL_SIMPLIFY = "tl.Simplify"
    TL_DISABLE_DATA_RACE_CHECK = "tl.disable_data_race_check"
    TL_DISABLE_WARP_SPECIALIZED = "tl.disable_warp_specialized"
    TL_ENABLE_FAST_MATH = "tl.enable_fast_math"
    TL_DISABLE_FAST_MATH = "tl.disable_fast_math"
    TL_PTXAS_REGISTER_USAGE_LEVEL = "tl.ptxas_register_usage_level"
    TL_ENABLE_PTXAS_VERBOSE_OUTPUT = "tl.enable_ptxas_verbose_output"
    TL_DEVICE_COMPILE_FLAGS = "tl.device_compile_flags"
    TL_CONFIG_INDEX_BITWIDTH = "tl.config_index_bitwidth"
    TL_DISABLE_TMA_LOWER = "tl.disable_tma_lower"
    TL_DISABLE_SAFE_MEMORY_ACCESS = "tl.disable_safe_memory_legalize"
    TL_DISABLE_VECTORIZE_256 = "tl.disable_vectorize_256"
    TL_DISABLE_WGMMA = "tl.disable_wgmma"
    TL_DISABLE_SHUFFLE_ELECT = "tl.disable_shuffle_elect"
    TL_DISABLE_THREAD_STORAGE_SYNC = "tl.disable_thread_storage_sync"
    TL_DISABLE_SHARED_MEMORY_REUSE = "tl.disable_shared_memory_reuse"
    TL_DISABLE_BANK_AWARE_ALLOCATION = "tl.disable_bank_aware_allocation"
    TL_DISABLE_BUFFER_INIT_CHECK = "tl.disable_buffer_init_check"
    TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE = "tl.enable_aggressive_shared_memory_merge"
    TL_DEBUG_MERGE_SHARED_MEMORY_ALLOCATIONS = "tl.debug_merge_shared_memory_allocations"
    TL_ENABLE_ASYNC_COPY = "tl.enable_async_copy"
    TL_ENABLE_VECTORIZE_PLANNER_VERBOSE = "tl.enable_vectorize_planner_verbose"
    TL_ENABLE_LOWER_LDGSTG = "tl.enable_lower_ldgstg"
    TL_ENABLE_LOWER_LDGSTG_PREDICATED = "tl.enable_lower_ldgstg_predicated"
    TL_EMIT_LINE_DIRECTIVES = "tl.emit_line_directives"
    TL_FORCE_LET_INLINE = "tl.force_let_inline"
    TL_LAYOUT_VISUALIZATION_ENABLE = "tl.layout_visualization_enable"
    TL_LAYOUT_VISUALIZATION_FORMATS = "tl.layout_visualization_formats"
    TL_REDUCER_FORCE_BASELINE = "tl.reducer_force_baseline"
    TL_STORAGE_REWRITE_DETECT_INPLACE = "tl.storage_rewrite_detect_inplace"
    TL_PASS_PROFILE = "tl.pass_profile"
    TL_ENABLE_DUMP_IR = "tl.enable_dump_ir"
    TL_DUMP_IR_DIR = "tl.dump_ir_path"
    TIR_ENABLE_EQUIV_TERMS_IN_CSE = "tir.enable_equiv_terms_in_cse_tir"
    TIR_DISABLE_CSE = "tirx.disable_cse_tir"
    TIR_SIMPLIFY = "tirx.Simplify"
    TIR_DISABLE_STORAGE_REWRITE = "tirx.disable_storage_rewrite"
    TIR_DISABLE_VECTORIZE = "tirx.disable_vectorize"
    TIR_USE_ASYNC_COPY = "tirx.use_async_copy"
    TIR_ENABLE_DEBUG = "tirx.enable_debug"
    TIR_MERGE_STATIC_SMEM = "tirx.merge_static_smem"
    TIR_ADD_LOWER_PASS = "tirx.add_lower_pass"
    TIR_NOALIAS = "tirx.noalias"
    TL_ALLOW_TF32 = "tl.allow_tf32"
    TL_DISABLE_PERSISTENT_BLOCKS = "tl.disable_persistent_blocks"
    TL_DISABLE_PRODUCT_OVERLAP = "tl.disable_product_overlap"
    TL_DISABLE_TENSOR_STORE = "tl.disable_tensor_store"
    TL_DISABLE_KERNEL_OVERLAP = "tl.disable_kernel_overlap"
    TL_BLOCK_PAIRS = "tl.block_pairs"

    def __str__(self) -> str:
        return str(self.value)


# Of TileLang's own passes; there is nothing here that they could set.
_WITHOUT_EFFECT = frozenset(
    f"tl.{name}"
    for name in (
        "disable_prelower_semantic_check enable_auto_schedule enable_auto_warp_specialization layout_cost_model "
        "enable_reducer_plan_verbose enable_fp32x2_reduction disable_loop_unswitching ast_print_enable "
        "loop_unswitching_allow_non_trivial_else if_stmt_binding_inline_replayable_binds "
        "disable_out_of_bound_warning pass_profile_threshold_ms"
    ).split()
)
_OLD_NAMES = {"tl.disable_safe_memory_access": PassConfigKey.TL_DISABLE_SAFE_MEMORY_ACCESS.value}
_warned: set[str] = set()


class PassConfigWarning(UserWarning):
    """A key of ``pass_configs`` sets nothing here."""


def checked_pass_configs(configs: Mapping[Any, Any] | None) -> dict[str, Any]:
    """``pass_configs`` with plain string keys.

    An unknown key is an error that names the nearest. One that sets a pass of TileLang's own is left out, with one
    warning for each such key in a process.
    """
    import difflib
    import warnings

    if configs is not None and not isinstance(configs, Mapping):
        raise TargetError(
            "pass_configs must be a dict", found=repr(configs), expected="{tilecore.PassConfigKey: value}"
        )
    known = {key.value for key in PassConfigKey}
    made: dict[str, Any] = {}
    for key, value in (configs or {}).items():
        name = str(key.value if isinstance(key, Enum) else key)
        name = _OLD_NAMES.get(name, name)
        if name in _WITHOUT_EFFECT:
            if name not in _warned:
                _warned.add(name)
                text = f"the pass configuration {name!r} is for a pass of TileLang's own and has no effect here"
                warnings.warn(text, PassConfigWarning, stacklevel=3)
            continue
        if name not in known and not name.startswith(("tir.", "tirx.", "s_tir.")):
            close = difflib.get_close_matches(name, known, n=1)
            raise TargetError(
                f"unknown pass configuration {name!r}",
                expected="a tilecore.PassConfigKey",
                hint=f"did you mean {close[0]!r}?" if close else None,
            )
        made[name] = value
    return made


def simplify_prim_func(func: Any) -> Any:
    """Decorator kept for source compatibility: kernels are simplified when they are compiled."""
    return func
