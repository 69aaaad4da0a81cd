"""Linear attention with decay, chunk by chunk: the scan of Mamba-2 (SSD), RetNet and simple gated linear attention.

A head has a state, a matrix. Each step multiplies it by a decay and adds an outer product; the query reads it:

    S_t = exp(g_t) S_(t-1) + k_t^T v_t        o_t = scale q_t S_t

Step by step that is slow. For a chunk of steps it is matrix products (Dao and Gu, 2024): earlier chunks contribute
through the state, steps of the same chunk contribute directly, weighted by the decay between them.

A block goes through the chunks of a head one after the other. With few heads that leaves multiprocessors idle: with
--segments N the steps are divided into N parts. A first kernel computes what each part adds to the state, and the
blocks of a part begin with the sum of what the parts before have added. That reads K and V twice: see configuration().

    python examples/linear_attention.py --target cpu --heads 4 --length 500 --dim-k 64 --dim-v 64
"""

import argparse
import math

import torch

import tilecore
import tilecore.language as T

DECAYS = ("step", "head", "none")


def linear_attention(
    batch, length, heads, dim_k, dim_v, chunk=64, block_V=64, stages=2, threads=128, dtype="float16", decay="step",
    scale=1.0, with_initial=False, segments=1,
):  # fmt: skip
    """Q, K [batch, length, heads, dim_k], V, Out [batch, length, heads, dim_v]; G, float32: logarithms of decays, 0 or
    less; Initial, Last [batch, heads, dim_k, dim_v], float32: the state before the first step and behind the last one.

    decay: "step" (G [batch, length, heads]: of each step), "head" (G [heads]: the same for all steps of a head, as in
    RetNet) or "none" (no G). scale: more than 0. with_initial: whether there is an Initial, in front of Out. segments:
    parts of the steps that run side by side. Columns of V are independent: blocks compute block_V of them."""
    if decay not in DECAYS:
        raise ValueError(f"decay ({decay!r}) must be one of {', '.join(DECAYS)}")
    if not scale > 0:
        raise ValueError(f"scale ({scale}) must be more than 0")
    if length < 1 or segments < 1:
        raise ValueError(f"length ({length}) and segments ({segments}) must be at least 1")
    chunks = T.ceildiv(length, chunk)
    each = T.ceildiv(chunks, min(segments, chunks))  # chunks of a segment
    segments = T.ceildiv(chunks, each)  # every one has a chunk
    fades = decay != "none"
    log2_scale, to_log2 = math.log2(scale), 1 / math.log(2)
    qk_type = T.Tensor((batch, length, heads, dim_k), dtype)
    v_type = T.Tensor((batch, length, heads, dim_v), dtype)
    g_type = T.Tensor((batch, length, heads) if decay == "step" else (heads,), "float32")
    state_type = T.Tensor((batch, heads, dim_k, dim_v), "float32")

    @T.macro
    def sum_decays(G, Sums):
        """Sums[b, h, t]: the decay from the beginning of the chunk up to step t, a logarithm to base 2."""
        with T.Kernel(chunks, batch, threads=128) as (c, b):
            sums = T.alloc_shared((chunk, heads), "float32")
            if decay == "step":  # steps past the end read as zeros: they do not decay the state
                T.copy(G[b, c * chunk : (c + 1) * chunk, :], sums)
                T.cumsum(sums, dim=0)
                for h, t in T.Parallel(heads, chunk):
                    Sums[b, h, c * chunk + t] = sums[t, h] * to_log2
            else:
                for h, t in T.Parallel(heads, chunk):
                    Sums[b, h, c * chunk + t] = G[h] * to_log2 * T.min(t + 1, length - c * chunk)

    @T.macro
    def fade(v, v_faded, sums, state):
        """Each step decays up to the end of the chunk, and so does the state from before it."""
        for i, j in T.Parallel(chunk, block_V):
            v_faded[i, j] = v[i, j] * T.exp2(sums[chunk - 1] - sums[i])
        for i, j in T.Parallel(dim_k, block_V):
            state[i, j] *= T.exp2(sums[chunk - 1])

    @T.macro
    def states_of_segments(K, V, Sums, Added, Kept):
        """Added[b, h, s]: what segment s adds to the state; Kept: what they keep of earlier ones, a logarithm."""
        with T.Kernel(T.ceildiv(dim_v, block_V), heads, batch * (segments - 1), threads=threads) as (bv, h, n):
            k = T.alloc_shared((chunk, dim_k), dtype)
            v = T.alloc_shared((chunk, block_V), dtype)
            v_faded = T.alloc_shared((chunk, block_V), dtype) if fades else None
            sums = T.alloc_shared((chunk,), "float32") if fades else None
            state = T.alloc_fragment((dim_k, block_V), "float32")
            b, segment = n // (segments - 1), n % (segments - 1)
            T.clear(state)
            if fades:
                kept = T.alloc_fragment((1,), "float32")
                T.clear(kept)
            for step in T.Pipelined(each, num_stages=stages):
                begin = (segment * each + step) * chunk
                T.copy(K[b, begin : begin + chunk, h, :], k)
                T.copy(V[b, begin : begin + chunk, h, bv * block_V : (bv + 1) * block_V], v)
                if fades:
                    T.copy(Sums[b, h, begin : begin + chunk], sums)
                    kept[0] += sums[chunk - 1]
                    fade(v, v_faded, sums, state)
                T.gemm(k, v_faded if fades else v, state, transpose_A=True)
            T.copy(state, Added[b, h, segment, :, bv * block_V : (bv + 1) * block_V])
            if fades:
                T.copy(kept, Kept[b, h, segment : segment + 1])

    @T.macro
    def begin_state(Initial, Added, Kept, b, h, segment, columns, state):
        """The state in front of a segment."""
        if Initial is not None:
            T.copy(Initial[b, h, :, columns], state)
        else:
            T.clear(state)
        if segments > 1:
            added = T.alloc_fragment((dim_k, block_V), "float32")
            for before in T.serial(segment):
                T.copy(Added[b, h, before, :, columns], added)
                for i, j in T.Parallel(dim_k, block_V):
                    if fades:
                        state[i, j] = state[i, j] * T.exp2(Kept[b, h, before]) + added[i, j]
                    else:
                        state[i, j] += added[i, j]

    @T.macro
    def outputs(Q, K, V, Sums, Added, Kept, Initial, Out, Last):
        with T.Kernel(T.ceildiv(dim_v, block_V), heads, batch * segments, threads=threads) as (bv, h, n):
            q = T.alloc_shared((chunk, dim_k), dtype)
            k = T.alloc_shared((chunk, dim_k), dtype)
            v = T.alloc_shared((chunk, block_V), dtype)
            v_faded = T.alloc_shared((chunk, block_V), dtype) if fades else None
            sums = T.alloc_shared((chunk,), "float32") if fades else None
            state_shared = T.alloc_shared((dim_k, block_V), dtype)
            state = T.alloc_fragment((dim_k, block_V), "float32")
            # the last segments add up the most states, and start first
            b, segment = n % batch, segments - 1 - n // batch
            columns = slice(bv * block_V, (bv + 1) * block_V)
            begin_state(Initial, Added, Kept, b, h, segment, columns, state)
            for step in T.Pipelined(T.min(each, chunks - segment * each), num_stages=stages):
                scores = T.alloc_fragment((chunk, chunk), "float32")
                weights = T.alloc_fragment((chunk, chunk), dtype)
                out = T.alloc_fragment((chunk, block_V), "float32")
                # steps past the end read as zeros: they add nothing to the state
                begin = (segment * each + step) * chunk
                T.copy(Q[b, begin : begin + chunk, h, :], q)
                T.copy(K[b, begin : begin + chunk, h, :], k)
                T.copy(V[b, begin : begin + chunk, h, columns], v)
                if fades:
                    T.copy(Sums[b, h, begin : begin + chunk], sums)

                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                T.copy(state, state_shared)
                if fades:
                    fade(v, v_faded, sums, state)
                T.gemm(q, state_shared, out, clear_accum=True)
                # the steps of the same chunk up to this one, decayed from one to the other
                for i, j in T.Parallel(chunk, chunk):
                    scores[i, j] *= T.exp2(sums[i] - sums[j] + log2_scale) if fades else scale
                for i, j in T.Parallel(chunk, chunk):  # a choice by itself: it takes no branch
                    scores[i, j] = T.if_then_else(i >= j, scores[i, j], 0)
                T.copy(scores, weights)
                # earlier chunks, decayed up to each step
                for i, j in T.Parallel(chunk, block_V):
                    out[i, j] *= T.exp2(sums[i] + log2_scale) if fades else scale
                T.gemm(weights, v, out)
                T.gemm(k, v_faded if fades else v, state, transpose_A=True)
                T.copy(out, Out[b, begin : begin + chunk, h, columns])
            if segment == segments - 1:
                T.copy(state, Last[b, h, :, columns])

    @T.macro
    def whole(Q, K, V, G, Initial, Out, Last):
        Sums, Added, Kept = None, None, None
        if fades:
            Sums = T.alloc_global((batch, heads, chunks * chunk), "float32")
            sum_decays(G, Sums)
        if segments > 1:
            Added = T.alloc_global((batch, heads, segments - 1, dim_k, dim_v), "float32")
            Kept = T.alloc_global((batch, heads, segments - 1), "float32") if fades else None
            states_of_segments(K, V, Sums, Added, Kept)
        outputs(Q, K, V, Sums, Added, Kept, Initial, Out, Last)

    if fades and with_initial:

        @T.prim_func
        def linear_attention_kernel(
            Q: qk_type, K: qk_type, V: v_type, G: g_type, Initial: state_type, Out: v_type, Last: state_type
        ):
            whole(Q, K, V, G, Initial, Out, Last)

    elif fades:

        @T.prim_func
        def linear_attention_kernel(Q: qk_type, K: qk_type, V: v_type, G: g_type, Out: v_type, Last: state_type):
            whole(Q, K, V, G, None, Out, Last)

    elif with_initial:

        @T.prim_func
        def linear_attention_kernel(
            Q: qk_type, K: qk_type, V: v_type, Initial: state_type, Out: v_type, Last: state_type
        ):
            whole(Q, K, V, None, Initial, Out, Last)

    else:

        @T.prim_func
        def linear_attention_kernel(Q: qk_type, K: qk_type, V: v_type, Out: v_type, Last: state_type):
            whole(Q, K, V, None, None, Out, Last)

    return linear_attention_kernel


