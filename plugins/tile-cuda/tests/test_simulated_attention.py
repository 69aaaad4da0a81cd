"""Hand-written attention for sm_90a on the simulated device: correct, and each planted bug is reported."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from simulated_kit import aligned, caught, map_of, needs_compiler, planted, run

pytestmark = needs_compiler
SOURCE = Path(__file__).with_name("simulated_attention.cu").read_text()
BYTES = 128 * 64 * 2 + 4 * 64 * 64 * 2 + 80


def attention(source: str, call=run, rows: int = 128, keys: int = 256, blocks: int = 1, **options):
    rng = np.random.default_rng(rows + keys)
    q, k, v = (aligned(rng.standard_normal((n, 64)).astype(np.float16)) for n in (rows, keys, keys))
    o = np.zeros((rows, 64), np.float32)
    scale = 0.125 * np.log2(np.e)
    boxes = ((q, (64, 128)), (k, (64, 64)), (v, (64, 64)))
    maps = [map_of(slot, tensor, box, swizzle="128B") for slot, (tensor, box) in enumerate(boxes)]
    bits = int.from_bytes(struct.pack("<f", scale), "little")
    arguments = (("Q", q, "r"), ("K", k, "r"), ("V", v, "r"), ("O", o, "w"), keys, rows // 128, bits)
    result = call(source, "attention", 384, *arguments, maps=maps, grid=(blocks,), shared=BYTES, **options)
    if call is not run:
        return result
    scores = q.astype(np.float64) @ k.astype(np.float64).T / 8
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return o, weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)


@pytest.mark.parametrize(("rows", "keys", "blocks"), [(128, 64, 1), (128, 128, 1), (128, 320, 1), (384, 192, 2)])
@pytest.mark.parametrize("seed", [0, 1])
def test_right(rows, keys, blocks, seed):
    got, expected = attention(SOURCE, rows=rows, keys=keys, blocks=blocks, seed=seed)
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-3)


WRONG = {
    "the wait for the scores": ("tc_warpgroup_wait<1>();  // for the scores\n", "\n", ("missing_wait",)),
    "the wait for the values": ("tc_warpgroup_wait<0>();  // for the values\n", "\n", ("missing_wait",)),
    "the last wait": ("tc_warpgroup_wait<0>();  // the last\n", "\n", ("missing_wait",)),
    "the fence of the loop": ("tc_warpgroup_begin();  // of the loop\n", "\n", ("missing_fence",)),
    "the last fence": ("tc_warpgroup_begin();  // the last\n", "\n", ("missing_fence",)),
    "the commit of the scores": ("tc_warpgroup_commit();  // of the scores\n", "\n", ("missing_wait",)),
    "the commit of the values": ("tc_warpgroup_commit();  // of the values\n", "\n", ("missing_wait",)),
    "the swizzle of Q": ("((2 * part + lane / 16) ^ (row & 7))", "(2 * part + lane / 16)", ("swizzle_mismatch",)),
    "the parity of a circular buffer": ("pipeline_state k(1), v(1);", "pipeline_state k(1), v(0);", ("deadlock",)),
    "the first phase of a circular buffer": ("pipeline_state k(0), v(0);", "pipeline_state k(0), v(1);",
                              ("missing_wait", "uninitialised", "race", "deadlock")),
    "a slot that is not free": ("tc_transaction_wait(&v_empty[v.slot], v.parity);\n", "\n",
                                ("missing_wait", "race", "invalid_operation")),
    "the slot of the scores, released too early": (
        "      tc_warpgroup_wait<1>();  // for the scores\n",
        "      if (lane == 0) tc_transaction_arrive(&k_empty[k.slot]);\n      tc_warpgroup_wait<1>();\n",
        ("missing_wait", "race", "invalid_operation")),
    "exponentials packed while they are multiplied": (
        "      tc_warpgroup_wait<0>();  // for the values\n",
        "      pack(p, s);\n      tc_warpgroup_wait<0>();\n", ("missing_wait",)),
    "sums rescaled while values are added": ("      tc_warpgroup_wait<0>();  // for the values\n",
                                            "      o[3] *= corrections[0];\n      tc_warpgroup_wait<0>();\n",
                                            ("missing_wait",)),
    "a named barrier's arrival": ("      tc_named_barrier_arrive(2 - who, 256);\n", "", ("deadlock",)),
    "registers beyond the block's": ("tc_registers_release<24>", "tc_registers_release<32>", ("deadlock",)),
    "the fence of the barriers": ("    tc_transaction_fence_init();\n", "", ("missing_proxy_fence",)),
    "the swizzle of V": ("1024, 1), true);\n      tc_warpgroup_commit();  // of the values",
                         "1024, 3), true);\n      tc_warpgroup_commit();", ("swizzle_mismatch",)),
}  # fmt: skip


@pytest.mark.parametrize("bug", WRONG)
def test_a_planted_bug_is_reported(bug):
    old, new, kinds = WRONG[bug]
    attention(planted(SOURCE, old, new), caught, keys=320, seeds=(0, 1), kinds=kinds)
