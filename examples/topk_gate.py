"""The gate of a mixture of experts: softmax over experts, the k largest of every token, and their weights.

A block has the scores of a few tokens in registers. It selects the largest score k times and each time excludes it from
the next searches. Of equal scores the expert with the lower index comes first. With --renormalize the k weights of a
token add up to 1.

    python examples/topk_gate.py --target cpu --tokens 1000 --experts 128 --k 8 --renormalize
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def topk_gate(tokens, experts, k, renormalize=False, block_M=32, threads=128, dtype="float32"):
    """Logits [tokens, experts]; Weight [tokens, k], float32, falling; Expert [tokens, k], int32."""
    if not 1 <= k <= experts:
        raise ValueError(f"k ({k}) must be from 1 to the number of experts ({experts})")

    @T.prim_func
    def topk_gate_kernel(
        Logits: T.Tensor((tokens, experts), dtype),
        Weight: T.Tensor((tokens, k), "float32"),
        Expert: T.Tensor((tokens, k), "int32"),
    ):
        with T.Kernel(T.ceildiv(tokens, block_M), threads=threads) as bx:
            scores = T.alloc_fragment((block_M, experts), "float32")
            number = T.alloc_fragment((block_M, experts), "int32")
            largest = T.alloc_fragment((block_M,), "float32")
            first = T.alloc_fragment((block_M,), "int32")
            total = T.alloc_fragment((block_M,), "float32")
            chosen = T.alloc_fragment((block_M,), "float32")  # sum of the k weights
            weights = T.alloc_shared((block_M, k), "float32")

            T.copy(Logits[bx * block_M, 0], scores)
            T.reduce_max(scores, largest, dim=1)
            for i, j in T.Parallel(block_M, experts):
                scores[i, j] = T.exp(scores[i, j] - largest[i])
            T.reduce_sum(scores, total, dim=1)
            T.clear(chosen)
            for step in T.serial(k):
                T.reduce_max(scores, largest, dim=1)
                for i, j in T.Parallel(block_M, experts):
                    number[i, j] = T.if_then_else(scores[i, j] == largest[i], j, experts)
                T.reduce_min(number, first, dim=1)
                for i, j in T.Parallel(block_M, experts):
                    scores[i, j] = T.if_then_else(j == first[i], -1, scores[i, j])  # below every exp
                for i in T.Parallel(block_M):
                    Expert[bx * block_M + i, step] = first[i]
                    weights[i, step] = largest[i]
                    chosen[i] += largest[i]
            for i, j in T.Parallel(block_M, k):
                Weight[bx * block_M + i, j] = weights[i, j] / (chosen[i] if renormalize else total[i])

    return topk_gate_kernel


EXPLAIN = ["topk_gate(1000, 128, 8)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--experts", type=int, default=128)
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--renormalize", action="store_true")
    options = parser.parse_args(words)
    tokens, experts, k = options.tokens, options.experts, options.k

    kernel = tilecore.jit(topk_gate, target=options.target, out_idx=[1, 2])(tokens, experts, k, options.renormalize)
    logits = torch.randn(tokens, experts, device=kernel.adapter.torch_device())
    weight, expert = kernel(logits)
    expected, places = logits.softmax(dim=1).topk(k, dim=1)
    if options.renormalize:
        expected = expected / expected.sum(dim=1, keepdim=True)
    torch.testing.assert_close(expert.long(), places)
    torch.testing.assert_close(weight, expected, rtol=1e-5, atol=1e-6)
    print(f"topk_gate: {k} of {experts} experts for {tokens} tokens right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
