"""Whole kernels by examples/emitters/wgsl.py, whose language is not of C's family: of that language's grammar."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from wgsl_grammar import Grammar

import tilecore
import tilecore.language as T
from tilecore.codegen.c_source import emit_module
from tilecore.codegen.registration import register_codegen
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Capabilities, Codegen, Lowering
from tilecore.errors import UnsupportedError
from tilecore.plugins import manager
from tilecore.target_report.files import module_of
from tilecore.testing import null_backend

EXAMPLE = module_of(Path(__file__).parents[3] / "examples" / "emitters" / "wgsl.py")
FUNCTION = null_backend.FUNCTION
SCOPES = ("global", "shared", "shared.dyn", "local", "local.fragment", "local.var")
TILE_OPS = "copy transpose gemm fill reduce scan atomic atomic_element finalize_reducer sync_threads allreduce assume"


def build(module, target):
    return emit_module(module, EXAMPLE.DIALECT, EXAMPLE.WgslEmitter).text


@hookimpl
def tilecore_target():
    capabilities = Capabilities(
        dtypes=frozenset(EXAMPLE.TYPES),
        scopes=frozenset(SCOPES),
        tile_ops=frozenset(TILE_OPS.split()),
        max_threads=256,
        shared_bytes=16384,
        features=frozenset({"atomics", "dynamic_shapes"}),
    )
    return replace(null_backend.tilecore_target(), capabilities=lambda target: capabilities)


@hookimpl
def tilecore_lowering():
    return Lowering(family="simt")


@hookimpl
def tilecore_codegen():
    return Codegen(function=FUNCTION, emits="wgsl", register=lambda: register_codegen(FUNCTION, build))


@pytest.fixture(scope="module", autouse=True)
def backend():
    hooks = {"tilecore_target": tilecore_target, "tilecore_lowering": tilecore_lowering}
    plugin = SimpleNamespace(**{**vars(null_backend), **hooks, "tilecore_codegen": tilecore_codegen})
    with manager.register(plugin, package="tile-wgsl"):
        yield
    null_backend.register_emit()


def emitted(func) -> str:
    """The source of a kernel, which is of the language's grammar."""
    text = tilecore.lower(func, target="null").kernel_source
    grammar = Grammar(text)
    grammar.module()
    assert len(set(grammar.declared)) == len(grammar.declared), "two declarations of one name at module scope"
    code = re.sub(r"//.*", "", text)
    assert not re.search(r"\((float|int|unsigned|bool)\b[^)]*\)", code), "a cast in C's form"
    assert not re.search(r"\b(float|int|unsigned|double|void|const|tc_\w+|__\w+)\b", code), "a word of C's"
    assert not re.search(r"\w\s*\*\s*[,)=]|->|\?", code), "a pointer or a choice in C's form"
    assert all("atomic" in line for line in code.splitlines() if re.search(r"[(,]\s*&", line)), "an address"
    return text


def test_elementwise():
    @T.prim_func
    def scaled(X: T.Tensor((1024,), "float32"), N: T.Tensor((1024,), "int32"), Y: T.Tensor((1024,), "float32")):
        with T.Kernel(4, threads=64) as bx:
            for i in T.Parallel(256):
                x = X[bx * 256 + i]
                whole = T.cast(T.exp(x) * 3, "int32") + (N[bx * 256 + i] << 2)
                Y[bx * 256 + i] = T.if_then_else(x > 0.5, T.cast(whole, "float32"), T.reinterpret(whole, "float32"))

    text = emitted(scaled)
    assert "@group(0) @binding(0) var<storage, read> X : array<f32>;" in text
    assert "@group(0) @binding(2) var<storage, read_write> Y : array<f32>;" in text
    assert "@compute @workgroup_size(64, 1, 1)\nfn scaled_kernel(@builtin(workgroup_id) block : vec3<u32>" in text
    assert "let bx : i32 = i32(block.x);" in text
    assert "select(" in text
    assert "bitcast<f32>(" in text


def test_a_reduction_through_shared_memory():
    @T.prim_func
    def row_sums(X: T.Tensor((8, 1024), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(8, threads=64) as row:
            tile = T.alloc_fragment((1, 1024), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], tile)
            T.reduce_sum(tile, total, dim=1)
            T.copy(total, Y[row])

    text = emitted(row_sums)
    assert re.search(r"^var<workgroup> \w+ : array<f32, \d+>;", text, re.MULTILINE)
    assert "var tile : array<f32, 16>;" in text
    assert "workgroupBarrier();" in text
    assert re.search(r"for \(var \w+ = 0; \w+ < \d+; \w+\+\+\) \{", text)


def test_the_elements_of_a_tiled_matrix_product():
    @T.prim_func
    def product(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 2, threads=64) as (bx, by):
            a = T.alloc_shared((32, 16), "float32")
            b = T.alloc_shared((16, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 32, k * 16], a)
                T.copy(B[k * 16, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 32, bx * 32])

    text = emitted(product)
    assert len(re.findall(r"^var<workgroup> ", text, re.MULTILINE)) == 2
    assert re.search(r"= fma\(", text)


def test_control_flow_sizes_and_atomics():
    n = T.dynamic("n")

    @T.prim_func
    def counts(X: T.Tensor((n,), "int32"), Counts: T.Tensor((16,), "int32"), limit: T.int32):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            tx = T.get_thread_binding(0)
            if bx * 64 + tx < n:
                left = T.alloc_var("int32")
                left = X[bx * 64 + tx]
                while left > limit:
                    left = left // 3
                    if left % 5 == 1:
                        break
                    elif left == 7:
                        left = left - 2
                    else:
                        left = left ^ 1
                T.atomic_add(Counts[left & 15], 1)

    text = emitted(counts)
    assert "struct Of_limit { value : i32, }" in text
    assert "var<uniform> limit : Of_limit;" in text
    assert "atomicAdd(&Counts[" in text
    assert "array<atomic<i32>>" in text
    assert "} else if (" in text


def test_several_kernels_of_one_module_declare_different_names():
    @T.prim_func
    def twice(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                Y[i] = X[i] * 2
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                Y[i] = Y[i] + 1

    text = emitted(twice)
    assert "X : array<f32>" in text
    assert "X_1 : array<f32>" in text or "X_ : array<f32>" in text


def test_the_users_line_is_named_where_the_language_has_no_form():
    @T.prim_func
    def halves(X: T.Tensor((64,), "uint32"), Y: T.Tensor((64,), "uint32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                Y[i] = T.clz(T.cast(X[i], "uint8"))

    with pytest.raises(UnsupportedError) as caught:
        emitted(halves)
    assert caught.value.location is not None
