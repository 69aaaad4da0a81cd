"""Every reason for which a call is refused, with its message; the same from both launchers."""

import sys
from types import SimpleNamespace

import ml_dtypes
import numpy
import pytest
from launch_kit import HostAdapter, expr, kernel, recorded, torch
from test_dlpack import Exporter

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import Entry, ScalarParam, Symbol, TensorParam
from tilecore.errors import ArgumentError, LaunchError
from tilecore.runtime import argument_errors
from tilecore.tensors.views import TensorView, device_problem

M, N, K = expr("m"), expr("n"), expr("k")


def symbol(name, param, axis, **more):
    return Symbol(name, ("shape", param, axis), **more)


GEMM = kernel(
    [
        TensorParam("A", "float16", (M, K), access="r"),
        TensorParam("B", "float16", (K, N), access="r"),
        TensorParam("C", "float32", (M, N), access="w"),
    ],
    [symbol("m", 0, 0), symbol("k", 0, 1), symbol("n", 1, 1)],
)
ADD = kernel(
    [TensorParam("X", "float32", (64,), access="r"), TensorParam("Y", "float32", (64,), access="w", align=4)],
    name="add",
)


def refusal(kind, artifact, *args, **keywords):
    launcher, recorder = recorded(kind, artifact)
    with pytest.raises(ArgumentError) as caught:
        launcher(*args, **keywords)
    assert not recorder.calls
    return caught.value


def gemm_tensors(m=8, n=6, k=4):
    return [torch.zeros(m, k, dtype=torch.float16), torch.zeros(k, n, dtype=torch.float16), torch.zeros(m, n)]


def test_count(kind):
    a, b, _c = gemm_tensors()
    assert str(refusal(kind, GEMM, a, b)) == "gemm() takes 3 arguments (A, B, C), 2 were given"
    assert refusal(kind, GEMM, a).message == "gemm() takes 3 arguments (A, B, C), 1 was given"
    artifact = kernel([ScalarParam("s", "int32")])
    assert refusal(kind, artifact, 1, 2).message == "gemm() takes 1 argument (s), 2 were given"
    assert refusal(kind, kernel([]), 1).message == "gemm() takes 0 arguments, 1 was given"


def test_count_with_outputs_that_the_call_allocates(kind):
    artifact = kernel(GEMM.params, GEMM.symbols, out_idx=[2])
    error = refusal(kind, artifact, *gemm_tensors())
    assert error.message == "gemm() takes 2 arguments (A, B), 3 were given"
    assert error.hint == "C is allocated by the call and returned (out_idx)"


def test_keywords(kind):
    a, b, c = gemm_tensors()
    launcher, recorder = recorded(kind, GEMM)
    launcher(a, C=c, B=b)
    assert recorder.slots[:3] == [a.data_ptr(), b.data_ptr(), c.data_ptr()]
    assert refusal(kind, GEMM, a, b, D=c).hint is None
    assert refusal(kind, GEMM, a, b, c=c).message == "gemm() has no parameter c"
    assert refusal(kind, GEMM, a, b, A=c).message == "gemm() got two values for A"
    assert refusal(kind, GEMM, a, C=c).message == "gemm() takes 3 arguments (A, B, C), B is missing"
    assert refusal(kind, GEMM, C=c).message == "gemm() takes 3 arguments (A, B, C), A, B are missing"
    assert refusal(kind, GEMM, a, b, c, x=1).message == "gemm() has no parameter x"
    assert refusal(kind, GEMM, a, b, c, 1, x=1).message == "gemm() takes 3 arguments (A, B, C), 5 were given"
    out = kernel(GEMM.params, GEMM.symbols, out_idx=[2])
    assert refusal(kind, out, a, b, C=c).hint == "the call allocates C and returns it (out_idx)"


