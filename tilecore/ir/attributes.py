"""The keys of everything that is attached to IR. Each key is written here, and nowhere else in the core.

A backend's own keys have the form ``<kind>.<name>`` and stand in one module of its package. Importing this module does
not import TVM.
"""

from __future__ import annotations


class FunctionAttr:
    """Attributes of a PrimFunc. ``outline_kernels`` and ``describe_kernels`` write those of thread IR, whose values
    docs/thread-ir.md describes."""

    # what the function says of its compilation, by TileLang's names
    COMPILE_FLAGS = "tilelang_compile_flags"  # T.annotate_compile_flags
    PASS_CONFIGS = "tilelang_pass_configs"  # T.annotate_pass_configs, as JSON
    OUT_IDX = "tilelang_out_idx"  # positions, from the end, of the parameters that T.empty made
    POINTERS = "tile.pointers"  # {name of a parameter: "address" for a T.ptr, "table" for a tensor of addresses}
    SYMBOLS = "tile.symbols"  # the symbols of the parameters' shapes and strides, before buffers are flattened
    GRID = "tile.grid"  # [x, y, z]: blocks of a launch, expressions over the kernel's symbols
    BLOCK_VARS = "tile.block_vars"  # three Vars: the index of the block
    THREADS = "tile.threads"  # [x, y, z]: threads of a block, constants
    THREAD_VARS = "tile.thread_vars"  # three Vars: the index of the thread in its block
    LINE_DIRECTIVES = "tile.line_directives"  # 1: the source says which line of the user's each statement is from
    PRELUDE = "tile.prelude"  # source text in front of the kernel
    SHARED = "simt.shared"  # {name of a shared buffer: its offset in bytes in the block's arena}
    SHARED_BYTES = "simt.shared_bytes"  # size of that arena
    DYNAMIC_SHARED = "tile.dynamic_shared"  # bytes of shared buffers of sizes of the call: an expression
    ACCESS = "simt.access"  # {parameter: "r", "w" or "rw"}
    NO_RESTRICT = "simt.no_restrict"  # names of the parameters whose pointers must not be declared ``restrict``
    MIN_BLOCKS = "simt.min_blocks"  # blocks that a multiprocessor should hold
    CLUSTER = "simt.cluster"  # [x, y, z]: blocks of a cluster
    LAUNCH = "simt.launch"  # JSON: what a backend's passes tell its launcher

    FORMER_NO_RESTRICT = "simt.may_alias"  # what contract 1 called NO_RESTRICT; written beside it


class StatementAttr:
    """Keys of AttrStmt statements."""

    AXIS = "thread_extent"  # an axis of T.Kernel: blockIdx or threadIdx (TVM's own key)
    THREADS = "tile.threads"  # code of a range of threads (thread_ranges.py)
    RANGE = "tile.range"  # the range of a variable (ranges.py)
    NEST = "simt.nest"  # the statement was a T.Parallel nest or a tile operation: its threads access distinct elements
    MOVE_HINT = "simt.move_hint"  # how caches should treat what the moves inside load or store


class LoopAttr:
    """Annotations of a For."""

    KIND = "tile.loop"  # the kind of loop that the user wrote, such as "pipelined"
    REDUCTION = "tile.reduce"  # a loop that combines values: the kind of the reduction
    STAGES = "num_stages"  # T.Pipelined(num_stages=)
    ORDER = "order"  # T.Pipelined(order=)
    STAGE = "stage"  # T.Pipelined(stage=)
    UNROLL_FACTOR = "unroll_factor"  # T.unroll(unroll_factor=)
    COALESCED_WIDTH = "coalesced_width"  # T.Parallel(coalesced_width=): how many neighbouring elements a thread takes
    LOOP_LAYOUT = "loop_layout"  # T.Parallel(loop_layout=): the T.Fragment that partitions the nest
    LANES = "tile.lanes"  # the loop over the lanes of a vector
    # a loop over lanes: the first elements that it accesses in global and shared memory are aligned to the whole vector
    ALIGNED = "tile.aligned"
    PREFER_ASYNC = "prefer_async"  # T.Parallel(prefer_async=)
    ASYNC = "async"  # the nest of a copy that may be asynchronous
    # the nest of a tile operation on a thread's own memory: in a kernel that asks for thread indices each thread
    # executes all of it
    PRIVATE = "private"
    USER_BLOCKS = "simt.blocks"  # the iterations are blocks of the user's grid, so that none waits for another


