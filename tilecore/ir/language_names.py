"""The table of the language's names: the place of each, "module:attribute". Importing it imports none of them.

``tilecore.language`` loads them; names that backends add must be others.
"""

from __future__ import annotations

from importlib.util import find_spec
from pkgutil import iter_modules

from tilecore.dtypes import ALIASES, FACTS, UNSUPPORTED
from tilecore.ir.tile_op_table import TILE_OPS
from tilecore.module_names.table import MODULES, SAME

NAMES: dict[str, str] = {}


def _declare(module: str, names: str) -> None:
    for name in names.split():
        public, _, private = name.partition("=")
        NAMES[public] = f"{module}:{private or public}"


_declare("tilecore.dtypes", "dtype")
_declare("tilecore.frontend.function", "prim_func macro")
_declare("tilecore.frontend.meta_classes", "inline meta_class")
_declare("tilecore.language.annotations", "Tensor StridedTensor Buffer SharedBuffer FragmentBuffer LocalBuffer Ref ptr")
_declare("tilecore.language.symbols", "dynamic symbolic const Var")
_declare(
    "tilecore.language.integers",
    "ceildiv cdiv align_up floordiv floormod truncdiv truncmod next_power_of_2 shift_left shift_right "
    "index_to_coordinates",
)
_declare(
    "tilecore.language.kernel",
    "Kernel ClusterKernel get_thread_binding get_thread_bindings get_block_binding get_block_bindings "
    "get_thread_extent get_thread_extents get_block_extent get_block_extents get_cluster_dims get_cluster_size "
    "get_cluster_extent get_cluster_extents get_cluster_id get_cluster_ids",
)
_declare(
    "tilecore.language.loops",
    "serial Serial unroll Unroll vectorized Vectorized Parallel parallel grid Pipelined Persistent thread_binding",
)
_declare("tilecore.language.tile_conditions", "any_of all_of")
_declare(
    "tilecore.language.memory",
    "alloc_shared alloc_fragment alloc_local alloc_var alloc_buffer allocate=alloc_buffer alloc_global reshape view "
    "empty",
)
_declare("tilecore.language.pointers", "make_tensor make_tensor_from_addr access_ptr address_of")
_declare("tilecore.language.copies", "async_copy clear")
_declare("tilecore.language.async_copies", "ptx_cp_async ptx_commit_group ptx_wait_group ptx_cp_async_barrier")
_declare("tilecore.language.dependent_launch", "pdl_trigger pdl_sync")
_declare("tilecore.language.schedulers", "BaseTileScheduler PersistentTileScheduler")
_declare("tilecore.language.gemm", "GemmWarpPolicy")
_declare("tilecore.language.sparse_gemm", "gemm_sp")
_declare(
    "tilecore.language.reductions",
    "reduce_sum reduce_prod reduce_max reduce_min reduce_abssum reduce_absmax reduce_bitand reduce_bitor "
    "reduce_bitxor cumsum cummax",
)
_declare("tilecore.language.reducers", "alloc_reducer reducer_init reducer_update")
_declare(
    "tilecore.language.atomics",
    "atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_exchange atomic_cas atomic_load "
    "atomic_store atomic_addx2 atomic_addx4",
)
_declare(
    "tilecore.language.numeric",
    "exp exp2 exp10 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf sqrt rsqrt "
    "sigmoid floor ceil trunc round nearbyint popcount clz abs fabs=abs isnan isinf isfinite pow power atan2 fmod "
    "copysign hypot nextafter ldexp fast_rcp max min clamp fma if_then_else where Select cast Cast reinterpret "
    "infinity max_value min_value bitwise_and bitwise_or bitwise_xor bitwise_not Ramp likely "
    "call_intrin",
)
_declare("tilecore.language.dot_products", "dp4a")
_declare(
    "tilecore.language.fast_math",
    "__exp=exp __exp10=exp10 __log=log __log2=log2 __log10=log10 __sin=sin __cos=cos __tan=tan",
)
_declare(
    "tilecore.language.lanes",
    "Broadcast Shuffle extract_lane add2 sub2 mul2 fma2 max2 min2 abs2",
)
_declare(
    "tilecore.language.wide_access",
    "ldg32 ldg64 ldg128 ldg256 stg32 stg64 stg128 stg256 lds32 lds64 lds128 sts32 sts64 sts128 __ldg",
)
_declare("tilecore.language.grid_sync", "sync_grid")
_declare("tilecore.language.debugging", "evaluate")
_declare(
    "tilecore.language.hints",
    "use_swizzle annotate_layout annotate_safe_value annotate_l2_hit_ratio annotate_padding annotate_restrict_buffers "
    "annotate_min_blocks_per_sm annotate_compile_flags annotate_pass_configs disable_warp_group_reg_alloc "
    "no_set_max_nreg set_max_nreg inc_max_nreg dec_max_nreg annotate_producer_reg_dealloc annotate_consumer_reg_alloc",
)
_declare("tilecore.language.layouts", "Layout Fragment")
_declare(
    "tilecore.language.threads",
    "get_lane_idx get_warp_idx get_warp_idx_sync get_warp_group_idx warp_reduce_sum warp_reduce_max warp_reduce_min "
    "warp_reduce_bitand warp_reduce_bitor any_sync all_sync syncthreads_or syncthreads_and syncthreads_count sync_warp "
    "comm_reducer tvm_thread_allreduce shfl_sync shfl_xor shfl_up shfl_down ballot_sync",
)
_declare(
    "tilecore.language.ieee",
    "ieee_add ieee_sub ieee_mul ieee_fdiv ieee_fmaf ieee_frcp ieee_fsqrt ieee_frsqrt",
)
_declare(
    "tilecore.language.warp_schedules",
    "WSID WSSyncKind WSInstr WSOpRef WSSync WSRole WSPipeline WSScope WSSchedule annotate_ws_schedule "
    "annotate_ws_pipeline_depth ws_op",
)
_declare("tilecore.language.convolution", "im2col c2d_im2col")
_declare("tilecore.language.random", "rng_init rng_rand rng_rand_float")
_declare(
    "tilecore.language.script",
    "dtypes attr sblock reads writes sblock_attr func_attr While let call_extern call_pure_extern=call_extern "
    "import_source handle tir",
)
_declare(
    "tilecore.language.tvm_forms",
    "If Then Else Assert tvm_storage_sync "
    "decl_buffer sblock_alloc_buffer=decl_buffer match_buffer type_annotation tvm_access_ptr bind buffer_store",
)
_declare("tilecore.language.thread_axes", "launch_thread")
_declare(
    "tilecore.language.warp_values",
    "activemask tvm_warp_activemask=activemask match_any_sync match_all_sync tvm_warp_shuffle tvm_warp_shuffle_up "
    "tvm_warp_shuffle_down __ffs=find_first_bit __fns=find_nth_bit",
)
_declare(  # classes of expressions, for isinstance
    "tilecore.ir.nodes",
    "Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or Not IntImm FloatImm StringImm Call "
    "IterVar Range",
)
_declare("tilecore.ir.expression_classes", "PrimExpr BufferLoad")

for _op in TILE_OPS.values():  # T.copy, T.gemm and the others that are called as their operation
    if _op.module:
        _declare(f"tilecore.language.{_op.module}", _op.name)


def names_of_the_core() -> frozenset[str]:
    """All names that ``T.<name>`` finds in tilecore itself: functions, element types and modules of the language."""
    language = find_spec("tilecore.language")
    places = (language.submodule_search_locations if language else None) or []
    files = {module.name for module in iter_modules(list(places))}
    tables = {path.split(".")[1] for path in (*MODULES, *SAME) if path.startswith("language.")}
    return frozenset({*NAMES, *FACTS, *ALIASES, *UNSUPPORTED, *files, *tables})
