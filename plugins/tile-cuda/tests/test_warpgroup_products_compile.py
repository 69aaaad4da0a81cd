"""The header's functions for sm_90a compile to the instructions that they are named after."""

from __future__ import annotations

import re
import subprocess

import pytest
from test_header import SOURCES, compiler
from tile_cuda import nvcc, nvrtc, toolchain
from warpgroup_products import Product, compiled_kernel, sizes_of, types


def source_of(products: list[Product]) -> str:
    return '#include "tilecore_cuda.h"\n' + "\n".join(map(compiled_kernel, products))


@pytest.mark.parametrize("kind", [*types()], ids="_".join)
def test_every_size_compiles(kind):
    a, b, c = kind
    products = [Product(n, a, b, c) for n in sizes_of(c)]
    binary, messages = compiler(nvrtc, "sm_90a").compile(
        source_of(products), toolchain.headers(), ["--gpu-architecture=sm_90a", "--std=c++17"]
    )
    assert binary is not None, messages[:3000]


def ptx_of(source: str, folder) -> str:
    """The PTX that nvcc generates."""
    path, ptx_path = folder / "kernel.cu", folder / "kernel.ptx"
    path.write_text(source)
    command = [str(compiler(nvcc, "sm_90a").path), "-ptx", "-arch=sm_90a", "-std=c++17", str(path), "-o", str(ptx_path)]
    ended = subprocess.run([*command, *(f"-I{p}" for p in toolchain.INCLUDE)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[:3000]
    return ptx_path.read_text()


def test_names_match_the_instruction(tmp_path):
    """The number of registers and of the operands after them is checked too."""
    products = [Product(n, *kind) for kind in types() for n in (8, 256)]
    text = ptx_of(source_of(products), tmp_path)
    calls = re.findall(r"wgmma\.mma_async\.sync\.aligned\.([\w.]+) \{([^}]*)\}, (.*?);", text, re.DOTALL)
    assert {shape for shape, _, _ in calls} == {f"m64n{p.n}k{p.k}.{p.c}.{p.a}.{p.b}" for p in products}
    for name, sums, rest in calls:
        shape, c, a, _ = name.split(".")
        n, a_in_registers = int(re.findall(r"\d+", shape)[1]), rest.startswith("{")
        assert sums.count("%") == n // (4 if c == "f16" else 2)
        assert not a_in_registers or rest.partition("}")[0].count("%") == 4
        turned = (1 if a_in_registers else 2) if a in ("f16", "bf16") else 0
        scales = 0 if a in ("s8", "u8") else 2
        assert rest.rpartition(" p")[2].count(",") == scales + turned, (name, rest)


FUNCTIONS = (
    "prefetch.tensormap", "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [",
    "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [",
    "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group", "cp.async.bulk.wait_group.read 1",
    "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group", "cp.async.bulk.wait_group 0",
    "barrier.cluster.arrive.release.aligned", "barrier.cluster.wait.acquire.aligned", "mapa.u64",
    "mbarrier.arrive.shared::cluster.b64 _, [", "setmaxnreg.inc.sync.aligned.u32 240",
    "setmaxnreg.dec.sync.aligned.u32 40", "wgmma.fence.sync.aligned", "wgmma.commit_group.sync.aligned",
    "wgmma.wait_group.sync.aligned 0",
)  # fmt: skip


def test_functions_are_their_instructions(tmp_path):
    text = ptx_of(SOURCES["every_hopper_function"], tmp_path)
    assert not [name for name in FUNCTIONS if name not in text]
    # tc_transaction_release_remote alone costs a fence of the whole device
    text = text.replace("fence.mbarrier_init.release.cluster", "")
    assert text.count("release.cluster") == text.count("mbarrier.arrive.release.cluster.shared::cluster.b64") == 1


def test_nothing_serializes_a_plain_loop():
    text = """#include "tilecore_cuda.h"
TC_WGMMA(128, 16, f16, f16, f32)
extern "C" __global__ void __launch_bounds__(128) loop(float* out, int steps) {
  TC_SHARED(shared);
  float d[64];
  for (int step = 0; step < steps; ++step) {
    tc_warpgroup_begin();
    for (int part = 0; part < 4; ++part)
      tc_wgmma_n128k16_f16_f16_f32<false, true>(d, tc_operand(shared + part * 32, 16, 1024, 1),
                                                tc_operand(shared + 8192 + part * 2048, 8192, 1024, 1), step | part);
    tc_warpgroup_commit();
    tc_warpgroup_wait<1>();
  }
  tc_warpgroup_wait<0>();
  tc_warpgroup_settle<64>(d);
  for (int i = 0; i < 64; ++i) out[i * 128 + threadIdx.x] = d[i];
}
"""
    options = ["-gencode=arch=compute_90a,code=sm_90a", "-std=c++17", "-Xptxas", "-v"]
    binary, messages = compiler(nvcc, "sm_90a").compile(text, toolchain.INCLUDE, options, "loop")
    assert binary is not None, messages[:3000]
    assert "C75" not in messages, messages
    assert "serialized" not in messages
    assert re.search(r"0 bytes spill stores", messages) or "spill" not in messages


@pytest.mark.parametrize("call", ["tc_wgmma_n8k32_e4m3_e4m3_f32<true, false>(d, 0, 0, true)",
                                  "tc_wgmma_held_n8k32_e4m3_e4m3_f32<true>(d, 0, 0, true)"])  # fmt: skip
def test_only_16_bit_tiles_turn(call):
    text = f"""#include "tilecore_cuda.h"
TC_WGMMA(8, 32, e4m3, e4m3, f32)
extern "C" __global__ void k(float* d) {{ {call}; }}
"""
    tool = compiler(nvrtc, "sm_90a")
    binary, messages = tool.compile(text, toolchain.headers(), ["--gpu-architecture=sm_90a", "--std=c++17"])
    assert binary is None
    assert "16-bit elements" in messages