def configuration(batch, length, heads, dim_k, dim_v, cores=132):
    """block_V and segments with which ``cores`` multiprocessors have work; as few parts as that takes, as each of them
    reads Q and K (columns of V), or K and V (segments), again."""
    for block_V in (64, 32):
        blocks = max(1, batch * heads * -(-dim_v // block_V))
        if blocks >= 0.9 * cores:
            return {"block_V": block_V, "segments": 1}
    segments = min(-(-cores // blocks), -(-length // 512))  # a segment has at least 8 chunks
    return {"block_V": 32, "segments": segments}


def reference(q, k, v, g=None, scale=1.0, initial=None):
    """Step by step, by torch in float32. g [batch, length, heads], [heads] or None."""
    state = torch.zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3], device=q.device) if initial is None else initial
    kept = torch.ones(q.shape[:3], device=q.device) if g is None else g.exp().expand(q.shape[:3])
    rows = []
    for t in range(q.shape[1]):
        state = kept[:, t, :, None, None] * state + k[:, t, :, :, None].float() * v[:, t, :, None, :].float()
        rows.append(scale * (q[:, t, :, None, :].float() @ state)[:, :, 0])
    return torch.stack(rows, dim=1), state


EXPLAIN = [
    "linear_attention(1, 500, 4, 64, 64) or linear_attention(1, 500, 4, 64, 64, chunk=32, block_V=32, stages=1)",
    "linear_attention(1, 500, 4, 64, 64, decay='none', segments=2)"
    " or linear_attention(1, 500, 4, 64, 64, chunk=32, block_V=32, stages=1, decay='none', segments=2)",
]  # for `tilecore explain --targets`; behind "or" for devices with less shared memory
FAST = {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}  # exp2 by one instruction
# the weights are computed beside the product of Q and the state
FAST_ON_HOPPER = {**FAST, tilecore.PassConfigKey.TL_LATE_RELEASES: True}


def inputs(options, device):
    """Q, K, V, then G and Initial where the kernel has them."""
    batch, heads, length, dtype = options.batch, options.heads, options.length, getattr(torch, options.dtype)
    q, k = (torch.randn(2, batch, length, heads, options.dim_k, device=device) / options.dim_k**0.25).to(dtype)
    v = torch.randn(batch, length, heads, options.dim_v, device=device).to(dtype)
    g = None
    if options.decay == "step":
        g = torch.nn.functional.logsigmoid(2 + torch.randn(batch, length, heads, device=device))
    elif options.decay == "head":  # RetNet's
        g = torch.log1p(-(2.0 ** (-5 - torch.arange(heads, device=device))))
    initial = torch.randn(batch, heads, options.dim_k, options.dim_v, device=device) if options.initial else None
    return q, k, v, g, initial


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--length", type=int, default=500)
    parser.add_argument("--dim-k", type=int, default=64)
    parser.add_argument("--dim-v", type=int, default=64)
    parser.add_argument("--decay", default="step", choices=DECAYS, help="of each step, of each head, or none")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--initial", action="store_true", help="begin with a given state")
    parser.add_argument("--segments", type=int, help="parts of the steps that run side by side (default: by the sizes)")
    parser.add_argument("--dtype", default="float16", choices=["float16", "bfloat16"])
    options = parser.parse_args(words)
    batch, length, heads, dim_k, dim_v = options.batch, options.length, options.heads, options.dim_k, options.dim_v

    on_cuda = options.target.startswith("cuda") or (options.target == "auto" and torch.cuda.is_available())
    passes = FAST_ON_HOPPER if on_cuda else FAST
    given = 3 + (options.decay != "none") + options.initial  # tensors in front of the outputs
    outputs = [given, given + 1]
    compiled = tilecore.jit(linear_attention, target=options.target, out_idx=outputs, pass_configs=passes)
    sizes = batch, length, heads, dim_k, dim_v
    words = {"dtype": options.dtype, "decay": options.decay, "scale": options.scale, "with_initial": options.initial}
    words |= configuration(*sizes)
    if options.segments is not None:
        words["segments"] = options.segments
    try:
        kernel = compiled(*sizes, **words)
    except tilecore.errors.LimitError:  # the device has less shared memory, such as 32 KiB
        words = {name: value for name, value in words.items() if name != "block_V"}
        kernel = compiled(*sizes, chunk=32, block_V=32, stages=1, **words)
    q, k, v, g, initial = inputs(options, kernel.adapter.torch_device())
    results = kernel(*(x for x in (q, k, v, g, initial) if x is not None))
    tolerance = 2e-3 if options.dtype == "float16" else 1.6e-2  # of the largest value: the state is rounded, too
    for result, right in zip(results, reference(q, k, v, g, options.scale, initial), strict=True):
        torch.testing.assert_close(result.float(), right, rtol=1e-2, atol=tolerance * right.abs().max().item())
    print(f"linear_attention: {batch}x{length}x{heads}, {dim_k} by {dim_v}, right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
