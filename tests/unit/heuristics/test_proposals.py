"""What tilecore.heuristics proposes: legal on the target, right when run, in a sensible order, with clear errors."""

from __future__ import annotations

import importlib.util
import itertools
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tilecore
from tilecore import heuristics
from tilecore.errors import ArgumentError, LimitError, TargetError
from tilecore.heuristics import attention_space, gemm_space
from tilecore.heuristics.checks import element_type
from tilecore.heuristics.chip import chip_of
from tilecore.plugins import manager

EXAMPLES = Path(__file__).parents[3] / "examples"
HOPPER = "cuda -arch=sm_90a"
TARGETS = [t for t in ("cpu", HOPPER, "cuda -arch=sm_80", "hip", "metal", "opencl") if t.split()[0] in manager.kinds()]
needs_cuda = pytest.mark.skipif("cuda" not in manager.kinds(), reason="tile-cuda is not installed")


def example(name):
    spec = importlib.util.spec_from_file_location(f"heuristics_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dtype_for(target):
    return "float32" if target == "opencl" else "float16"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sizes", [(1, 512, 512), (17, 1000, 72), (4096, 4096, 4096), (3, 1, 1)])
def test_every_target_gets_products_that_fit_its_facts(target, sizes):
    chip = chip_of(target)
    proposals = heuristics.gemm(*sizes, dtype_for(target), target=target)
    assert 1 <= len(proposals) <= 8
    for proposal in proposals:
        c = proposal.config
        assert set(c) == {"block_M", "block_N", "block_K", "stages", "threads", "split_k"}
        assert c["threads"] <= chip.max_threads
        assert c["threads"] % chip.group_threads == 0
        used = (c["block_M"] + c["block_N"]) * c["block_K"] * c["stages"] * 2
        assert not chip.block_shared or used <= chip.block_shared
        assert proposal.milliseconds > 0
    assert [p.milliseconds for p in proposals] == sorted(p.milliseconds for p in proposals)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("queries", [1, 500])
def test_every_target_gets_attention_that_fits_its_facts(target, queries):
    chip = chip_of(target)
    for proposal in heuristics.attention(2, 8, 2, queries, 500, 64, dtype=dtype_for(target), target=target):
        c = proposal.config
        assert c["threads"] <= chip.max_threads
        used = (c.get("block_M", c.get("block_H")) + 2 * c["stages"] * c["block_N"]) * (c["width"] or 64) * 2
        assert not chip.block_shared or used <= chip.block_shared
        assert ("splits" in c) is (queries == 1)


def test_proposals_need_no_tvm():
    targets = [target for target in TARGETS if target.split()[0] in ("cpu", "cuda")]
    code = (
        f"from tilecore import heuristics\nfor target in {targets}:\n    heuristics.gemm(64, 512, 4096, target=target)"
    )
    code += "\nimport sys; assert 'tvm' not in sys.modules and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_figures_that_a_backend_does_not_declare_are_named(monkeypatch):
    from tilecore.heuristics import chip
    from tilecore.profiler.tile_device import TileDevice

    monkeypatch.setattr(chip, "get_arch", TileDevice)
    assert "assumed: compute_max_core, clock" in heuristics.gemm(64, 64, 64, "float32", target="cpu")[0].reason


@needs_cuda
def test_figures_of_a_chip_decide():
    """Fewer multiprocessors take longer; less shared memory holds fewer stages."""
    few, many = (heuristics.gemm(2048, 2048, 2048, target=f"{HOPPER} -multiprocessors={n}")[0] for n in (16, 132))
    assert 4 < few.milliseconds / many.milliseconds < 132 / 16 * 1.1
    large, small = (heuristics.gemm(4096, 4096, 4096, target=f"cuda -arch={arch}") for arch in ("sm_80", "sm_86"))
    bytes_of = [
        max(sum((c["block_M"], c["block_N"])) * c["block_K"] * c["stages"] * 2 for c in (p.config for p in proposals))
        for proposals in (large, small)
    ]
    assert bytes_of[1] <= 99 << 10 < bytes_of[0]


@needs_cuda
def test_larger_work_takes_longer():
    def best(*sizes):
        return heuristics.gemm(*sizes, target=HOPPER)[0].milliseconds

    sizes = [2**n for n in range(15)]
    times = [best(m, 4096, 4096) for m in sizes]
    assert all(later >= 0.9 * earlier for earlier, later in itertools.pairwise(times))
    assert times[-1] > 20 * times[0]

    def attention(length):
        return heuristics.attention(1, 16, 16, length, length, 128, target=HOPPER)[0].milliseconds

    assert attention(64) < attention(2048) < attention(16384)


@needs_cuda
@pytest.mark.parametrize(
    ("dtype", "layout", "sizes"),
    [
        ("float16", "NN", (1, 520, 1032)),
        ("bfloat16", "NT", (65, 200, 136)),
        ("float8_e4m3fn", "NT", (17, 528, 272)),
        ("float16", "TT", (130, 72, 72)),
    ],
)
def test_proposals_compile_and_are_right_on_a_simulated_device(dtype, layout, sizes):
    M, N, K = sizes
    gemm = tilecore.jit(example("gemm").gemm, target=HOPPER, execution_backend="sim", out_idx=-1)
    shapes = ((K, M) if layout[0] == "T" else (M, K)), ((N, K) if layout[1] == "T" else (K, N))
    a, b = (torch.randn(shape).to(getattr(torch, dtype)) for shape in shapes)
    plain_a, plain_b = (x.float().T if t == "T" else x.float() for x, t in zip((a, b), layout, strict=True))
    expected = plain_a @ plain_b
    for proposal in heuristics.gemm(M, N, K, dtype, layout=layout, target=HOPPER, count=3):
        out = gemm(M, N, K, dtype, None, layout, **proposal.config)(a, b)
        torch.testing.assert_close(out.float(), expected, rtol=1e-2, atol=2e-2 * K**0.5)


@needs_cuda
@pytest.mark.parametrize("dim", [64, 80, (192, 128)])
def test_attention_compiles_and_is_right_on_a_simulated_device(dim):
    dim, dim_v = dim if isinstance(dim, tuple) else (dim, dim)
    module = example("attention")
    attention = tilecore.jit(module.attention, target=HOPPER, execution_backend="sim", out_idx=-1)
    q, k, v = torch.randn(1, 70, 2, dim).half(), torch.randn(1, 70, 1, dim).half(), torch.randn(1, 70, 1, dim_v).half()
    for proposal in heuristics.attention(1, 2, 1, 70, 70, dim, dim_v, is_causal=True, target=HOPPER, count=2):
        out = attention(1, 2, 1, 70, dim, True, dim_v=dim_v, **proposal.config)(q, k, v)
        torch.testing.assert_close(out.float(), module.reference(q, k, v, True)[0], rtol=2e-3, atol=2e-3)


@needs_cuda
def test_large_proposals_compile_for_the_target():
    """Their tiles fit: lowering fails where shared memory does not suffice."""
    for sizes, dtype in (((16, 8192, 8192), "float16"), ((8192, 8192, 8192), "float8_e4m3fn")):
        for proposal in heuristics.gemm(*sizes, dtype, layout="NT", target=HOPPER, count=5):
            func = example("gemm").gemm(*sizes, dtype, None, "NT", **proposal.config)
            artifact = tilecore.lower(func, target=HOPPER)
            assert "wgmma" in str(artifact.kernel_source)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: heuristics.gemm(0, 4, 4, target="cpu"), "M is not a size"),
        (lambda: heuristics.gemm(4, 4.0, 4, target="cpu"), "N is not a size"),
        (lambda: heuristics.gemm(4, 4, True, target="cpu"), "K is not a size"),
        (lambda: heuristics.gemm(4, 4, 4, "float17", target="cpu"), "no element type 'float17'"),
        (lambda: heuristics.gemm(4, 4, 4, layout="NX", target="cpu"), "layout"),
        (lambda: heuristics.gemm(4, 4, 4, target="cpu", count=0), "count"),
        (lambda: heuristics.attention(1, 3, 2, 8, 8, 64, target="cpu"), "must be a multiple of kv_heads"),
        (lambda: heuristics.attention(1, 2, 2, 1, 8, 64, is_causal=True, target="cpu"), "as many queries as keys"),
        (lambda: heuristics.attention(1, 2, 2, 1, 0, 64, target="cpu"), "keys is not a size"),
        (lambda: heuristics.gemm(4, 4, 4, target="cpu", fixed=[4]), "fixed is no dict"),
        (lambda: heuristics.gemm(4, 4, 4, target="cpu", fixed={"block_M": 0}), "fixed gives block_M=0, which no"),
        (lambda: heuristics.gemm(4, 4, 4, target="cpu", fixed={"block_m": 4}), "configurations have no 'block_m'"),
        (lambda: heuristics.gemm(10**19, 4, 4, target="cpu"), "M is not a size"),
        (lambda: heuristics.gemm(4, 10**5000, 4, target="cpu"), "N is not a size"),
        (lambda: heuristics.gemm(4, 4, np.float32(4), target="cpu"), "K is not a size"),
        (lambda: heuristics.gemm(4, 4, 4, target="cpu", count=np.int64(0)), "count"),
        (lambda: heuristics.gemm(4, 4, 4, target="cpu", fixed={"block_M": np.int64(0)}), "fixed gives block_M=.*0"),
        (lambda: heuristics.gemm(4, 4, 4, target="cpu", fixed={"stream_k": 4}), "configurations have no 'stream_k'"),
        (lambda: heuristics.attention(1, 2, 2, 8, 8, 64, target="cpu", fixed={"splits": 2}), "have no 'splits'"),
    ],
)
def test_wrong_arguments_are_refused(call, text):
    with pytest.raises(ArgumentError, match=text):
        call()


