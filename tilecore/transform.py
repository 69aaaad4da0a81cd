"""Pass configuration: the keys that kernels set, under TileLang's names."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, EnumMeta
from typing import Any

from tilecore.errors import TargetError
from tilecore.module_names.submodules import submodules_of
from tilecore.nearest import did_you_mean

__path__: list[str] = []  # a package whose modules are names of others (tilecore/module_names/table.py)
__getattr__ = submodules_of(
    __name__, dict.fromkeys(("apply_simplify", "simplify_prim_func"), "tilecore.frontend.unused_parameters")
)

_TVM_SUFFIX = ".kernels_output_dir"  # behind the kind of a target
_FOLDER_OF_KERNELS = "_KERNELS_OUTPUT_DIR"  # the end of that key's name


class _NamesOfKeys(EnumMeta):
    """Tells who asks for a key that is not there which one is nearest."""

    def __getattr__(cls, name: str) -> Any:
        members = cls.__dict__.get("_member_map_", {})
        if name in members:  # before Python 3.12 members are no attributes of the class
            return members[name]
        if name.startswith("_"):
            raise AttributeError(name)
        kind = name.removesuffix(_FOLDER_OF_KERNELS)
        if kind != name:  # a key for every kind of target, which TileLang has for one
            return f"{kind.lower()}{_TVM_SUFFIX}"
        advice = did_you_mean(name, members) or "`tilecore passes --target TARGET` lists the options"
        raise AttributeError(f"{cls.__name__} has no key {name!r}; {advice}")


class PassConfigKey(str, Enum, metaclass=_NamesOfKeys):
    """Names for keys of ``pass_configs``: TileLang's, and those of installed backends' options.

    Who reads a key declares it as a :class:`tilecore.contract.records.PassOption`; ``tilecore passes --target TARGET``
    lists the options of a target. A key here that a target does not read is ignored there, with a warning.
    """

    TL_SIMPLIFY = "tl.Simplify"
    # keys of the dict that is the value of TL_SIMPLIFY
    TL_SIMPLIFY_TRANSITIVELY_PROVE_INEQUALITIES = "transitively_prove_inequalities"
    TL_SIMPLIFY_CONVERT_BOOLEAN_TO_AND_OF_ORS = "convert_boolean_to_and_of_ors"
    TL_SIMPLIFY_APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES = "apply_constraints_to_boolean_branches"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_PROVE_CONDITIONAL = "propagate_knowns_to_prove_conditional"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_SIMPLIFY_EXPRESSIONS = "propagate_knowns_to_simplify_expressions"
    TL_SIMPLIFY_ENABLE_LET_INLINE = "enable_simplify_let_inline"
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
    TL_DISABLE_LOOP_UNSWITCHING = "tl.disable_loop_unswitching"
    TL_DISABLE_OUT_OF_BOUND_WARNING = "tl.disable_out_of_bound_warning"
    TL_DISABLE_PRELOWER_SEMANTIC_CHECK = "tl.disable_prelower_semantic_check"
    TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE = "tl.enable_aggressive_shared_memory_merge"
    TL_DEBUG_MERGE_SHARED_MEMORY_ALLOCATIONS = "tl.debug_merge_shared_memory_allocations"
    TL_ENABLE_ASYNC_COPY = "tl.enable_async_copy"
    TL_ENABLE_REDUCER_PLAN_VERBOSE = "tl.enable_reducer_plan_verbose"
    TL_ENABLE_VECTORIZE_PLANNER_VERBOSE = "tl.enable_vectorize_planner_verbose"
    TL_ENABLE_LOWER_LDGSTG = "tl.enable_lower_ldgstg"
    TL_ENABLE_LOWER_LDGSTG_PREDICATED = "tl.enable_lower_ldgstg_predicated"
    TL_ENABLE_AUTO_SCHEDULE = "tl.enable_auto_schedule"
    TL_ENABLE_AUTO_WARP_SPECIALIZATION = "tl.enable_auto_warp_specialization"
    TL_ENABLE_FP32X2_REDUCTION = "tl.enable_fp32x2_reduction"
    TL_EMIT_LINE_DIRECTIVES = "tl.emit_line_directives"
    TL_FORCE_LET_INLINE = "tl.force_let_inline"
    TL_IF_STMT_BINDING_INLINE_REPLAYABLE_BINDS = "tl.if_stmt_binding_inline_replayable_binds"
    TL_AST_PRINT_ENABLE = "tl.ast_print_enable"
    TL_LAYOUT_COST_MODEL = "tl.layout_cost_model"
    TL_LOOP_UNSWITCHING_ALLOW_NON_TRIVIAL_ELSE = "tl.loop_unswitching_allow_non_trivial_else"
    TL_LAYOUT_VISUALIZATION_ENABLE = "tl.layout_visualization_enable"
    TL_LAYOUT_VISUALIZATION_FORMATS = "tl.layout_visualization_formats"
    TL_REDUCER_FORCE_BASELINE = "tl.reducer_force_baseline"
    TL_STORAGE_REWRITE_DETECT_INPLACE = "tl.storage_rewrite_detect_inplace"
    TL_PASS_PROFILE = "tl.pass_profile"
    TL_PASS_PROFILE_THRESHOLD_MS = "tl.pass_profile_threshold_ms"
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
    TL_DISABLE_MORE_STAGES = "tl.disable_more_stages"
    TL_DISABLE_PERSISTENT_BLOCKS = "tl.disable_persistent_blocks"
    TL_DISABLE_PRODUCT_OVERLAP = "tl.disable_product_overlap"
    TL_LATE_RELEASES = "tl.late_releases"
    TL_PRODUCT_AHEAD = "tl.product_ahead"
    TL_DISABLE_TENSOR_STORE = "tl.disable_tensor_store"
    TL_DISABLE_KERNEL_OVERLAP = "tl.disable_kernel_overlap"
    TL_BLOCK_PAIRS = "tl.block_pairs"
    TL_BLOCK_PREFETCH = "tl.block_prefetch"
    TL_SPLIT_K = "tl.split_k"

    def __str__(self) -> str:
        return str(self.value)


# Keys that TileLang's and TVM's programs set, with what each does there: for the warning where nobody reads the key.
KNOWN_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "transitively_prove_inequalities",
            "convert_boolean_to_and_of_ors",
            "apply_constraints_to_boolean_branches",
            "propagate_knowns_to_prove_conditional",
            "propagate_knowns_to_simplify_expressions",
            "enable_simplify_let_inline",
        ),
        "is a part of the value of tl.Simplify",
    ),
    "tl.Simplify": "sets how TileLang's pass Simplify works",
    "tl.ast_print_enable": "prints the syntax trees of passes",
    "tl.config_index_bitwidth": "sets the width of index expressions in bits",
    "tl.debug_merge_shared_memory_allocations": "prints how shared memory is merged",
    "tl.device_compile_flags": "gives flags to the device's compiler, as compile_flags does",
    "tl.disable_bank_aware_allocation": "lets on-chip buffers that work together lie in one bank",
    "tl.disable_buffer_init_check": "turns the check for uninitialised buffers off",
    "tl.disable_data_race_check": "turns the check for data races off",
    "tl.disable_fast_math": "keeps the exact forms of functions",
    "tl.disable_loop_unswitching": "turns the unswitching of loops off",
    "tl.disable_out_of_bound_warning": "hides warnings of accesses out of bounds",
    "tl.disable_prelower_semantic_check": "turns checks before the lowering off",
    "tl.disable_safe_memory_legalize": "leaves out the bounds checks of accesses",
    "tl.disable_shared_memory_reuse": "gives each shared buffer memory of its own",
    "tl.disable_shuffle_elect": "elects a thread by its index instead of by a shuffle",
    "tl.disable_thread_storage_sync": "inserts no barriers for shared memory",
    "tl.disable_tma_lower": "copies without the tensor memory accelerator",
    "tl.disable_vectorize_256": "keeps accesses of 256 bits from being used",
    "tl.disable_warp_specialized": "turns warp specialization off",
    "tl.disable_wgmma": "multiplies without warpgroup instructions",
    "tl.dump_ir_path": "names the folder for the IR of every pass",
    "tl.emit_line_directives": "writes #line directives into the source",
    "tl.enable_aggressive_shared_memory_merge": "merges shared buffers more eagerly",
    "tl.enable_async_copy": "makes copies asynchronous",
    "tl.enable_auto_schedule": "schedules the kernel automatically",
    "tl.enable_auto_warp_specialization": "specializes warps automatically",
    "tl.enable_dump_ir": "writes the IR of every pass to files",
    "tl.enable_fast_math": "allows quick forms of functions, which round worse",
    "tl.enable_fp32x2_reduction": "reduces float32 in pairs",
    "tl.enable_lower_ldgstg": "uses wide loads and stores of global memory",
    "tl.enable_lower_ldgstg_predicated": "uses wide loads and stores under conditions",
    "tl.enable_ptxas_verbose_output": "shows what the assembler reports",
    "tl.enable_reducer_plan_verbose": "prints how reducers are planned",
    "tl.enable_vectorize_planner_verbose": "prints how loops are vectorized",
    "tl.force_let_inline": "inlines every binding",
    "tl.if_stmt_binding_inline_replayable_binds": "inlines bindings of conditions",
    "tl.layout_cost_model": "chooses the cost model of layouts",
    "tl.layout_visualization_enable": "draws inferred layouts",
    "tl.layout_visualization_formats": "sets the formats of drawn layouts",
    "tl.loop_unswitching_allow_non_trivial_else": "unswitches loops whose else branch has code",
    "tl.pass_profile": "times the passes",
    "tl.pass_profile_threshold_ms": "hides passes that take less time",
    "tl.ptxas_register_usage_level": "sets the assembler's effort to save registers",
    "tl.reducer_force_baseline": "uses the plain form of reducers",
    "tl.UnrollLoop": "sets how loops are unrolled",
    "tl.storage_rewrite_detect_inplace": "lets a buffer take the memory of one that it replaces",
}
_TVM_PREFIXES = ("tir.", "tirx.", "s_tir.")
_OLD_NAMES = {"tl.disable_safe_memory_access": PassConfigKey.TL_DISABLE_SAFE_MEMORY_ACCESS.value}
_KEYS = frozenset(key.value for key in PassConfigKey)


class PassConfigWarning(UserWarning):
    """A key of ``pass_configs`` that the target does not read, or a value of another type than the option has."""


def meaning_elsewhere(name: str) -> str | None:
    """What a known key does in TileLang or TVM ("" where that is not written down); None for an unknown name."""
    if name in KNOWN_ELSEWHERE:
        return KNOWN_ELSEWHERE[name]
    if name.startswith(_TVM_PREFIXES):
        return "sets a pass of TVM's"
    if name.endswith(_TVM_SUFFIX):
        return "names the folder for emitted kernels, as TILECORE_DUMP does here"
    return "" if name in _KEYS else None


def plain_pass_configs(configs: Mapping[Any, Any] | None) -> dict[str, Any]:
    """``pass_configs`` by plain string keys, former names replaced. Raises TargetError for anything but a dict."""
    if configs is not None and not isinstance(configs, Mapping):
        raise TargetError(
            "pass_configs must be a dict", found=repr(configs), expected="{tilecore.PassConfigKey: value}"
        )
    names = {key: str(key.value if isinstance(key, Enum) else key) for key in configs or {}}
    return {_OLD_NAMES.get(name, name): (configs or {})[key] for key, name in names.items()}
