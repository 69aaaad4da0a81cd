"""Names alternatives to tile operations and features that a target does not have."""

INSTEAD = {
    "copy": "a loop: for i, j in T.Parallel(...): dst[i, j] = src[i, j]",
    "transpose": "a loop: for i, j in T.Parallel(...): dst[j, i] = src[i, j]",
    "fill": "a loop: for i, j in T.Parallel(...): buffer[i, j] = value",
    "gemm": "loops: for i, j in T.Parallel(M, N): for k in T.serial(K): C[i, j] += A[i, k] * B[k, j]",
    "reduce": "loops: for i in T.Parallel(M): for k in T.serial(N): dst[i] = dst[i] + src[i, k]",
    "scan": "a T.serial loop that adds up: dst[i] = dst[i - 1] + src[i]",
    "atomic": "an output for each block, and a second T.Kernel that adds them up",
    "atomic_element": "an output for each block, and a second T.Kernel that joins them",
    "finalize_reducer": "T.reduce_sum and the like on a buffer",
    "allreduce": "T.reduce_sum and the like on a buffer",
    "shuffle": "shared memory: write, T.sync_threads, read",
    "ballot": "shared memory: write, T.sync_threads, read",
    "sync_threads": "tile operations and T.Parallel, which need no explicit barriers",
    "print": "an output that the kernel writes",
    "device_assert": "a check on the host before the launch",
}

FEATURES = {
    "atomics": INSTEAD["atomic"],
    "compare_and_swap": "T.atomic_add, T.atomic_max and the others where one of them will do",
    "print": INSTEAD["print"],
    "device_assert": INSTEAD["device_assert"],
    "dynamic_shapes": "sizes that are numbers: one kernel for each shape that is needed",
    "source": "operations of the language, which every target has",
}


def instead_of(op: str) -> str | None:
    """A hint with the alternative to a tile operation; None where there is none."""
    return f"use {INSTEAD[op]}" if op in INSTEAD else None


def instead_of_feature(name: str) -> str | None:
    """A hint with the alternative to a feature; None where there is none."""
    return f"use {FEATURES[name]}" if name in FEATURES else None
