"""Kernels use the extensions that the processor has, not those that LLVM knows its kind to have."""

from __future__ import annotations

import re

import pytest

import tilecore
import tilecore.language as T
from tilecore.backends.cpu import adapter, extensions, host_processor, systems, target, toolchain
from tilecore.backends.cpu.extensions import COMPANIONS, EXTENSIONS, extensions_in, not_there, not_to_use, vector_bits
from tilecore.backends.cpu.processors import AARCH64_PROCESSORS, PROCESSORS
from tilecore.backends.cpu.wrapper import wrap
from tilecore.ir.nodes import tvm, tvm_ffi
from tilecore.target import Target

BASE = "bmi1 bmi2 abm movbe popcnt avx2 fma f16c"
WIDE = f"{BASE} avx512f avx512cd avx512bw avx512dq avx512vl"
MASKED = {  # flags of virtual machines of a Zen 4, and the vector bits that they have
    "all": (f"{WIDE} avx512vbmi avx512_vbmi2 avx512_bitalg avx512_vpopcntdq avx512_bf16 avx512_vnni gfni", 512),
    "no AVX-512": (f"{BASE} gfni", 256),
    "no AVX-512 and no GFNI": (BASE, 256),
    "no extensions of AVX-512": (WIDE, 512),
    "no AVX-512CD": (WIDE.replace("avx512cd", ""), 256),
    "no AVX512BW": (f"{WIDE} avx512vbmi avx512_vbmi2 avx512_bitalg avx512_bf16".replace("avx512bw", ""), 512),
    "AVX-512 and no FMA": (WIDE.replace("fma", ""), 256),
    "no BMI2": (WIDE.replace("bmi2", ""), 128),
    "nothing": ("", 128),
}
# what instructions of an extension look like: registers of 512 bits and masks, GFNI, shifts of BMI2
FORBIDDEN = {
    "avx512f": r"%zmm|%k[1-7]",
    "gfni": r"gf2p8",
    "avx512bitalg": r"vpopcnt[bw]",
    "avx512vpopcntdq": r"vpopcnt[dq]",
    "avx2": r"%ymm|\b(shlx|shrx|sarx)",
    "avx512bw": r"vmovdqu8|vpmovwb",
    "fma": r"vfn?m(add|sub)",
}