@pytest.mark.parametrize("target", TARGETS)
def test_fixed_values_are_those_of_every_proposal(target):
    dtype = dtype_for(target)
    free = heuristics.gemm(512, 512, 512, dtype, target=target, count=100)
    for fixed in [{"block_M": p.config["block_M"]} for p in free] + [dict(list(p.config.items())[:3]) for p in free]:
        proposals = heuristics.gemm(512, 512, 512, dtype, target=target, fixed=fixed)
        assert proposals
        assert all(fixed.items() <= proposal.config.items() for proposal in proposals)
    assert heuristics.gemm(512, 512, 512, dtype, target=target, fixed=free[0].config)[0] == free[0]
    for queries in (1, 512):
        free = heuristics.attention(2, 8, 2, queries, 512, 64, dtype=dtype, target=target)
        fixed = dict(free[-1].config)
        proposals = heuristics.attention(2, 8, 2, queries, 512, 64, dtype=dtype, target=target, fixed=fixed)
        assert [proposal.config for proposal in proposals] == [fixed] * len(proposals) != []


def test_what_does_not_matter_on_a_processor_may_be_fixed_to_anything():
    fixed = {"stages": 7, "threads": 1000}
    (first, *_) = heuristics.gemm(64, 64, 64, "float32", target="cpu", fixed=fixed)
    assert fixed.items() <= first.config.items()
    fixed = {"width": None, "q_in_registers": True}
    (first, *_) = heuristics.attention(1, 2, 2, 64, 64, 64, target="cpu", fixed=fixed)
    assert fixed.items() <= first.config.items()


