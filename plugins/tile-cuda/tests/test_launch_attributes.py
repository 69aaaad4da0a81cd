"""Launch attributes and tensor maps with the fake driver, through the compiled extension and through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import struct
from typing import Any

import numpy as np
import pytest
from cuda_artifacts import artifact
from tile_cuda import launch
from tile_cuda.adapter import DriverAdapter
from tile_cuda.driver import Driver
from tile_cuda.launch import host_code
from tile_cuda.launch.tensor_maps import DTYPES, TensorMap

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import Artifact, ScalarParam, Symbol, TensorParam
from tilecore.errors import LaunchError
from tilecore.jit.library import export_library
from tilecore.runtime import device_launch
from tilecore.runtime.call_plan import make_plan
from tilecore.runtime.launcher import Launcher


class HostTensors(DriverAdapter):
    """As the real one, for tensors in the host's memory."""

    device = 1


class CLibrary:
    """A kernel that was exported for programs in C, called with arrays and numbers."""

    def __init__(self, kernel, adapter, folder):
        export_library(kernel, adapter, 1, folder / "k.so", folder / "k.h")
        self.plan = make_plan(kernel, 1)
        library = ctypes.CDLL(str(folder / "k.so"))
        self.call, self.error = library[kernel.name], library[f"{kernel.name}_error"]
        self.error.restype = ctypes.c_char_p

    def __call__(self, *arguments):
        words = []
        for param, value in zip(self.plan.params, arguments, strict=True):
            if isinstance(param, TensorParam):
                words.append(ctypes.c_void_p(None if value is None else value.ctypes.data))
            else:
                words.append(ctypes.c_float(value) if param.dtype == "float32" else ctypes.c_int64(value))
        for symbol in self.plan.symbols:
            if symbol.kind == "shape":
                size = arguments[symbol.param].shape[symbol.axis]
                words.append(ctypes.c_int64((size - symbol.offset) // symbol.scale))
        if self.call(*words, None):
            raise LaunchError(self.error().decode())


@pytest.fixture(params=["built", "plain", "the core's built", "its own built", "in C"])
def run(request, monkeypatch, fake, tmp_path_factory):
    """``run(artifact, *arguments)``; the kernel is cached for later calls."""
    if request.param == "in C" and not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler")
    monkeypatch.setattr(host_code, "DRIVER", fake.path)
    if request.param in ("built", "its own built") and not launch.built()[0]:
        pytest.skip(launch.built()[1])
    if request.param in ("plain", "the core's built"):
        monkeypatch.setattr(launch, "_native", None)
    if request.param in ("plain", "its own built"):
        monkeypatch.setattr(device_launch, "_native", None)
    driver = Driver(fake.path)
    adapter = HostTensors("cython", lambda: driver)
    kernels: dict[int, Any] = {}

    def call(artifact_to_run, *arguments):
        if id(artifact_to_run) not in kernels:
            kernels[id(artifact_to_run)] = (
                CLibrary(artifact_to_run, adapter, tmp_path_factory.mktemp("library"))
                if request.param == "in C"
                else Launcher(artifact_to_run, adapter.load(artifact_to_run), adapter, 1)
            )
        sizes = [symbol for symbol in artifact_to_run.symbols if symbol.source[0] != "scalar"]
        fake.library.fake_slots_of(len(artifact_to_run.params) + len(sizes))
        return kernels[id(artifact_to_run)](*arguments)

    call.says = lambda words, in_c: in_c if request.param == "in C" else words
    call.in_c = request.param == "in C"
    return call


def with_attributes(size=64, **attributes):
    kernel = artifact(size=size, entry={"attributes": attributes})
    return Artifact.from_json(kernel.to_json(), kernel.source, kernel.binary)  # as it comes from the cache


def arrays(count=64):
    return np.zeros(count, np.float32), np.zeros(count, np.float32)


def test_nothing_extra_without_attributes(fake, run):
    run(artifact(), *arrays(), 1.0)
    assert not [line for line in fake.journal() if "window" in line or "of the launch" in line or "cluster" in line]


def test_a_window_that_stays_in_l2(fake, run):
    a, b = arrays()
    run(with_attributes(l2_window=[1, 8192, 0.5]), a, b, 1.0)
    assert f"window {b.ctypes.data:x} 8192 50 2" in fake.journal()
    assert "limit 6 8192" in fake.journal()


def test_a_larger_l2_set_aside_is_left_alone(fake, run):
    """The limit of the fake context is 4096 bytes."""
    run(with_attributes(l2_window=[0, 256, 1.0]), *arrays(), 1.0)
    assert not [line for line in fake.journal() if line.startswith("limit")]


def test_a_window_is_limited_to_the_device(fake, run):
    a, b = arrays()
    run(with_attributes(l2_window=[0, 10**9, 1.0]), a, b, 1.0)
    assert f"window {a.ctypes.data:x} {1 << 16} 100 2" in fake.journal()
    assert f"limit 6 {1 << 20}" in fake.journal()


def test_a_window_of_a_symbolic_size(fake, run):
    kernel = with_attributes("n", l2_window=[0, {"expr": ["*", "n", 4]}, 0.25])
    for count in (16, 40):
        a, b = arrays(count)
        run(kernel, a, b, 1.0)
        assert f"window {a.ctypes.data:x} {4 * count} 25 2" in fake.journal()
    assert f"limit 6 {1 << 20}" in fake.journal()


def test_programmatic_and_cooperative_launches(fake, run):
    run(with_attributes(programmatic=True, cooperative=True), *arrays(), 1.0)
    attribute_lines = [line for line in fake.journal() if line.endswith("of the launch")]
    assert attribute_lines == ["attribute 2 of the launch", "attribute 6 of the launch"]


def test_a_carveout(fake, run):
    run(with_attributes(carveout=75), *arrays(), 1.0)
    assert "attribute 9 = 75" in fake.journal()


def test_a_cluster_that_the_launch_must_pass(fake, run):
    run(with_attributes(cluster=[7, 1, 1]), *arrays(), 1.0)
    assert "cluster 7 1 1" in fake.journal()
    assert "attribute 14 = 1" not in fake.journal()


def test_a_cluster_that_the_code_defines(fake, run):
    fake.library.fake_cluster(7)
    run(with_attributes(cluster=[7, 1, 1]), *arrays(), 1.0)
    assert not [line for line in fake.journal() if line.startswith("cluster")]
    assert fake.library.fake_launches() == 1


def test_a_large_cluster_is_asked_for(fake, run):
    words = run.says(r"not a multiple of its clusters of \(16, 1, 1\) blocks", "no multiple of the cluster")
    with pytest.raises(LaunchError, match=words):
        run(with_attributes(cluster=[16, 1, 1]), *arrays(), 1.0)
    assert "attribute 14 = 1" in fake.journal()
    assert fake.library.fake_launches() == 0


def test_too_many_blocks_for_a_cooperative_launch(fake, run):
    fake.fail("cuLaunchKernel", 720)
    words = run.says("264 blocks of 128 threads run at once", "failed with error 720")
    with pytest.raises(LaunchError, match=words) as caught:
        run(with_attributes(cooperative=True), *arrays(), 1.0)
    assert run.in_c or "fewer blocks" in str(caught.value)


@pytest.mark.parametrize(("attributes", "needed"), [
    ({"programmatic": True}, "cuLaunchKernelEx"),
    ({"tensor_maps": [TensorMap(0, "float32", (64,), (), (32,)).to_json()]}, "cuTensorMapEncodeTiled"),
])  # fmt: skip
def test_an_old_driver(fake, run, monkeypatch, attributes, needed):
    if run.in_c:
        pytest.skip("a library asks the driver's library itself")
    original_address = Driver.address
    monkeypatch.setattr(Driver, "address", lambda self, name: 0 if name == needed else original_address(self, name))
    with pytest.raises(LaunchError, match=f"(?s)scale needs a newer driver.*{needed}"):
        run(with_attributes(**attributes), *arrays(), 1.0)


# -- tensor maps --------------------------------------------------------------------------------------------------


def expr(*tree):
    return DimExpr(tree)


def words_of(fake, number=0):
    fake.library.fake_map.restype = ctypes.c_void_p
    return struct.unpack("<16Q", ctypes.string_at(fake.library.fake_map(number), 128))


def aligned(count):
    """A float32 array at a multiple of 64 bytes."""
    memory = np.zeros(count + 16, np.float32)
    start = (-memory.ctypes.data % 64) // 4
    return memory[start : start + count]


def test_a_tensor_map_is_a_parameter(fake, run):
    first = TensorMap(
        0, "float32", (8, 8), (32,), (16, 8), (1, 2), swizzle="64B", promotion="256B", fill="nan", name="A"
    )
    second = TensorMap(1, "bfloat16", (128,), (), (64,), swizzle="128B", offset=64, name="B")
    fake.library.fake_maps_of(2)
    a, b = aligned(64), aligned(64)
    run(with_attributes(tensor_maps=[first.to_json(), second.to_json()]), a, b, 1.0)
    assert fake.library.fake_launches() == 1
    words = words_of(fake)
    assert words[0] == a.ctypes.data
    assert words[1] == DTYPES["float32"] | 2 << 8 | 0 << 16 | 2 << 24 | 3 << 32 | 1 << 40
    assert words[2:4] == (8, 8)
    assert words[5] == 32
    assert words[7:9] == (16 << 32 | 1, 8 << 32 | 2)
    words = words_of(fake, 1)
    assert words[0] == b.ctypes.data + 64
    assert words[1] == DTYPES["bfloat16"] | 1 << 8 | 3 << 24 | 2 << 32
    assert words[2] == 128
    assert words[7] == 64 << 32 | 1
    assert fake.slots(2) == [a.ctypes.data, b.ctypes.data]  # the slots are still there


def test_a_tensor_map_is_encoded_once(fake, run):
    kernel = with_attributes("n", tensor_maps=[TensorMap(0, "float32", (DimExpr("n"),), (), (32,)).to_json()])
    fake.library.fake_maps_of(1)
    a, b, c = aligned(64), aligned(64), aligned(32)
    for _ in range(5):
        run(kernel, a, b, 1.0)
        assert words_of(fake)[:1] == (a.ctypes.data,)
        assert words_of(fake)[2] == 64
    assert fake.library.fake_encoded() == 1
    run(kernel, c, c.copy(), 1.0)
    assert words_of(fake)[:1] == (c.ctypes.data,)
    assert words_of(fake)[2] == 32
    assert fake.library.fake_encoded() == 2
    run(kernel, a[:32], c, 1.0)  # the address of before, another size
    assert words_of(fake)[:1] == (a.ctypes.data,)
    assert words_of(fake)[2] == 32
    assert fake.library.fake_encoded() == 3


def test_the_maps_of_the_last_four_tensors_are_cached(fake, run):
    """Wherever they lie."""
    kernel = with_attributes(tensor_maps=[TensorMap(0, "float32", (64,), (), (32,)).to_json()])
    fake.library.fake_maps_of(1)
    tensors = [aligned(64) for _ in range(100)]
    for start in range(0, 100, 4):
        before = fake.library.fake_encoded()
        for a in 3 * tensors[start : start + 4]:
            run(kernel, a, a, 1.0)
            assert words_of(fake)[:1] == (a.ctypes.data,)
        assert fake.library.fake_encoded() == before + 4


def test_many_tensors_in_turn(fake, run):
    """More tensors than are cached: each launch still has its own map."""
    kernel = with_attributes(tensor_maps=[TensorMap(s, "float32", (64,), (), (32,)).to_json() for s in (0, 1)])
    fake.library.fake_maps_of(2)
    tensors = [aligned(64) for _ in range(300)]
    for _ in range(2):
        for a, b in zip(tensors, reversed(tensors), strict=True):
            run(kernel, a, b, 1.0)
            assert (words_of(fake, 0)[0], words_of(fake, 1)[0]) == (a.ctypes.data, b.ctypes.data)


def test_tensor_maps_of_two_kernels_differ(fake, run):
    a, b = aligned(64), aligned(64)
    fake.library.fake_maps_of(1)
    for box in (32, 16, 32):
        run(with_attributes(tensor_maps=[TensorMap(0, "float32", (64,), (), (box,)).to_json()]), a, b, 1.0)
        assert words_of(fake)[7] == box << 32 | 1


@pytest.mark.parametrize("sizes", [("n",), ("n", 4), (4, "n")])
def test_a_tensor_without_elements(fake, run, sizes):
    """The driver accepts no axis of 0 elements: the map describes one element that is 0."""
    shape = tuple(DimExpr(size) if isinstance(size, str) else size for size in sizes)
    strides = (32,) * (len(sizes) - 1)
    kernel = with_attributes("n", tensor_maps=[TensorMap(0, "float32", shape, strides, (4,) * len(sizes)).to_json()])
    fake.library.fake_maps_of(1)
    run(kernel, aligned(64)[:0], aligned(64)[:0], 1.0)
    assert fake.library.fake_launches() == 1
    words = words_of(fake)
    assert words[0]
    assert ctypes.string_at(words[0], 256) == bytes(256)
    assert words[2 : 2 + len(sizes)] == (1,) * len(sizes)
    full = aligned(64)
    run(kernel, full, full, 1.0)
    assert words_of(fake)[0] == full.ctypes.data


def test_a_tensor_that_never_has_elements(fake, run):
    fake.library.fake_maps_of(1)
    kernel = with_attributes(0, tensor_maps=[TensorMap(0, "float32", (0,), (), (32,)).to_json()])
    run(kernel, aligned(64)[:0], aligned(64)[:0], 1.0)
    assert words_of(fake)[0]
    assert words_of(fake)[2] == 1


def test_a_tensor_that_is_none(fake, run):
    """A launch that does not access the tensor may pass None. The driver accepts no map of a null pointer."""
    params = (
        TensorParam("A", "float32", (4, 64), access="r", align=4, needed=expr("+", "s", 0)), ScalarParam("s", "int32"),
    )  # fmt: skip
    facts = [TensorMap(0, "float32", (64, 4), (256,), (32, 1), offset=512).to_json()]
    kernel = artifact(
        params=params, symbols=(Symbol("s", ("scalar", 1, 0)),), entry={"attributes": {"tensor_maps": facts}}
    )
    kernel = Artifact.from_json(kernel.to_json(), kernel.source, kernel.binary)
    fake.library.fake_maps_of(1)
    run(kernel, None, 0)
    words = words_of(fake)
    assert words[0] not in (0, 512)
    assert ctypes.string_at(words[0], 256) == bytes(256)
    assert words[2:4] == (1, 1)
    full = aligned(256).reshape(4, 64)
    run(kernel, full, 1)
    assert words_of(fake)[0] == full.ctypes.data + 512
    assert words_of(fake)[2:4] == (64, 4)


def test_tensor_maps_follow_the_parameters_of_the_kernel(fake, run):
    """A scalar that a size of the grid names is a symbol, too, whose slot is no parameter of the kernel."""
    params = TensorParam("A", "float32", (64,), access="r", align=4), ScalarParam("s", "int32")
    facts = [TensorMap(0, "float32", (64, expr("+", "s", 0)), (256,), (32, 1)).to_json()]
    kernel = artifact(
        params=params, symbols=(Symbol("s", ("scalar", 1, 0)),), entry={"attributes": {"tensor_maps": facts}}
    )
    kernel = Artifact.from_json(kernel.to_json(), kernel.source, kernel.binary)
    a = aligned(64)
    fake.library.fake_maps_of(1)
    run(kernel, a, 5)
    assert fake.slots(2) == [a.ctypes.data, 5]
    assert words_of(fake)[0] == a.ctypes.data
    assert words_of(fake)[2:4] == (64, 5)


def test_symbolic_strides(fake, run):
    kernel = with_attributes(
        "n",
        tensor_maps=[TensorMap(0, "float32", (4, expr("//", "n", 4)), (expr("*", "n", 4),), (4, 1)).to_json()],
    )
    fake.library.fake_maps_of(1)
    run(kernel, aligned(48), aligned(48), 1.0)
    assert words_of(fake)[2:4] == (4, 12)
    assert words_of(fake)[5] == 192


def test_a_misaligned_tensor(fake, run):
    kernel = with_attributes("n", tensor_maps=[TensorMap(0, "float32", (32,), (), (32,), name="A").to_json()])
    a = aligned(64)[1:33]
    words = r"scale_k: no tensor map can describe A: its address is 0x\w+, must be a multiple of 16"
    with pytest.raises(LaunchError, match=run.says(words, "tensor map 0 of the kernel does not fit")) as caught:
        run(kernel, a, aligned(32), 1.0)
    assert run.in_c or "t.clone()" in str(caught.value)
    assert fake.library.fake_launches() == 0


def test_a_tensor_map_that_the_driver_refuses(fake, run):
    kernel = with_attributes(tensor_maps=[TensorMap(0, "float32", (64,), (), (32,), name="A").to_json()])
    fake.fail("cuTensorMapEncodeTiled", 1)
    words = r"can describe A: CUDA_ERROR_INVALID_VALUE .* shape \(64,\)"
    with pytest.raises(LaunchError, match=run.says(words, "tensor map 0 of the kernel does not fit")):
        run(kernel, aligned(64), aligned(64), 1.0)


def test_tensor_maps_survive_json():
    tensor_map = TensorMap(
        1, "float16", (64, DimExpr("n"), 3), (DimExpr(("*", "n", 2)), 256), (64, 8, 1), (1, 1, 2), "128B",
        promotion="none", fill="nan", offset=DimExpr("n"), name="B",
    )  # fmt: skip
    assert TensorMap.from_json(tensor_map.to_json()) == tensor_map
    assert TensorMap.from_json({"slot": 0, "dtype": "int8", "shape": [16], "strides": [], "box": [16]}).steps == (1,)


@pytest.mark.parametrize(("changes", "words"), [
    ({"dtype": "float3"}, "dtype 'float3'"),
    ({"swizzle": "96B"}, "swizzle '96B'.*none, 32B, 64B, 128B"),
    ({"shape": (4,) * 6}, "6 axes"),
    ({"interleave": "16B"}, "2 axes.*3 to 5"),
    ({"strides": ()}, "0 strides"),
    ({"box": (512, 8)}, "a box of .*1 to 256"),
    ({"box": (6, 8)}, "has 12 bytes.*a multiple of 16"),
    ({"box": (128, 8)}, "has 256 bytes.*128, as the swizzle is 128B"),
    ({"element_strides": (1, 9)}, "element strides .*1 to 8"),
    ({"strides": (24,)}, "a stride of 24 bytes.*a multiple of 16 below"),
    ({"strides": (1 << 40,)}, "a stride of 1099511627776 bytes"),
    ({"shape": (64, 2**33)}, "shape .*at most 2.32 elements"),
])  # fmt: skip
def test_tensor_maps_that_no_device_accepts(changes, words):
    facts = {"slot": 0, "dtype": "float16", "shape": (64, 64), "strides": (128,), "box": (64, 8), "swizzle": "128B",
             "name": "A"}  # fmt: skip
    with pytest.raises(LaunchError, match=f"(?s)the tensor map of A in gemm_k is wrong.*{words}"):
        TensorMap.from_json({**facts, **changes}, "gemm_k")
