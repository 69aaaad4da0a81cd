"""The functions behind TileLang's module names: targets, source callbacks, the analyzer, pictures, facts of buffers."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import tilecore as tilelang
import tilecore.language as T
from tilecore.errors import ArgumentError, LanguageError, TargetError


def test_determine_target():
    determine = tilelang.backend.target.determine_target
    target = determine("c", return_object=True)
    assert target == tilelang.Target.parse(determine("cpu"))
    assert target.kind == "cpu"
    assert target.get("vector_bits")
    assert determine(target, return_object=True) == target
    assert tilelang.utils.determine_target is determine
    with pytest.raises(TargetError):
        determine("nothing_such")
    with pytest.raises(ValueError):
        determine({"arch": "x"})


@tilelang.jit(target="cpu", out_idx=-1)
def doubled(rows):
    @T.prim_func
    def kernel(A: T.Tensor((rows,), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=1):
            for i in T.Parallel(rows):
                B[i] = A[i] * 2.5

    return kernel


def test_a_source_callback_changes_what_is_built_and_is_a_part_of_the_key():
    from tilecore.codegen.source_callbacks import remove_postproc

    callback = tilelang.engine.callback
    ones = np.ones(8, "float32")
    seen = []
    assert (doubled(8)(ones) == 2.5).all()

    @callback.register_postproc_callback("cpu")
    def changed(source, target):
        seen.append(target.kind)
        return source.replace("2.5", "3.5").replace("0x4004000000000000", "0x400C000000000000")

    try:
        kernel = tilelang.compile(doubled.get_tir(8), -1, target="cpu")
        assert (np.asarray(kernel(ones)) == 3.5).all()
        assert seen == ["cpu"]
        with ProcessPoolExecutor(1) as executor, pytest.warns(UserWarning, match="compiling here"):
            (other,) = tilelang.par_compile([doubled.get_tir(9)], -1, target="cpu", executor=executor)
        assert (np.asarray(other(np.ones(9, "float32"))) == 3.5).all()
        with pytest.raises(ArgumentError, match="has a source callback already"):
            callback.register_postproc("cpu", changed, override=False)
        callback.register_postproc("cpu", lambda source, target: "")
        with pytest.raises(ArgumentError, match="returned no source"):
            tilelang.compile(doubled.get_tir(8), -1, target="cpu")
    finally:
        remove_postproc("cpu")
    assert (np.asarray(tilelang.compile(doubled.get_tir(8), -1, target="cpu")(ones)) == 2.5).all()


def test_a_supply_of_tensors():
    supply = tilelang.utils.tensor.get_tensor_supply(tilelang.TensorSupplyType.One)
    kernel = doubled(5)
    tensor = np.asarray(supply(kernel.params[0]))
    assert tensor.shape == (5,)
    assert tensor.dtype == np.float32
    assert (tensor == 1).all()


def product(M, N, K):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(N // 32, M // 16, threads=32) as (bx, by):
            A_shared = T.alloc_shared((16, 64), "float16")
            B_shared = T.alloc_shared((64, 32), "float16")
            C_local = T.alloc_fragment((16, 32), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // 64, num_stages=2):
                T.copy(A[by * 16, k * 64], A_shared)
                T.copy(B[k * 64, bx * 32], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 16, bx * 32])

    return kernel


def test_the_analyzer_counts_operations_and_bytes():
    device = tilelang.carver.arch.get_arch("cpu")
    assert tilelang.carver.arch.is_cpu_arch(device)
    assert device.compute_max_core >= 1
    result = tilelang.tools.Analyzer.analysis(product(64, 96, 128), device)
    blocks = (96 // 32) * (64 // 16)
    assert result.total_flops == 2 * 64 * 96 * 128
    assert result.total_global_bytes == blocks * (2 * (16 * 64 + 64 * 32) * 2 + 16 * 32 * 4)
    assert result.estimated_time is None
    device.bandwidth = [0, 2000]  # MB/s
    result = tilelang.tools.Analyzer.analysis(product(64, 96, 128), device)
    assert result.estimated_time == pytest.approx(result.total_global_bytes / 2e9)


def test_a_layout_is_drawn(tmp_path):
    fragment = T.Fragment((4, 4), forward_thread_fn=lambda i, j: i * 2 + j // 2, forward_index_fn=lambda i, j: j % 2)
    tilelang.tools.plot_layout(fragment, tmp_path, "parts", formats=["svg", "txt"])
    assert (tmp_path / "parts.svg").read_text().startswith("<svg")
    table = (tmp_path / "parts.txt").read_text()
    assert "2.0 2.1 3.0 3.1" in table
    assert "6.0 6.1 7.0 7.1" in table
    with pytest.warns(UserWarning, match="drawn as SVG"):
        tilelang.tools.plot_layout(T.Layout((2, 2), lambda i, j: [j, i]), tmp_path, "turned", formats="pdf")
    assert "[1, 0]: bank 1" in (tmp_path / "turned.svg").read_text()
    with pytest.raises(ArgumentError, match="cannot be drawn as 'gif'"):
        tilelang.tools.plot_layout(fragment, tmp_path, formats="gif")


def test_facts_of_buffers():
    facts = tilelang.utils.language
    found = {}

    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float16")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((4, 16), "int8")
            part = T.alloc_fragment((4,), "float32")
            found["global"] = facts.is_global(A), facts.is_global(tile), facts.is_global(A[0:4, :])
            found["shared"] = facts.is_shared(tile), facts.is_shared(part)
            found["fragment"] = facts.is_fragment(part), facts.is_fragment(A), facts.is_local(part)
            found["shape"] = facts.retrieve_shape(A[2:6, 0:16]), facts.retrieve_shape(tile)
            found["rest"] = facts.retrieve_stride(A), facts.retrieve_dtype(tile), facts.get_buffer_elems(A[0, 0])
            T.clear(tile)
            T.clear(part)

    assert found["global"] == (True, False, True)
    assert found["shared"] == (True, False)
    assert found["fragment"] == (True, False, False)
    assert found["shape"] == ([4, 16], [4, 16])
    assert found["rest"] == ([16, 1], "int8", 128)
    assert facts.bits_product([4, 8], "int4") == 128
    assert facts.get_prim_func_name(kernel) == "kernel"
    assert facts.prim_expr_equal(3, 3)
    assert not facts.prim_expr_equal(3, 4)


def test_types_of_8_bits(monkeypatch):
    monkeypatch.setenv("TILECORE_TARGET", "cpu")
    assert tilelang.language.fp8.determine_fp8_type() == "float8_e4m3fn"
    with pytest.raises(LanguageError, match="there is no 8-bit float format 'e3m4'"):
        tilelang.language.fp8.determine_fp8_type("e3m4")
    torch = pytest.importorskip("torch")
    assert tilelang.language.fp8.determine_torch_fp8_type("e5m2") is torch.float8_e5m2
    tensor = torch.tensor([-0.0, 1.0, -2.0]).to(torch.float8_e4m3fn)
    assert tilelang.utils.tensor.is_float8_dtype(tensor.dtype)
    fixed = tilelang.utils.tensor.fp8_remove_negative_zeros_(tensor)
    assert fixed is tensor
    assert fixed.view(torch.uint8)[0] == 0
    assert fixed.float().tolist() == [0.0, 1.0, -2.0]