@needs_cuda
def test_a_divided_last_round_may_be_fixed():
    for blocks in (0, 132):
        target = f"{HOPPER} -multiprocessors=132"
        proposals = heuristics.gemm(8192, 8192, 8192, target=target, stream_k=True, fixed={"stream_k": blocks})
        assert {proposal.config["stream_k"] for proposal in proposals} == {blocks}


@needs_cuda
@pytest.mark.parametrize(
    ("fixed", "message", "possible"),
    [
        ({"block_M": 17}, "on cuda -arch=sm_80 .* has block_M=17$", "block_M of 16, 32, 64, 128, 256"),
        ({"block_M": 17, "block_N": 16}, "has block_M=17$", "block_M of 64, 128, 256"),
        (
            {"block_M": 256, "threads": 128, "block_N": 128},
            "has block_M=256, .*together$",
            "threads of 256",
        ),
    ],
)
def test_fixed_values_that_no_proposal_has_are_refused_with_those_there_are(fixed, message, possible):
    with pytest.raises(ArgumentError) as caught:
        heuristics.gemm(512, 512, 512, target="cuda -arch=sm_80", fixed=fixed)
    assert re.search(message, caught.value.message)
    assert possible in caught.value.expected


def test_causal_attention_has_both_names():
    sizes = (1, 4, 2, 300, 300, 64)
    causal = heuristics.attention(*sizes, is_causal=True, target="cpu")
    assert heuristics.attention(*sizes, causal=True, target="cpu") == causal
    assert heuristics.attention(*sizes, causal=False, target="cpu") != causal
    with pytest.raises(TypeError, match="'is_causal' twice"):
        heuristics.attention(*sizes, is_causal=True, causal=False, target="cpu")


