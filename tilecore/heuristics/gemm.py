"""Proposes configurations of a GEMM for a target."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from tilecore.caller import placed
from tilecore.errors import ArgumentError
from tilecore.heuristics.checks import check_some_fit, checked_count, checked_flag, checked_sizes, element_type
from tilecore.heuristics.chip import Chip, chip_of
from tilecore.heuristics.fixed import checked_fixed, restricted, with_free
from tilecore.heuristics.gemm_model import Estimate, estimate
from tilecore.heuristics.gemm_space import Tiling, Work, rounds_of, streamed, tilings
from tilecore.heuristics.proposal import Proposal, assumptions, ranked
from tilecore.profiler.tile_device import GemmBlocks

LAYOUTS = ("NN", "NT", "TN", "TT")
GEMM_NAMES = ("block_M", "block_N", "block_K", "stages", "threads", "split_k")  # of a configuration
LEAST_GAIN = 0.01  # of the time, by which a divided last round must win: the model does not know smaller differences


@placed
def gemm(
    M: int,
    N: int,
    K: int,
    dtype: Any = "float16",
    out_dtype: Any = None,
    layout: str = "NN",
    *,
    target: Any = "auto",
    count: int = 8,
    stream_k: bool = False,
    fixed: Mapping[str, Any] | None = None,
) -> list[Proposal]:
    """Configurations of C [M, N] = A @ B over K, the best first: at most ``count`` of them.

    M, N, K: integers of at least 1, in elements. dtype: of the elements of A and B, as a name or a type of tilecore,
    torch or numpy; float16 unless given. out_dtype: of C, ``dtype`` unless given. layout: A is [M, K], or [K, M] if it
    begins with T, B is [K, N], or [N, K] if it ends with T. target: as in tilecore.jit.

    A configuration has block_M, block_N and block_K (the tile of a block, in elements), stages (of T.Pipelined),
    threads (of a block), and split_k: over how many times as many blocks K is divided, whose sums a second kernel adds
    (1: it is not); examples/gemm.py is a kernel that takes them. Only tiles that the target's shared memory and
    registers have room for are proposed.

    stream_k: whether the kernel can divide the tiles beyond whole rounds of the blocks that run at a time along K, as
    examples/gemm.py can. Configurations then have stream_k, too: the number of these blocks where the model says that
    it saves at least 1 % of the time of the best configuration without, else 0.

    fixed: values that every configuration must have, by name, such as {"block_M": 64}.

    Raises ArgumentError for sizes below 1, an unknown layout, an element type that the target does not have, or fixed
    values that no configuration has (the error says which there are), LimitError where no tile fits into the target's
    shared memory, TargetError for an unknown target, TypeError for arguments that the function does not take.
    """
    M, N, K = checked_sizes(M=M, N=N, K=K)
    count, stream_k = checked_count(count), checked_flag("stream_k", stream_k)
    if layout not in LAYOUTS:
        raise ArgumentError("layout is not one of a GEMM", found=repr(layout), expected=", ".join(LAYOUTS))
    values = checked_fixed(fixed, (*GEMM_NAMES, "stream_k") if stream_k else GEMM_NAMES)
    chip = chip_of(target)
    kind = element_type(dtype, chip)
    work = Work(M, N, K, kind, element_type(out_dtype, chip) if out_dtype else kind, layout)
    text = f"{M} x {N} x {K} of {kind}"
    place = f"{text} on {chip.target.brief()}"
    own = chip.gemm_blocks(M, N, K, kind, layout)
    if own is not None:
        proposals = [_of_backend(blocks, stream_k, values) for blocks in own]
        return restricted(proposals, lambda proposal: proposal.config, values, place)[:count]
    estimates = [(estimate(work, tiling, chip), tiling) for tiling in tilings(work, chip)]
    check_some_fit(estimates, text, chip)
    of_tiles = {name: value for name, value in values.items() if name != "stream_k"}
    estimates = restricted(estimates, lambda pair: _config(pair[1], stream_k), of_tiles, place)
    if stream_k:
        estimates += _streamed(work, estimates, chip)
        estimates = restricted(estimates, lambda pair: _config(pair[1], stream_k), values, place)
    chosen = ranked(estimates, _shape, count)
    return [_proposal(work, tiling, guess, chip, stream_k) for guess, tiling in chosen]


def _of_backend(blocks: GemmBlocks, with_stream_k: bool, fixed: Mapping[str, Any]) -> Proposal:
    """A proposal of the backend: the rest of the configuration does not matter there, and may be fixed to anything."""
    config = {
        "block_M": blocks.block_M, "block_N": blocks.block_N, "block_K": blocks.block_K, "stages": 2, "threads": 128,
        "split_k": 1,
    }  # fmt: skip
    if with_stream_k:
        config["stream_k"] = 0
    return Proposal(with_free(config, fixed, ("stages", "threads")), blocks.seconds * 1e3, blocks.reason)


def _streamed(work: Work, estimates: list[tuple[Estimate, Tiling]], chip: Chip) -> list[tuple[Estimate, Tiling]]:
    """The tilings with the last round's tiles divided that win enough over the best of all without."""
    most = (1 - LEAST_GAIN) * min(guess.seconds for guess, _ in estimates)
    tilings = [with_stream for _, tiling in estimates if (with_stream := streamed(work, tiling, chip))]
    divided = [(estimate(work, tiling, chip), tiling) for tiling in tilings]
    return [(guess, tiling) for guess, tiling in divided if guess.seconds <= most]


def _shape(tiling: Tiling) -> Any:
    """Of proposals with the same one only the best two are worth trying."""
    return tiling.block_M, tiling.block_N


def _config(t: Tiling, with_stream_k: bool) -> dict[str, Any]:
    config = {name: getattr(t, name) for name in GEMM_NAMES}
    return {**config, "stream_k": t.stream_k} if with_stream_k else config


def _proposal(work: Work, t: Tiling, guess: Estimate, chip: Chip, with_stream_k: bool) -> Proposal:
    rows, columns = ceil(work.M / t.block_M), ceil(work.N / t.block_N)
    reason = f"{rows} x {columns} tiles of {t.block_M} x {t.block_N}"
    if t.split_k > 1:
        reason += f", K in {t.split_k} parts"
    if t.stream_k:
        reason += f", the last {rounds_of(work, t).divided} of them divided along K"
    if guess.parts > 1:
        reason += f", {guess.parts} blocks share the loop of each"
    reason += f", {guess.waves:.2f} waves of {chip.cores * t.resident} blocks; "
    reason += f"{guess.limit} {'limit' if guess.limit.endswith('s') else 'limits'} it: products "
    reason += f"{guess.products * 1e6:.1f} us, loads {guess.loads * 1e6:.1f} us, memory {guess.traffic * 1e6:.1f} us"
    return Proposal(_config(t, with_stream_k), guess.seconds * 1e3, reason + assumptions(chip.assumed))