@pytest.mark.parametrize(
    ("value", "described", "hint"),
    [
        (3, "int 3", None),
        (None, "None", None),
        ("x", "str 'x'", None),
        ([1.0], "list", 'numpy.asarray(X, "float32")'),
        (memoryview(bytes(4)), "memoryview", 'numpy.asarray(X, "float32")'),
        (b"12", "bytes b'12'", None),
        (bytearray(8), "bytearray", 'numpy.asarray(X, "float32")'),
        (numpy.float32(2), "float32, which has a shape and no memory that can be read", "numpy.asarray(X)"),
        (SimpleNamespace(shape=(64,), dtype="float32"),
         "SimpleNamespace, which has a shape and no memory that can be read", None),
    ],
)  # fmt: skip
def test_a_tensor_is_needed(kind, value, described, hint):
    error = refusal(kind, ADD, value, torch.zeros(64))
    assert error.message == "add(): X must be a tensor"
    assert (error.found, error.expected) == (described, "a float32 tensor of shape (64,) (torch, numpy or any DLPack)")
    assert error.hint == hint


@pytest.mark.parametrize("place", [0, 1])
def test_an_argument_of_a_traced_program_of_jax(kind, place, monkeypatch):
    """As jax's own tests of it, where jax is not installed: a tracer has a shape, and a type with ``__dlpack__``."""

    class Tracer:
        shape, dtype = (64,), "float32"

        def __dlpack__(self, **keywords):
            raise AttributeError("a tracer has no memory")

    jax = SimpleNamespace(Array=Tracer, core=SimpleNamespace(Tracer=Tracer))
    monkeypatch.setitem(sys.modules, "jax", jax)
    launcher, recorder = recorded(kind, ADD)
    arguments: list = [numpy.zeros(64, numpy.float32) for _ in range(2)]
    arguments[place] = Tracer()
    with pytest.raises(LaunchError, match="is called in a program that jax traces") as caught:
        launcher(*arguments)
    assert not recorder.calls
    assert caught.value.found == f"{'XY'[place]}, a Tracer"
    assert "tilecore.jax_call(kernel, X, Y)" in caught.value.expected


@pytest.mark.parametrize(
    ("value", "described", "hint"),
    [
        (torch.zeros(64, dtype=torch.float64), "float64", "X.to(torch.float32)"),
        (torch.zeros(64, dtype=torch.complex64), "complex64", "X.to(torch.float32)"),
        (numpy.zeros(64, numpy.int8), "int8", "X.astype(numpy.float32)"),
        (numpy.zeros(64, ml_dtypes.bfloat16), "bfloat16", "X.astype(numpy.float32)"),
        (numpy.zeros(64, "U3"), "<U3", "X.astype(numpy.float32)"),
        (numpy.zeros(64, object), "object", "X.astype(numpy.float32)"),
        (Exporter(numpy.zeros(64)), "float64", "convert X to float32"),
    ],
)
def test_dtype(kind, value, described, hint):
    error = refusal(kind, ADD, value, torch.zeros(64))
    assert error.message == "add(): X has the wrong dtype"
    assert (error.found, error.expected, error.hint) == (described, "float32", hint)


def test_a_bool_tensor_is_needed_for_bool(kind):
    artifact = kernel([TensorParam("mask", "bool", (4,), access="r")])
    launcher, recorder = recorded(kind, artifact)
    for value in (torch.zeros(4, dtype=torch.bool), numpy.zeros(4, bool)):
        launcher(value)
    assert len(recorder.calls) == 2
    assert refusal(kind, artifact, torch.zeros(4, dtype=torch.uint8)).hint == "mask.to(torch.bool)"


def test_rank(kind):
    error = refusal(kind, GEMM, torch.zeros(8, dtype=torch.float16), *gemm_tensors()[1:])
    assert error.message == "gemm(): A has 1 axis, 2 expected"
    assert (error.found, error.expected) == ("shape (8,)", "(m, k)")
    assert (
        refusal(kind, ADD, numpy.zeros((1, 2, 32), "f4"), torch.zeros(64)).message == "add(): X has 3 axes, 1 expected"
    )


def test_constant_shape(kind):
    error = refusal(kind, ADD, torch.zeros(65), torch.zeros(64))
    assert error.message == "add(): X.shape[0] is 65, expected 64"
    assert (error.found, error.expected) == ("shape (65,)", "(64,)")