def on(monkeypatch, flags, name="znver4"):
    """The target of a machine with these flags of /proc/cpuinfo, which LLVM takes for ``name``."""
    fields = {"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "17", "flags": flags}
    monkeypatch.setattr(host_processor, "fields", lambda: fields)
    monkeypatch.setattr(systems, "host_machine", lambda: systems.X86_64)
    monkeypatch.setattr(tvm.target.codegen, "llvm_get_system_cpu", lambda: name)
    return target.resolve(Target("cpu", {}))


def used_by_llvm(options):
    """Of the extensions that change the code, those that LLVM uses for these options."""
    return extensions.known().intersection(
        map(str, tvm.target.codegen.llvm_get_cpu_features(tvm.target.Target(options)))
    )


@pytest.mark.parametrize("flags", MASKED)
@pytest.mark.parametrize("name", ["znver4", "znver1", "haswell", "sapphirerapids", "x86-64"])
def test_llvm_uses_what_the_machine_has(flags, name, monkeypatch):
    text, bits = MASKED[flags]
    resolved = on(monkeypatch, text, name)
    features = {f for f in str(resolved.get("features")).split(",") if f}
    assert resolved.get("vector_bits") == bits == vector_bits(features)
    used = used_by_llvm(toolchain.llvm_target(resolved))
    implied = used_by_llvm(
        {"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mattr": [f"+{f}" for f in features] or ["+sse2"]}
    )
    companions = {other for feature in features for other in COMPANIONS.get(feature, ())}
    brought = companions & used_by_llvm({"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": name})
    assert features | brought <= used <= implied | companions


@pytest.mark.parametrize("flags", MASKED)
def test_the_code_has_no_instruction_that_the_machine_lacks(flags, monkeypatch):
    resolved = on(monkeypatch, MASKED[flags][0])
    features = set(str(resolved.get("features")).split(","))
    text = assembly(bits_and_sums, resolved)
    for extension, instructions in FORBIDDEN.items():
        assert extension in features or not re.search(instructions, text), extension
    if flags in ("all", "no extensions of AVX-512"):
        assert "%zmm" in text


@T.prim_func
def bits_and_sums(A: T.Tensor((4096,), "uint8"), B: T.Tensor((4096,), "int32"), C: T.Tensor((4096,), "float32")):
    with T.Kernel(16, threads=128) as block:
        for i in T.Parallel(256):
            A[block * 256 + i] = (A[block * 256 + i] >> 3) + T.popcount(A[block * 256 + i])
        for i in T.Parallel(256):
            B[block * 256 + i] = T.popcount(B[block * 256 + i]) + T.clz(B[block * 256 + i])
        for i in T.Parallel(256):
            C[block * 256 + i] = C[block * 256 + i] * 2.0 + T.if_then_else(C[block * 256 + i] > 0, 1.0, 2.0)


def assembly(function, resolved):
    """What LLVM makes of a kernel, as text."""
    source = tilecore.lower(function, target=resolved).kernel_source
    options = tvm.target.Target(toolchain.llvm_target(resolved))
    symbols = re.findall(r"^define void @(\w+)\(ptr noalias %slots", source, re.MULTILINE)
    assert symbols
    module = tvm_ffi.get_global_func("target.build.llvm")(wrap(source, symbols, options), options)
    return module.inspect_source("asm")


def test_what_llvm_enables_with_an_extension_is_there():
    flag_of = {name: flag for flag, (name, _) in EXTENSIONS.items()}
    everything = " ".join(
        [*EXTENSIONS, *(extensions._FLAG_OF_COMPANION.get(n, n) for c in COMPANIONS.values() for n in c)]
    )
    assert extensions_in(everything) == frozenset(flag_of)
    for flag in EXTENSIONS:
        features = extensions_in(" ".join(word for word in everything.split() if word != flag))
        options = {"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mattr": [f"+{f}" for f in features]}
        assert not used_by_llvm(options) & flag_of.keys() - features, flag


def test_extensions_of_a_processor_that_are_not_named_are_disabled():
    assert not_to_use(["avx512fp16", "avx2", "bmi2", "fast-lzcnt", "cmov"], ["avx2"]) == ["avx512fp16"]
    assert not_to_use(["avx2", "bmi2", "lzcnt"], []) == ["avx2", "bmi2", "lzcnt"]


@pytest.mark.parametrize("name", [n for n in PROCESSORS if n not in AARCH64_PROCESSORS and n != "generic"])
def test_named_processors_have_companions(name):
    """A kernel for a processor by its name runs on a machine of that kind."""
    brought = used_by_llvm({"kind": "llvm", "mcpu": name})
    flag_of = {other: flag for flag, (other, _) in EXTENSIONS.items()} | extensions._FLAG_OF_COMPANION
    assert {*PROCESSORS[name]} <= extensions_in(" ".join(flag_of.get(other, other) for other in brought)) | {"sse2"}


def test_aarch64_uses_what_the_system_lists():
    brought = tvm.target.codegen.llvm_get_cpu_features(
        tvm.target.Target({"kind": "llvm", "mcpu": "neoverse-v1", "mtriple": "aarch64-linux-gnu"})
    )
    used = {str(name) for name in brought}
    everything = "fp asimd aes sha2 crc32 atomics fphp asimdhp asimdrdm jscvt fcma lrcpc asimddp sha3 sm4 asimdfhm"
    assert not_there(used, f"{everything} uscat ilrcpc sve i8mm bf16") == []
    assert not_there(used, f"{everything} uscat ilrcpc i8mm bf16") == ["sve"]
    assert {"sve", "lse", "dotprod"} <= set(not_there(used, "fp asimd"))


def test_native_kernels_of_another_aarch64_processor_are_refused(monkeypatch):
    monkeypatch.setattr(systems, "host_machine", lambda: systems.AARCH64)
    monkeypatch.setattr(adapter, "this_machine", lambda: "linux-aarch64")
    arm = {"CPU implementer": "0x41", "CPU part": "0xd40", "Features": "fp asimd sve"}
    monkeypatch.setattr(host_processor, "fields", lambda: arm)
    native = adapter.NativeAdapter()
    here = Target("cpu", {"march": "native", "system": "linux", "model": target.host_model(), "features": ""})
    other = Target("cpu", {**here.attributes, "model": "0x41-0xd0c"})
    assert target.host_model() == "0x41-0xd40"
    assert native.available(here).detail != native.available(other).detail
    assert "-march=native of 0x41-0xd0c" in native.available(other).detail
    assert native.fit(here, here)
    assert not native.fit(other, here)


def test_native_kernels_run_on_processors_with_more(monkeypatch):
    """Their target names all that they use."""
    made_on, elsewhere = (
        Target("cpu", {"march": "native", "system": "linux", "model": model, "features": features})
        for model, features in [("A", "avx2,fma"), ("B", "avx2,avx512f,f16c,fma")]
    )
    monkeypatch.setattr(systems, "host_machine", lambda: systems.X86_64)
    fit = adapter.NativeAdapter().fit
    assert 0 < fit(made_on, elsewhere) < fit(elsewhere, elsewhere)
    assert not fit(elsewhere, made_on)