class CallAttr:
    """Attributes of a call of a tile operation, its hints, and of other calls."""

    DIALECT = "dialect"  # the kind of the target to whose language the called name belongs
    CALLED = "called"  # the name that the user wrote, such as "T.clear"
    COALESCED_WIDTH = LoopAttr.COALESCED_WIDTH
    LOOP_LAYOUT = LoopAttr.LOOP_LAYOUT
    DISABLE_TMA = "disable_tma"  # T.copy(disable_tma=)
    EVICTION_POLICY = "eviction_policy"  # T.copy(eviction_policy=)
    PREFER_INSTRUCTION = "prefer_instruction"  # T.copy(prefer_instruction=)
    K_PACK = "k_pack"  # T.gemm(k_pack=)
    ALLOW_TF32 = "allow_tf32"  # T.gemm(annotations={"allow_tf32": True})
    BARRIER = "barrier_id"  # T.sync_threads(barrier_id=): which barrier, where that is a number
    ARRIVALS = "arrive_count"  # T.sync_threads(arrive_count=): how many threads arrive at the barrier
    THREADS = "threads"  # how many threads execute the operation, where that is a range of the block's
    ALONE = "alone"  # one thread executes the operation
    ASYNC = LoopAttr.ASYNC  # a copy that may be asynchronous
    IMPLEMENTATION = "implementation"  # the name of the chosen TileOpImpl
    IN_PLACE = "in_place"  # a gemm: the operands, of "abc", that are parts of tensors, inside their bounds
    IN_PASSING = "in_passing"  # a gemm: the operands, of "b", that are parts of tensors and that it copies itself
    HOISTED = "hoisted"  # a gemm: the operands, of "ab", that are tiles which another kernel has copied beforehand
    ROW_FACTORS = "row_factors"  # a gemm: the region of factors, by which the rows of C are multiplied beforehand
    SUMS = "sums"  # a gemm: the element type of its sums, where C is a part of a tensor to whose type it rounds them
    PREFETCH = "prefetch"  # a gemm: the regions to prefetch while it runs
    SUNK = "sunk"  # a reduction that may be left to the reduction across threads behind the loop
    INDICES_PRINTED = "places"  # a print: how many of its values are the element's indices
    COMPARED = "compared"  # an isnan that lowering wrote: languages of C's family compare the value with itself


class KernelHint:
    """Hints of a kernel: the first operand of the tile operation ``annotate``."""

    LAYOUT = "layout"  # T.annotate_layout
    PADDING = "padding"  # T.annotate_padding
    SAFE_VALUE = "safe_value"  # T.annotate_safe_value
    L2_HIT_RATIO = "l2_hit_ratio"  # T.annotate_l2_hit_ratio
    RESTRICT = "restrict"  # T.annotate_restrict_buffers
    REDUCER = "reducer"  # T.alloc_reducer
    MIN_BLOCKS = "min_blocks_per_core"  # T.annotate_min_blocks_per_sm
    CLUSTER_DIMS = "cluster_dims"  # T.Kernel(cluster_dims=)
    PRELUDE = "prelude"  # T.Kernel(prelude=)
    IMPORT_SOURCE = "import_source"  # T.import_source
    SET_MAX_NREG = "set_max_nreg"  # T.set_max_nreg
    USE_SWIZZLE = "use_swizzle"  # T.use_swizzle
    ASYNC_GROUP = "async_group"  # T.ptx_commit_group: "commit"; T.ptx_wait_group: "wait" and a number of groups
    DEPENDENT_LAUNCH = "dependent_launch"  # T.pdl_trigger: "trigger"; T.pdl_sync: "wait"


class LayoutAttr:
    """Attributes of a layout that a user wrote, in a hint or an annotation (``T.Layout.to_ir``)."""

    KIND = "kind"  # MEMORY or FRAGMENT
    SHAPE = "shape"
    INDEX = "index"  # an IndexMap from an element to its location
    REPLICATE = "replicate"  # of a fragment: how many threads hold a copy
    MEMORY, FRAGMENT = "layout", "fragment"  # values of KIND