@pytest.mark.parametrize(
    ("call", "text", "hint"),
    [
        (lambda: heuristics.attention(1, 2, 2, 8, 8, 64, causl=True), "attention.. .*'causl'", "'is_causal'"),
        (lambda: heuristics.gemm(4, 4, 4, out_type="float32"), "gemm.. .*'out_type'", "'out_dtype'"),
        (lambda: heuristics.gemm(4, 4), "gemm.. missing 1 .*'K'", None),
    ],
)
def test_arguments_that_the_function_does_not_take_are_refused_with_its_signature(call, text, hint):
    with pytest.raises(TypeError, match=text) as caught:
        call()
    assert caught.value.expected.startswith(("attention(batch, heads,", "gemm(M, N, K, dtype='float16',"))
    assert caught.value.location.file == __file__
    assert caught.value.hint == (hint and f"did you mean {hint}?")


@needs_cuda
def test_heads_that_no_tile_holds_are_refused():
    with pytest.raises(LimitError, match="no tiles for heads of 4096 and 4096 fit"):
        heuristics.attention(1, 1, 1, 64, 64, 4096, target=HOPPER)


def test_an_unknown_target_is_refused():
    with pytest.raises(TargetError):
        heuristics.gemm(4, 4, 4, target="no-such-chip")


def test_an_element_type_that_the_target_lacks_is_refused():
    chip = replace(chip_of("cpu"), dtypes=frozenset({"float32"}))
    assert element_type(torch.float32, chip) == "float32"
    with pytest.raises(ArgumentError, match=r"the target cpu .* has no float16") as caught:
        element_type("float16", chip)
    assert len(caught.value.message) < 80, "not the whole text of the target"
    assert "float16 unless given" in caught.value.hint


def test_a_proposal_reads_as_text():
    proposals = heuristics.gemm(300, 200, 500, "float32", target="cpu", count=3)
    lines = heuristics.explain(proposals).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("1. ")
    assert "block_M=" in lines[0]
    assert "products" in lines[0]


def test_shared_memory_is_bounded_from_above():
    work = gemm_space.Work(256, 256, 256, "float16", "float16", "NN")
    assert gemm_space.shared_bytes(work, 128, 256, 64, 4) > 4 * (128 + 256) * 64 * 2
    decoding = attention_space.Work(1, 8, 1, 1, 500, 64, 64, False, "float16")
    assert decoding.is_decoding
    assert decoding.group == 8


@needs_cuda
@pytest.mark.parametrize("size", [512, 1024, 2048, 4096])
def test_products_of_threads(size):
    """float32 by multiply-adds: tiles that threads share evenly, few slots, large tiles for large products."""
    proposals = heuristics.gemm(size, size, size, "float32", target=HOPPER)
    for c in (proposal.config for proposal in proposals):
        assert c["block_N"] & (c["block_N"] - 1) == 0
        assert (c["block_K"], c["stages"] <= gemm_space.MOST_STAGES_OF_THREADS) == (32, True)
    sums = proposals[0].config["block_M"] * proposals[0].config["block_N"] // proposals[0].config["threads"]
    assert (sums == 128) == (size >= 2048), "of a thread: the most where all multiprocessors have work"


@needs_cuda
def test_two_groups_of_threads_for_two_rows_of_instructions():
    """While one group waits for its products the other multiplies (docs/notes/heuristics.md)."""
    proposals = heuristics.gemm(512, 3584, 3584, "bfloat16", layout="NT", target=HOPPER)
    square = [p.config["threads"] for p in proposals if (p.config["block_M"], p.config["block_N"]) == (128, 128)]
    assert square[0] == 256