def test_one_symbol_with_two_values_names_both_places(kind):
    a, b, c = gemm_tensors()
    error = refusal(kind, GEMM, a, b, torch.zeros(8, 7))
    assert error.message == "gemm(): n is 6 from B.shape[1] but 7 from C.shape[1]"
    assert (error.found, error.expected) == ("shape (8, 7)", "(m, n)")
    assert refusal(kind, GEMM, a, b[:3], c).message == "gemm(): k is 4 from A.shape[1] but 3 from B.shape[0]"


def test_expression_of_symbols(kind):
    artifact = kernel(
        [TensorParam("A", "float32", (N,)), TensorParam("B", "float32", (expr(("*", "n", 4)),))], [symbol("n", 0, 0)]
    )
    launcher, recorder = recorded(kind, artifact)
    launcher(torch.zeros(3), torch.zeros(12))
    assert recorder.slots[2:] == [3]
    error = refusal(kind, artifact, torch.zeros(3), torch.zeros(13))
    assert error.message == "gemm(): B.shape[0] is 13, expected n * 4 = 12"
    assert error.expected == "(n * 4,) where n = 3 from A.shape[0]"


def test_symbol_that_is_read_from_an_expression(kind):
    artifact = kernel(
        [TensorParam("A", "float32", (expr(("+", ("*", "n", 4), 2)),)), TensorParam("B", "float32", (N,))],
        [symbol("n", 0, 0, scale=4, offset=2)],
    )
    launcher, recorder = recorded(kind, artifact)
    launcher(torch.zeros(14), torch.zeros(3))
    assert recorder.slots[2:] == [3]
    error = refusal(kind, artifact, torch.zeros(15), torch.zeros(3))
    assert error.message == "gemm(): A.shape[0] is 15, which is not 4 * n + 2 for any integer n"
    error = refusal(kind, artifact, torch.zeros(14), torch.zeros(4))
    assert error.message == "gemm(): n is 3 from A.shape[0] = 4 * n + 2 but 4 from B.shape[0]"
    error = refusal(kind, kernel(artifact.params[:1], artifact.symbols), torch.zeros(0))
    assert error.message == "gemm(): A.shape[0] is 0, which is not 4 * n + 2 for any integer n"
    below = kernel([TensorParam("A", "float32", (expr(("+", "n", 1)),))], [symbol("n", 0, 0, offset=1)])
    assert refusal(kind, below, torch.zeros(0)).message == "gemm(): A.shape[0] is 0, which makes n -1"


def test_symbol_that_does_not_fit_its_dtype(kind):
    artifact = kernel([TensorParam("A", "int8", (N, 0))], [symbol("n", 0, 0)])
    error = refusal(kind, artifact, torch.zeros(2**31, 0, dtype=torch.int8))
    assert error.message == "gemm(): A.shape[0] is 2147483648"
    assert error.expected == "n from 0 to 2147483647"
    assert error.hint == 'declare it with 64 bits: T.dynamic("n", "int64")'
    wide = kernel(artifact.params, [symbol("n", 0, 0, dtype="int64")])
    launcher, recorder = recorded(kind, wide)
    launcher(torch.zeros(2**31, 0, dtype=torch.int8))
    assert recorder.slots[1] == 2**31


def test_symbol_from_a_scalar(kind):
    artifact = kernel(
        [ScalarParam("count", "int32"), TensorParam("A", "float32", (N,))], [Symbol("n", ("scalar", 0, 0))]
    )
    launcher, recorder = recorded(kind, artifact)
    launcher(5, torch.zeros(5))
    assert recorder.slots[1:] == [5, 5]
    assert refusal(kind, artifact, 5, torch.zeros(6)).message == "gemm(): n is 5 from count but 6 from A.shape[0]"
    assert refusal(kind, artifact, -1, torch.zeros(6)).message == "gemm(): n is -1 from count but 6 from A.shape[0]"


