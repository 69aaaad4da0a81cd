"""The keys of the pass configuration that the passes and the toolchain of tile-cuda read."""

from __future__ import annotations

from tilecore.contract.records import PassOption
from tilecore.transform import PassConfigKey

ALLOW_TF32 = PassOption("tl.allow_tf32", "round float32 operands of matrix products to tf32, for the MMA instructions")
BLOCK_PREFETCH = PassOption(
    "tl.block_prefetch",
    "bytes of tiles between what a block loads and what it prefetches to L2 for later blocks, in kernels that reduce "
    "tiles; 0: nothing, None: by the target",
    None,
    int,
)
BLOCK_PAIRS = PassOption(
    "tl.block_pairs", "load tiles for a neighbouring block, too; False: never, not set: where it is faster", None
)
DISABLE_KERNEL_OVERLAP = PassOption(
    "tl.disable_kernel_overlap", "start the second kernel of a function after the first has ended"
)
DISABLE_MORE_STAGES = PassOption(
    "tl.disable_more_stages", "give tiles the slots of num_stages only, also where shared memory has room for more"
)
DISABLE_PERSISTENT_BLOCKS = PassOption("tl.disable_persistent_blocks", "launch one block for each tile of the output")
DISABLE_PRODUCT_OVERLAP = PassOption(
    "tl.disable_product_overlap",
    "do not overlap wgmma with the work that follows; False: overlap it also where all blocks run at once",
    None,
)
DISABLE_TENSOR_STORE = PassOption("tl.disable_tensor_store", "write tiles without the tensor memory accelerator")
DISABLE_TMA_LOWER = PassOption("tl.disable_tma_lower", "copy tiles without the tensor memory accelerator")
DISABLE_WARP_SPECIALIZED = PassOption(
    "tl.disable_warp_specialized", "do not split a block into producers and consumers"
)
DISABLE_WGMMA = PassOption("tl.disable_wgmma", "multiply tiles by mma.sync instead of wgmma")
FAST_MATH = PassOption(
    "tl.enable_fast_math", "quick forms of functions, divisions and square roots; subnormal numbers count as 0"
)
LINE_DIRECTIVES = PassOption(
    "tl.emit_line_directives", "name your lines in the source and in the binary, for profilers and debuggers"
)
LATE_RELEASES = PassOption(
    "tl.late_releases", "release slots that wgmma reads only where a later statement waits for the product anyway"
)
PRODUCT_AHEAD = PassOption(
    "tl.product_ahead",
    "issue the first wgmma of the next iteration before the work of this one, into a second accumulator; the eighths "
    "of the exponentials that run beside both products, 1 to 8; None: not at all",
    None,
    int,
)
REGISTER_USAGE_LEVEL = PassOption(
    "tl.ptxas_register_usage_level",
    "how much ptxas optimizes at the cost of registers, 0 to 10; None: its default",
    None,
    int,
)
SPLIT_K = PassOption(
    "tl.split_k",
    "blocks of a cluster that share the iterations of a loop of products; 1: none, None: by the grid's size",
    None,
    int,
)
OPTIONS = (
    ALLOW_TF32,
    BLOCK_PAIRS,
    BLOCK_PREFETCH,
    DISABLE_KERNEL_OVERLAP,
    DISABLE_MORE_STAGES,
    DISABLE_PERSISTENT_BLOCKS,
    DISABLE_PRODUCT_OVERLAP,
    DISABLE_TENSOR_STORE,
    DISABLE_TMA_LOWER,
    DISABLE_WARP_SPECIALIZED,
    DISABLE_WGMMA,
    FAST_MATH,
    LATE_RELEASES,
    LINE_DIRECTIVES,
    PRODUCT_AHEAD,
    REGISTER_USAGE_LEVEL,
    SPLIT_K,
)


def key_name(option: PassOption) -> str:
    """The name of an option in tilecore.PassConfigKey; notes and reasons quote it."""
    return PassConfigKey(option.name).name
