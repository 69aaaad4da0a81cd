"""Proposes configurations of attention for a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilecore.caller import placed
from tilecore.errors import ArgumentError
from tilecore.heuristics.attention_model import Estimate, estimate
from tilecore.heuristics.attention_space import Tiling, Work, tilings
from tilecore.heuristics.checks import check_some_fit, checked_count, checked_flag, checked_sizes, element_type
from tilecore.heuristics.chip import Chip, chip_of
from tilecore.heuristics.fixed import checked_fixed, restricted, with_free
from tilecore.heuristics.proposal import Proposal, assumptions, ranked
from tilecore.language.keywords import also_named
from tilecore.profiler.tile_device import AttentionBlocks

FORWARD_NAMES = ("block_M", "block_N", "stages", "threads", "width", "q_in_registers")  # of a configuration
DECODING_NAMES = ("block_N", "stages", "threads", "width", "splits", "block_H")


@also_named(causal="is_causal")
@placed
def attention(
    batch: int,
    heads: int,
    kv_heads: int,
    queries: int,
    keys: int,
    dim: int,
    dim_v: int | None = None,
    is_causal: bool = False,
    dtype: Any = "float16",
    *,
    target: Any = "auto",
    count: int = 8,
    fixed: Mapping[str, Any] | None = None,
) -> list[Proposal]:
    """Configurations of softmax(Q K^T / sqrt(dim)) V, the best first: at most ``count`` of them.

    Q is [batch, queries, heads, dim], K [batch, keys, kv_heads, dim], V [batch, keys, kv_heads, dim_v]; dim_v is dim
    unless given. is_causal (or causal): query i sees keys 0 to i, and there are as many queries as keys. dtype: of the
    elements of Q, K and V, as a name or a type of tilecore, torch or numpy; float16 unless given. target: as in
    tilecore.jit. fixed: values that every configuration must have, by name, such as {"block_M": 64}.

    A configuration for examples/attention.py has block_M (queries of a block), block_N (keys of a tile), stages,
    threads, width (columns of tiles, None: as many as heads have) and q_in_registers. With one query and several keys
    (decoding) it is one for examples/decode_attention.py: block_N, stages, threads, width, splits (parts of the keys)
    and block_H (rows of a product: the query heads that share keys).

    Raises ArgumentError for sizes below 1, heads that are no multiple of kv_heads, causal attention whose numbers of
    queries and keys differ, an element type that the target does not have, or fixed values that no configuration has
    (the error says which there are), LimitError where no tile fits into the target's shared memory, TargetError for an
    unknown target, TypeError for arguments that the function does not take.
    """
    dim_v = dim if dim_v is None else dim_v
    batch, heads, kv_heads, queries, keys, dim, dim_v = checked_sizes(
        batch=batch, heads=heads, kv_heads=kv_heads, queries=queries, keys=keys, dim=dim, dim_v=dim_v
    )
    count, is_causal = checked_count(count), checked_flag("is_causal", is_causal)
    if heads % kv_heads:
        raise ArgumentError(f"heads ({heads}) must be a multiple of kv_heads ({kv_heads})")
    if is_causal and queries != keys:
        raise ArgumentError("causal attention has as many queries as keys", found=f"queries {queries}, keys {keys}")
    chip = chip_of(target)
    work = Work(batch, heads, kv_heads, queries, keys, dim, dim_v, is_causal, element_type(dtype, chip))
    values = checked_fixed(fixed, DECODING_NAMES if work.is_decoding else FORWARD_NAMES)
    place = f"attention of {queries} x {keys} of {work.dtype} on {chip.target.brief()}"
    own = None if work.is_decoding else chip.attention_blocks(batch * heads, queries, keys, dim, is_causal)
    if own is not None:
        proposals = [_of_backend(blocks, values) for blocks in own]
        return restricted(proposals, lambda proposal: proposal.config, values, place)[:count]
    estimates = [(estimate(work, tiling, chip), tiling) for tiling in dict.fromkeys(tilings(work, chip))]
    check_some_fit(estimates, f"heads of {dim} and {dim_v}", chip)
    estimates = restricted(estimates, lambda pair: _config(work, pair[1]), values, place)
    return [_proposal(work, tiling, guess, chip) for guess, tiling in ranked(estimates, _shape, count)]


def _of_backend(blocks: AttentionBlocks, fixed: Mapping[str, Any]) -> Proposal:
    """A proposal of the backend: the rest of the configuration does not matter there, and may be fixed to anything."""
    config = {
        "block_M": blocks.block_M, "block_N": blocks.block_N, "stages": 2, "threads": 128, "width": None,
        "q_in_registers": False,
    }  # fmt: skip
    free = ("stages", "threads", "width", "q_in_registers")
    return Proposal(with_free(config, fixed, free), blocks.seconds * 1e3, blocks.reason)


def _shape(tiling: Tiling) -> Any:
    return tiling.block_M, tiling.block_N, tiling.width, tiling.splits


def _config(work: Work, t: Tiling) -> dict[str, Any]:
    config: dict[str, Any] = {"block_N": t.block_N, "stages": t.stages, "threads": t.threads, "width": t.width}
    if work.is_decoding:
        return {**config, "splits": t.splits, "block_H": t.block_M}
    return {"block_M": t.block_M, **config, "q_in_registers": t.q_in_registers}


def _proposal(work: Work, t: Tiling, guess: Estimate, chip: Chip) -> Proposal:
    if work.is_decoding:
        reason = f"{work.batch} x {work.kv_heads} heads of keys in {t.splits} parts"
    else:
        reason = f"{guess.blocks} blocks of {t.block_M} queries, {guess.blocks / (chip.cores * t.resident):.2f} waves"
    if t.width:
        reason += f", tiles of {t.width} columns for {work.dim}, which spread over all banks"
    reason += f"; {guess.limit} {'limit' if guess.limit.endswith('s') else 'limits'} it: products "
    reason += f"{guess.products * 1e6:.1f} us, exponentials {guess.softmax * 1e6:.1f} us, "
    reason += f"memory {guess.traffic * 1e6:.1f} us"
    config = _config(work, t)
    return Proposal(config, guess.seconds * 1e3, reason + assumptions(chip.assumed))