def test_contiguity(kind):
    error = refusal(kind, GEMM, torch.zeros(4, 8, dtype=torch.float16).T, *gemm_tensors()[1:])
    assert error.message == "gemm(): A is not contiguous"
    assert (error.found, error.expected) == ("strides (1, 8) for shape (8, 4)", "strides (4, 1)")
    assert error.hint == "A.contiguous() or declare T.StridedTensor"
    error = refusal(kind, ADD, numpy.zeros(128, "f4")[::2], torch.zeros(64))
    assert error.hint == "numpy.ascontiguousarray(X) or declare T.StridedTensor"
    assert refusal(kind, ADD, numpy.zeros(64, "f4")[::-1], torch.zeros(64)).message == "add(): X is not contiguous"
    assert refusal(kind, ADD, torch.zeros(1).expand(64), torch.zeros(64)).message == "add(): X is not contiguous"


def test_axes_of_size_1_have_free_strides_and_empty_tensors_any(kind):
    artifact = kernel(
        [TensorParam("A", "float32", (M, 1, N), access="r", align=64)], [symbol("m", 0, 0), symbol("n", 0, 2)]
    )
    launcher, recorder = recorded(kind, artifact)
    base = torch.zeros(1024)
    launcher(base.as_strided((2, 1, 3), (3, 99, 1)))
    launcher(base.as_strided((1, 1, 3), (0, 0, 1)))
    launcher(base.as_strided((2, 1, 1), (1, 7, 55)))
    launcher(base[1:].as_strided((0, 1, 3), (7, 5, 2)))
    launcher(numpy.zeros((4, 1, 0), "f4").transpose(0, 1, 2))
    assert len(recorder.calls) == 5


STRIDED = kernel(
    [TensorParam("A", "float32", (M, N), strides=(expr("lda"), 1), access="rw")],
    [symbol("m", 0, 0), symbol("n", 0, 1), Symbol("lda", ("stride", 0, 0))],
)


def test_declared_strides(kind):
    launcher, recorder = recorded(kind, STRIDED)
    launcher(torch.zeros(4, 10)[:, 2:5])
    assert recorder.slots[1:] == [4, 3, 10]
    launcher(numpy.zeros((4, 10), "f4")[::-1, 2:5])
    assert recorder.slots[1:] == [4, 3, -10]
    error = refusal(kind, STRIDED, torch.zeros(4, 10)[:, ::2])
    assert error.message == "gemm(): A.stride[1] is 2, expected 1"
    assert (error.found, error.expected) == ("strides (10, 2) for shape (4, 5)", "strides (lda, 1)")


def test_strides_that_are_symbols_agree(kind):
    artifact = kernel(
        [*STRIDED.params, TensorParam("B", "float32", (M, N), strides=(expr("lda"), 1), access="r")], STRIDED.symbols
    )
    launcher, recorder = recorded(kind, artifact)
    launcher(torch.zeros(4, 10)[:, :3], torch.zeros(4, 10)[:, 3:6])
    assert recorder.slots[2:] == [4, 3, 10]
    error = refusal(kind, artifact, torch.zeros(4, 10)[:, :3], torch.zeros(4, 11)[:, :3])
    assert error.message == "gemm(): lda is 10 from A.stride[0] but 11 from B.stride[0]"


def test_written_elements_that_share_memory(kind):
    error = refusal(kind, STRIDED, torch.zeros(3).expand(4, 3))
    assert error.message == "gemm(): A is written by the kernel, but its elements along axis 0 share memory"
    assert error.hint == "pass A.contiguous()"
    read = kernel([TensorParam("A", "float32", (M, N), strides=(expr("lda"), 1), access="r")], STRIDED.symbols)
    launcher, recorder = recorded(kind, read)
    launcher(torch.zeros(3).expand(4, 3))
    assert recorder.slots[3] == 0


