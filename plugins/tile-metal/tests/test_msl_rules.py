"""The rules of text for emitted Metal Shading Language: what breaks each of them, and what does not."""

from __future__ import annotations

import pytest
from tile_metal import rules

import tilecore
import tilecore.language as T
from tilecore.errors import ToolchainError

GOOD = """#include "tilecore_metal.h"

TC_FN float half_of(thread const float& value) { return 0.5f * value; }  // a double is "no type" here
[[kernel, max_total_threads_per_threadgroup(128)]] void k(device const half* A [[buffer(0)]],
    device float* __restrict C [[buffer(1)]], constant int& n [[buffer(2)]], device long* L [[buffer(3)]],
    uint3 tc_block [[threadgroup_position_in_grid]], uint3 tc_thread [[thread_position_in_threadgroup]]) {
  const int tx = tc_thread.x;
  threadgroup metal::atomic_uint tc_votes;
  alignas(16) threadgroup uchar shared[512];
  threadgroup half* tile = (threadgroup half*)(shared + 0);
  device tc_aliased<uint>::type* words = (device tc_aliased<uint>::type*)C;
  float sum = 1e-05f * (float)A[tx] + 1.5e10f - (float)(tx & n) * 3.0f;
  if (tx > 3 && n > 2) tile[tx] = (half)(0x7fffffff & n);
  tc_atomic_add(C + 3, half_of(sum));
  L[tx] = 5l * (long)(n & -n) & 0x7ffffffffffffffful;
  tc_print(tc_messages, 1u, "1.5 double int* p goto", (long)n);
}
"""
HEAD = "[[kernel, max_total_threads_per_threadgroup(128)]] void k("
LINES = {  # in place of a line of GOOD, or after it: what is said of it
    "  double d = 1.0f;": "no 'double'",
    "  long long d = 1l;": "no type 'long long'",
    "  goto end;": "no 'goto'",
    '  asm("trap");': "no 'asm'",
    "  __syncthreads();": "no '__syncthreads'",
    "  int i = threadIdx.x;": "no 'threadIdx'",
    "  float f = sum * 0.5;": "0.5 has no suffix",
    "  float f = sum * 1e-3;": "1e-3 has no suffix",
    "  float f = 0x1.8p3f;": "hexadecimal float",
    "  long i = 5ll;": "suffix that the language has not",
    "  float* p = 0;": "a pointer to float with no address space",
    "  own[0] = *(float4*)(C + 4);": "a pointer to float4 with no address space",
    "  int& i = tx;": "a reference to int with no address space",
    "  tile[0] = *(threadgroup device half*)tile;": "several address spaces",
    "  bfloat b = (bfloat)1.0f;\n  sum = (float)(b * A[0]);": "mixes half and bfloat",
    "  metal::atomic_load_explicit(p, metal::memory_order_acquire);": "memory_order_relaxed alone",
    "  metal::atomic_fetch_add_explicit((device metal::atomic_ulong*)L, 1ul, metal::memory_order_relaxed);": "64 bits",
    "  tc_atomic_add(&L[3], 5l);": "no atomic operations of 64 bits",
    "  tc_atomic_exchange(L + tx, 5l);": "no atomic operations of 64 bits",
    "    threadgroup uchar more[16];": "threadgroup memory in a block",
    "  alignas(16) threadgroup uchar more[32768];": "of at most 32768",
    "#include <vector>": "a header that Metal has not",
    '#include "other.h"': "no system header",
}
OLD = {  # what a version before does not have
    "  bfloat b = (bfloat)1.0f;": (300, "bfloat needs MSL 3.1"),
    "  tc_fence_device();": (310, "a fence needs MSL 3.2"),
    "  tc_atomic_add(C, 1.0f, tc_release);": (310, "needs MSL 3.2"),
    "  auto f = [&](int i) { return i; };": (310, "a lambda expression needs MSL 3.2"),
}
HEADS = {
    f"{HEAD}device float* C [[buffer(1)]])": "not numbered from 0",
    f"{HEAD}device float* C [[buffer(0)]], constant int& n [[buffer(0)]])": "not numbered from 0",
    f"{HEAD}device float* C)": "a parameter without a buffer",
    f"{HEAD}device float* C [[buffer(0)]], int n)": "a parameter without an attribute",
    f"{HEAD}{', '.join(f'device int* a{i} [[buffer({i})]]' for i in range(32))})": "32 buffers, of at most 31",
    "[[kernel]] void k(device float* C [[buffer(0)]])": "without a bound",
    "[[kernel, max_total_threads_per_threadgroup(32)]] void k(device float* C [[buffer(0)]])": "32 threads, not 64",
    "[[kernel, max_total_threads_per_threadgroup(2048)]] void k(device float* C [[buffer(0)]])": "2048 threads",
}