@needs_cuda
@pytest.mark.parametrize(
    ("sizes", "multiprocessors", "divided"),
    [
        ((8192, 8192, 8192), 132, 68),  # half of the last of 16 rounds idles
        ((4096, 4096, 4096), 132, 0),  # 116 tiles of the last of 4 rounds: to add their parts costs more
        ((8192, 8192, 8192), 128, 0),  # whole rounds
        ((8192, 8192, 8192), 64, 0),
        ((8192, 8192, 8192), 114, 0),  # 110 tiles in the last round
    ],
)
def test_the_last_round_is_divided_where_it_wins(sizes, multiprocessors, divided):
    target = f"{HOPPER} -multiprocessors={multiprocessors}"
    best, plain = (heuristics.gemm(*sizes, target=target, stream_k=asked)[0] for asked in (True, False))
    assert "stream_k" not in plain.config
    assert best.config["stream_k"] == (multiprocessors if divided else 0)
    if divided:
        assert best.milliseconds <= 0.99 * plain.milliseconds
        assert f"the last {divided} of them divided along K" in best.reason
    else:
        assert best.milliseconds == plain.milliseconds


@pytest.mark.parametrize("target", [target for target in TARGETS if target != HOPPER])
def test_other_chips_divide_no_round(target):
    """Whose compilers do not load a block's next tile while it stores its result."""
    proposals = heuristics.gemm(4096, 4096, 4096, dtype_for(target), target=target, stream_k=True)
    assert {proposal.config["stream_k"] for proposal in proposals} == {0}


@needs_cuda
def test_parts_of_the_last_round_are_those_of_the_example():
    """The model counts the parts that examples/gemm.py writes."""
    chip, module = chip_of(f"{HOPPER} -multiprocessors=5"), example("gemm")
    for sizes in ((150, 200, 500), (1000, 700, 4000), (333, 100, 257)):
        work = gemm_space.Work(*sizes, "float16", "float16", "NN")
        tiling = gemm_space.streamed(work, gemm_space.Tiling(64, 64, 32, 3, 128, 1, 1), chip)
        func = module.gemm(*sizes, block_M=64, block_N=64, block_K=32, stream_k=tiling.stream_k)
        workspace = re.search(r"Part\S*.*?\((\d+), 64, 64\)", str(func.ir))
        assert workspace, func.ir
        assert int(workspace.group(1)) == gemm_space.rounds_of(work, tiling).parts


@pytest.mark.parametrize("value", ["yes", "no", 2, None, [True]])
def test_flags_are_flags(value):
    """A text would count as True."""
    with pytest.raises(ArgumentError, match="stream_k is a flag"):
        heuristics.gemm(64, 64, 64, target="cpu", stream_k=value)
    with pytest.raises(ArgumentError, match="is_causal is a flag"):
        heuristics.attention(1, 8, 8, 64, 64, 64, target="cpu", causal=value)


def test_flags_of_numpy():
    assert "stream_k" in heuristics.gemm(64, 64, 64, target="cpu", stream_k=np.bool_(True))[0].config
    assert "stream_k" not in heuristics.gemm(64, 64, 64, target="cpu", stream_k=0)[0].config


def test_an_unknown_element_type_is_named_once():
    with pytest.raises(ArgumentError, match="there is no element type 'flaot32'") as caught:
        heuristics.gemm(64, 64, 64, "flaot32", target="cpu")
    assert caught.value.found is None
    assert "float32" in caught.value.expected
    assert caught.value.hint == "did you mean 'float32'?"


def test_what_is_explained():
    proposals = heuristics.gemm(64, 64, 64, target="cpu", count=2)
    assert heuristics.explain(proposals[0]) == heuristics.explain(proposals).splitlines()[0]
    assert heuristics.explain(iter(proposals)) == heuristics.explain(proposals)
    for wrong in (None, "text", 3, [proposals[0].config]):
        with pytest.raises(ArgumentError, match="explain\\(\\) takes proposals"):
            heuristics.explain(wrong)