# shape, strides, the first axis along which elements share memory
OVERLAPS = [
    ((4, 4), (1, 1), 0), ((4, 4), (4, 1), None), ((4, 4), (1, 4), None), ((4, 4), (3, 1), 0), ((4, 4), (2, 1), 0),
    ((4, 4), (5, 1), None), ((4, 4), (3, 4), None), ((4, 3), (3, 4), None), ((4, 5), (3, 4), None), ((3, 4), (0, 1), 0),
    ((1, 4), (0, 1), None), ((4, 1), (1, 0), None), ((3, 2, 4), (8, 0, 1), 1), ((3, 2, 4), (8, 4, 1), None),
    ((3, 2, 4), (7, 4, 1), 0), ((2, 3, 4), (1, 2, 6), None), ((2, 3, 4), (1, 2, 4), 1), ((5,), (3,), None),
    ((5,), (0,), 0), ((5, 5), (3, 4), 0), ((0, 4), (1, 1), None), ((6, 7), (7, 6), None), ((8, 8), (7, 6), 0),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "strides", "axis"), OVERLAPS, ids=str)
def test_strides_by_which_written_elements_share_memory(kind, shape, strides, axis):
    """What numpy says of the offsets decides."""
    offsets = sum(s * i for s, i in zip(strides, numpy.indices(shape), strict=True)).ravel()
    assert (axis is None) == (len(numpy.unique(offsets)) == offsets.size)
    sizes, steps = ("m", "n", "k")[: len(shape)], ("sm", "sn", "sk")[: len(shape)]
    param = TensorParam("A", "float32", tuple(map(expr, sizes)), strides=tuple(map(expr, steps)), access="rw")
    shapes = [symbol(name, 0, axis) for axis, name in enumerate(sizes)]
    artifact = kernel([param], [*shapes, *(Symbol(name, ("stride", 0, axis)) for axis, name in enumerate(steps))])
    passed = torch.zeros(400).as_strided(shape, strides)
    if axis is None:
        launcher, recorder = recorded(kind, artifact)
        launcher(passed)
        assert recorder.slots
    else:
        assert f"along axis {axis} share memory" in refusal(kind, artifact, passed).message