def said(source: str, msl: int = 400) -> list[str]:
    return [problem.text for problem in rules.problems(source, msl)]


def test_what_keeps_the_rules():
    assert rules.problems(GOOD, 300) == []
    fence = "  metal::atomic_thread_fence(metal::mem_flags::mem_device, metal::memory_order_seq_cst);\n}\n"
    assert said(GOOD[:-2] + fence, 320) == []
    coherent = GOOD.replace("device float*", "coherent(device) device float*")
    assert said(coherent, 320) == []
    assert said(coherent, 310) == ["coherent device memory needs MSL 3.2"]


@pytest.mark.parametrize("line", LINES)
def test_what_breaks_a_rule(line):
    lines = GOOD.splitlines()
    lines.insert(len(lines) - 1, line)
    found = rules.problems("\n".join(lines) + "\n", 400)
    assert any(LINES[line] in problem.text for problem in found), found
    assert all(problem.line >= len(GOOD.splitlines()) or "32768" in problem.text for problem in found), found


@pytest.mark.parametrize("line", OLD)
def test_versions(line):
    version, message = OLD[line]
    lines = GOOD.splitlines()
    lines.insert(len(lines) - 1, line)
    source = "\n".join(lines)
    assert any(message in text for text in said(source, version))
    assert not any("needs MSL" in text for text in said(source, 320))


@pytest.mark.parametrize("head", HEADS)
def test_heads_of_kernels(head):
    assert any(HEADS[head] in text for text in said(f"{head} {{\n}}\n"))


def test_outside_of_kernels():
    assert said("float table[4] = {1.0f};\n" + GOOD) == ["a variable outside of functions that is not constant"]
    assert said("constant float table[4] = {1.0f};\n" + GOOD) == []
    assert said("TC_FN int f(int n) { return n < 2 ? 1 : n * f(n - 1); }\n" + GOOD) == ["f calls itself"]
    plain = "TC_FN void g(int* p) { p[0] = 1; }\n"
    assert said(plain + GOOD) == ["a pointer to int with no address space"]
    template = "template <typename P> TC_FN void g(P p) { p[0] = 1; }\n"
    assert said(f"#ifdef TC_SPACES\n{template}#else\n{plain}#endif\n" + GOOD) == []


@T.prim_func
def calls_a_function(A: T.Tensor((64,), "int32")):
    with T.Kernel(1, threads=64):
        T.import_source("TC_FN void g(int* p) { p[0] = 1; }")
        T.call_extern("handle", "g", T.access_ptr(A, "w"))


def test_the_check_of_a_compilation(monkeypatch, tmp_path):
    """It is asked for, and names the line and what to do."""
    monkeypatch.setenv("TILECORE_CHECK", "1")
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))  # what is in the cache is not compiled
    with pytest.raises(ToolchainError) as caught:
        tilecore.compile(calls_a_function, target="metal", execution_backend="sim")
    message = str(caught.value)
    assert "line 3, a pointer to int with no address space: TC_FN void g(int* p)" in message
    assert "parameter of a template" in message.replace("\n", " ")
    monkeypatch.setenv("TILECORE_CHECK", "0")
    tilecore.compile(calls_a_function, target="metal", execution_backend="sim")