def test_alignment(kind):
    artifact = kernel([TensorParam("A", "float32", (8,), access="r", align=16)])
    base = torch.zeros(64)
    base = base[(-base.data_ptr() // 4) % 16 :]  # starts at a multiple of 64
    launcher, recorder = recorded(kind, artifact)
    launcher(base[4:12])
    assert recorder.slots == [base.data_ptr() + 16]
    error = refusal(kind, artifact, base[1:9])
    assert error.message == "gemm(): the data of A is not aligned"
    assert error.found == f"address 0x{base.data_ptr() + 4:x}, 4 bytes past a multiple of 16"
    assert error.hint == "pass A.clone() instead of a view that starts inside another tensor"
    assert "A.copy()" in refusal(kind, artifact, base.numpy()[1:9]).hint


class OtherDevice(HostAdapter):
    device = 2

    def torch_device(self, device_index=0):
        return f"xpu:{device_index}"


def test_device(kind):
    launcher, recorder = recorded(kind, ADD, OtherDevice(), 2)
    for value in (torch.zeros(64), numpy.zeros(64, "f4")):
        with pytest.raises(ArgumentError) as caught:
            launcher(value, value)
        assert caught.value.message == "add(): X is on the wrong device"
        assert (caught.value.found, caught.value.expected) == ("cpu", "xpu:0")
        library = "torch" if isinstance(value, torch.Tensor) else "numpy"
        if library == "torch" and device_problem("xpu:0"):
            assert "install the build of torch for these devices; this one says: " in str(caught.value.hint)
        else:
            assert caught.value.hint == ("copy X to xpu:0" if library == "numpy" else 'X.to("xpu:0")')
    assert not recorder.calls


def test_torchs_reason_is_a_sentence():
    reason = device_problem("mps")  # torch without it lists all that it knows
    assert len(reason) <= 200
    assert ". " not in reason
    assert device_problem("cpu") == ""


def test_devices_of_two_kinds_with_one_name():
    """Two builds of torch use one name for the devices of two makers."""
    view = TensorView(0, (4,), (1,), (2, 32, 1), (2, 0), "torch", SimpleNamespace(device="cuda:0"), None)
    error = argument_errors.device(SimpleNamespace(name="add", device_type=10), "X", view, "cuda:0")
    assert error.found == "cuda:0 (of DLPack device type 2)"
    assert error.expected == "cuda:0 (of DLPack device type 10)"
    assert error.hint == "install the build of torch for these devices"


class OnDevice(Exporter):
    def __init__(self, array, index):
        super().__init__(array)
        self.managed.tensor.device.type, self.managed.tensor.device.index = 2, index

    def __dlpack_device__(self):
        return 2, self.managed.tensor.device.index


def test_all_on_one_device(kind):
    launcher, recorder = recorded(kind, ADD, OtherDevice(), 2)
    arrays = [numpy.zeros(64, "f4"), numpy.zeros(64, "f4")]
    launcher(OnDevice(arrays[0], 1), OnDevice(arrays[1], 1))
    assert len(recorder.calls) == 1
    with pytest.raises(ArgumentError) as caught:
        launcher(OnDevice(arrays[0], 0), OnDevice(arrays[1], 1))
    assert caught.value.message == "add(): X is on DLPack device 2:0 but Y is on DLPack device 2:1"


def test_page_locked_host_memory_counts_as_host(kind):
    launcher, recorder = recorded(kind, ADD)
    pinned = OnDevice(numpy.zeros(64, "f4"), 0)
    pinned.managed.tensor.device.type = 3
    launcher(pinned, torch.zeros(64))
    assert len(recorder.calls) == 1


def test_read_only(kind):
    array = numpy.zeros(64, "f4")
    array.flags.writeable = False
    for value in (array, Exporter(numpy.zeros(64, "f4"), read_only=True)):
        launcher, recorder = recorded(kind, ADD)
        launcher(value, torch.zeros(64))
        assert len(recorder.calls) == 1
        error = refusal(kind, ADD, torch.zeros(64), value)
        assert error.message == "add(): Y is written by the kernel, but it is read-only"


PACKED = kernel([TensorParam("W", "int4", (M, K), access="r", packed=2)], [symbol("m", 0, 0), symbol("k", 0, 1)])


def test_packed_int4(kind):
    launcher, recorder = recorded(kind, PACKED)
    for value in (torch.zeros(3, 8, dtype=torch.int8), torch.zeros(3, 8, dtype=torch.uint8), numpy.zeros((3, 8), "i1")):
        launcher(value)
        assert recorder.slots[1:] == [3, 16]
    error = refusal(kind, PACKED, torch.zeros(3, 8))
    assert error.expected == "int8 or uint8"
    assert error.hint.startswith("int4 is passed packed: 2 elements of the last axis in one element of int8 or uint8")
    assert refusal(kind, PACKED, numpy.zeros((3, 16), ml_dtypes.int4)).found == "int4"
    assert refusal(kind, PACKED, torch.zeros(8, 3, dtype=torch.int8).T).message == (
        "gemm(): the last axis of W is not contiguous"
    )


@pytest.mark.skipif(not hasattr(torch, "float4_e2m1fn_x2"), reason="torch has no pairs of 4-bit floats before 2.8")
def test_pairs_of_torch(kind):
    """torch's own type of two 4-bit floats is the packed storage of one of them; of integers it is not."""
    pairs = torch.zeros(3, 8, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    floats = kernel(
        [TensorParam("W", "float4_e2m1fn", (M, K), access="r", packed=2)], [symbol("m", 0, 0), symbol("k", 0, 1)]
    )
    launcher, recorder = recorded(kind, floats)
    launcher(pairs)
    assert recorder.slots[1:] == [3, 16]
    assert refusal(kind, PACKED, pairs).found == "float4_e2m1fn_x2"
    assert refusal(kind, floats, torch.zeros(8, 3, dtype=torch.uint8).view(torch.float4_e2m1fn_x2).T).message == (
        "gemm(): the last axis of W is not contiguous"
    )


def test_packed_int4_with_a_constant_shape(kind):
    artifact = kernel([TensorParam("W", "int4", (4, 16), packed=2)])
    launcher, recorder = recorded(kind, artifact)
    launcher(torch.zeros(4, 8, dtype=torch.int8))
    assert len(recorder.calls) == 1
    error = refusal(kind, artifact, torch.zeros(4, 16, dtype=torch.int8))
    assert error.message == "gemm(): W.shape[1] is 32, expected 16"
    assert error.found == "shape (4, 16), each element of the last axis holding 2"
    assert error.expected == "(4, 8)"


def test_packed_int4_with_strides(kind):
    artifact = kernel(
        [TensorParam("W", "int4", (M, K), strides=(expr("ld"), 1), access="r", packed=2)],
        [*PACKED.symbols, Symbol("ld", ("stride", 0, 0))],
    )
    launcher, recorder = recorded(kind, artifact)
    launcher(torch.zeros(3, 8, dtype=torch.int8)[:, 1:4])
    assert recorder.slots[1:] == [3, 6, 16]


def test_scalars(kind):
    artifact = kernel([ScalarParam("i", "int8"), ScalarParam("f", "float32"), ScalarParam("b", "bool")])
    launcher, recorder = recorded(kind, artifact)
    launcher(-3, 1.5, True)
    assert recorder.slots == [-3, 0x3FC00000, 1]
    launcher(numpy.int64(7), 2, numpy.False_)
    assert recorder.slots == [7, 0x40000000, 0]
    launcher(torch.tensor(7), torch.tensor(2.0), torch.tensor(True))
    assert recorder.slots == [7, 0x40000000, 1]
    error = refusal(kind, artifact, 128, 1.5, True)
    assert (error.message, error.found, error.expected) == (
        "gemm(): i does not take this value", "int 128", "-128 to 127",
    )  # fmt: skip
    assert refusal(kind, artifact, 1.0, 1.5, True).hint == "convert it: int(1.0)"
    assert refusal(kind, artifact, 1, 1e39, True).expected.startswith("a number in the range of float32")
    assert refusal(kind, artifact, 1, "1", True).expected == "a number for float32"
    assert refusal(kind, artifact, 1, 1.5, 2).expected == "True or False for bool"
    assert refusal(kind, artifact, torch.zeros(2), 1.5, True).found == "a torch.float32 tensor of shape (2,)"


COPY = kernel(
    [TensorParam("X", "float32", (N,), access="r"), TensorParam("Y", "float32", (N,), access="w")], [symbol("n", 0, 0)]
)


def test_a_call_in_place_is_allowed(kind):
    launcher, recorder = recorded(kind, COPY)
    base = torch.zeros(64)
    launcher(base, base)
    launcher(base[:8], base[:8])
    launcher(base.numpy(), base)
    assert len(recorder.calls) == 3


def test_partial_overlap_is_refused(kind):
    base = torch.zeros(64)
    error = refusal(kind, COPY, base[:32], base[16:48])
    assert error.message == "gemm(): Y and X share a part of their memory, and the kernel writes Y"
    assert error.expected == "tensors that do not share memory, or the same tensor for a call in place"
    assert refusal(kind, COPY, base[:32].numpy(), base[31:63]).message == error.message
    launcher, recorder = recorded(kind, COPY)
    launcher(base[:32], base[32:])
    launcher(base[32:], base[:32])
    launcher(base[:0], base[:0])
    assert len(recorder.calls) == 3


def test_two_written_arguments_with_one_memory_are_refused(kind):
    artifact = kernel([TensorParam("X", "float32", (4,)), TensorParam("Y", "float32", (4,))])
    base = torch.zeros(4)
    error = refusal(kind, artifact, base, base)
    assert error.message == "gemm(): X and Y are the same memory, and the kernel writes both"
    assert error.expected == "tensors that do not share memory"
    read = kernel([TensorParam("X", "float32", (4,), access="r"), TensorParam("Y", "float32", (4,), access="r")])
    launcher, recorder = recorded(kind, read)
    launcher(base, base)
    assert len(recorder.calls) == 1


def test_strided_tensors_that_interleave_do_not_overlap(kind):
    strides = (expr("lda"), 1)
    artifact = kernel(
        [
            TensorParam("X", "float32", (M, N), strides=strides, access="r"),
            TensorParam("Y", "float32", (M, N), strides=strides, access="w"),
        ],
        [symbol("m", 0, 0), symbol("n", 0, 1), Symbol("lda", ("stride", 0, 0))],
    )
    base = torch.zeros(8, 10)
    launcher, recorder = recorded(kind, artifact)
    launcher(base[:, :5], base[:, 5:])
    launcher(base[:, :5], base[:, :5])
    assert len(recorder.calls) == 2
    error = refusal(kind, artifact, base[:, :5], base[:, 4:9])
    assert error.message == "gemm(): Y and X share a part of their memory, and the kernel writes Y"


def test_lazily_negated_views_of_torch_are_refused(kind):
    view = torch.ones(4, dtype=torch.complex64).conj().imag
    artifact = kernel(
        [TensorParam("A", "float32", (N,), strides=(expr("s"),), access="r")],
        [symbol("n", 0, 0), Symbol("s", ("stride", 0, 0))],
    )
    error = refusal(kind, artifact, view)
    assert error.hint == "A.resolve_neg()"
    assert refusal(kind, kernel([TensorParam("A", "float32", (1,))]), view[:1]).message == error.message
    launcher, recorder = recorded(kind, artifact)
    launcher(view.resolve_neg())
    assert len(recorder.calls) == 1


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_tensors_without_memory_are_refused(kind):
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(64)
    for value in (fake, torch._efficientzerotensor(64)):
        assert refusal(kind, ADD, value, torch.zeros(64)).message.startswith("add(): X ")
    assert "meta device" in refusal(kind, ADD, torch.zeros(64, device="meta"), torch.zeros(64)).message
    assert refusal(kind, ADD, torch.zeros(8, 8).to_sparse(), torch.zeros(64)).hint == ".to_dense()"


def test_sizes_of_the_launch(kind):
    def artifact(*grid, shared=0):
        return kernel(
            [TensorParam("A", "int8", (N, 0))], [symbol("n", 0, 0)], [Entry("gemm", grid, shared_bytes=shared)]
        )

    tensor = torch.zeros(5, 0, dtype=torch.int8)
    error = refusal(kind, artifact(expr(("-", "n", 6)), 1, 1), tensor)
    assert error.message == "gemm(): the sizes of the launch are negative"
    assert error.found == "grid (-1, 1, 1), 0 bytes of shared memory where n = 5 from A.shape[0]"
    error = refusal(kind, artifact(1, expr(("//", 8, ("-", "n", 5))), 1), tensor)
    assert error.message == "gemm(): grid y of gemm has no value: (8 // (n - 5)) gives a division by zero"
    assert error.found == "n = 5 from A.shape[0]"
    error = refusal(kind, artifact(2**40, 2**40, 1), tensor)
    assert error.message == "gemm(): the launch has too many blocks"
    error = refusal(kind, artifact(1, 1, 1, shared=expr(("-", 0, "n"))), tensor)
    assert error.message == "gemm(): the sizes of the launch are negative"
    huge = expr(("*", ("*", "n", 2**40), 2**40))
    assert "does not fit 64 bits" in refusal(kind, artifact(huge, 1, 1), tensor).message


def test_errors_can_be_caught_as_type_and_value_errors(kind):
    launcher, _ = recorded(kind, ADD)
    for family in (TypeError, ValueError, ArgumentError):
        with pytest.raises(family):
            launcher(1, 2)


def test_a_deep_expression_is_left_to_python(kind):
    tree = "n"
    for _ in range(50):
        tree = ("+", 1, tree)
    artifact = kernel([TensorParam("A", "float32", (N,))], [symbol("n", 0, 0)], [Entry("gemm", (DimExpr(tree), 1, 1))])
    launcher, recorder = recorded(kind, artifact)
    launcher(torch.zeros(3))
    assert recorder.grids == [53, 1, 1, 0]
