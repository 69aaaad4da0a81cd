"""What a launch passes on, returns and raises; the same for both launchers."""

import contextlib
import ctypes
import gc
import sys
import threading
import time
import weakref
from dataclasses import replace

import ml_dtypes
import numpy
import pytest
from launch_kit import (
    HOST,
    HostAdapter,
    Recorder,
    address,
    expr,
    kernel,
    native,
    needs_torch,
    pointer_of,
    recorded,
    torch,
)

from tilecore.artifact.records import Entry, ScalarParam, Symbol, TensorParam, Workspace
from tilecore.contract.adapter import LoadedKernel
from tilecore.errors import ArgumentError, LanguageError, LaunchError, LoweringError
from tilecore.runtime import workspaces as workspaces_module
from tilecore.tensors.views import empty_array

N = expr("n")
FROM_FIRST = [Symbol("n", ("shape", 0, 0))]


def test_slots_and_grids(kind):
    artifact = kernel(
        [
            TensorParam("A", "float32", (N, 3), access="r"),
            ScalarParam("alpha", "float64"),
            TensorParam("B", "bfloat16", (N,), access="w"),
            ScalarParam("steps", "uint8"),
        ],
        [Symbol("n", ("shape", 0, 0)), Symbol("s", ("scalar", 3, 0))],
        [
            Entry("first", (expr(("//", ("+", "n", 3), 4)), expr("s"), 2), (32, 1, 1), expr(("*", "n", 16))),
            Entry("second", (1, 1, 1)),
        ],
        workspaces=[Workspace("W", "float32", (16,)), Workspace("V", "int8", (N,))],
    )
    launcher, recorder = recorded(kind, artifact)
    a, b = torch.zeros(9, 3), torch.zeros(9, dtype=torch.bfloat16)
    assert launcher(a, 0.5, b, 255) is None
    slots = recorder.slots
    assert slots[:2] == [pointer_of(a), pointer_of(b)]
    assert 0 not in slots[2:4]
    assert slots[2] != slots[3]
    assert slots[4:] == [0x3FE0000000000000, 255, 9, 255]
    assert recorder.grids == [3, 255, 2, 144, 1, 1, 1, 0]


@pytest.mark.parametrize(("count", "expected"), [(9, [36, 7, 2]), (10, [40, 7, 2])])
def test_sizes_of_the_launch_stand_behind_the_slots(kind, count, expected):
    artifact = kernel([TensorParam("A", "float32", (N,)), ScalarParam("s", "int32")], FROM_FIRST)
    seen = []
    launch = native(lambda state, slots, grids, stream: seen.append((slots[:6], grids[:4])) or 0)
    sizes = (expr(("*", "n", 4)), 7, expr(("//", "n", 4)))
    launcher = kind(artifact, replace(launch, sizes=sizes), HostAdapter(), HOST)
    tensor = torch.zeros(count)
    launcher(tensor, 5)
    launcher(tensor, torch.tensor(5))  # by the checker
    assert seen == [([pointer_of(tensor), 5, count, *expected], [1, 1, 1, 0])] * 2


def test_sizes_of_the_launch_are_of_the_kernels_symbols(kind):
    artifact = kernel([TensorParam("A", "float32", (N,))], FROM_FIRST)
    with pytest.raises(LoweringError, match="the sizes m are used but are not symbols"):
        kind(artifact, replace(native(Recorder(artifact)), sizes=(expr("m"),)), HostAdapter(), HOST)


def test_a_launch_in_python_on_the_tensors_device(kind):
    seen = []
    loaded = LoadedKernel(lambda slots, grids, device, stream: seen.append((device, stream)) or 0, on_device=True)
    kind(kernel([]), loaded, HostAdapter(), HOST)()
    assert seen == [(0, 0)]


def test_what_to_do_about_a_failed_launch(kind):
    loaded = LoadedKernel(lambda *_: 3, 0, lambda code: f"code {code}", advice=lambda code: "x" * code)
    with pytest.raises(LaunchError, match="code 3") as caught:
        kind(kernel([]), loaded, HostAdapter(), HOST)()
    assert caught.value.hint == "xxx"
    loaded = LoadedKernel(lambda *_: 3, 0, lambda code: f"code {code}", advice=lambda code: "")
    with pytest.raises(LaunchError) as caught:
        kind(kernel([]), loaded, HostAdapter(), HOST)()
    assert caught.value.hint is None


@pytest.mark.parametrize(
    "make", [torch.zeros, lambda n: numpy.zeros(n, "f4"), lambda n: torch.nn.Parameter(torch.zeros(n), False)]
)
def test_tensors_of_any_library_give_their_pointer(kind, make):
    launcher, recorder = recorded(kind, kernel([TensorParam("A", "float32", (N,))], FROM_FIRST))
    tensor = make(5)
    launcher(tensor)
    assert recorder.slots == [address(pointer_of(tensor)), 5]


def test_narrow_numpy_types(kind):
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float16", "int64", "uint16", "bool"):
        launcher, recorder = recorded(kind, kernel([TensorParam("A", name, (N,))], FROM_FIRST))
        array = numpy.zeros(5, getattr(ml_dtypes, name, name))
        launcher(array)
        assert recorder.slots == [address(array.ctypes.data), 5]


def test_an_entry_without_blocks_does_not_stop_the_others(kind):
    artifact = kernel(
        [TensorParam("A", "float32", (N,))],
        FROM_FIRST,
        [Entry("one", (N, 1, 1)), Entry("two", (1, expr(("-", "n", 1)), 1))],
    )
    launcher, recorder = recorded(kind, artifact)
    launcher(torch.zeros(1))
    assert recorder.grids == [1, 1, 1, 0, 1, 0, 1, 0]


def test_nothing_is_launched_when_no_entry_has_blocks(kind):
    launcher, recorder = recorded(
        kind, kernel([TensorParam("A", "float32", (N,))], FROM_FIRST, [Entry("e", (N, 1, 1))])
    )
    assert launcher(torch.zeros(0)) is None
    assert not recorder.calls


def test_outputs_are_allocated_and_returned(kind):
    params = [
        TensorParam("A", "float32", (N,), access="r"),
        TensorParam("B", "float16", (expr(("*", "n", 2)), 3), access="w"),
        TensorParam("C", "int4", (8,), access="w", packed=2),
    ]
    launcher, recorder = recorded(kind, kernel(params, FROM_FIRST, out_idx=[1]))
    a = torch.zeros(4)
    c = torch.zeros(4, dtype=torch.uint8)
    outputs = launcher(a, c)
    assert (outputs.shape, outputs.dtype) == ((8, 3), torch.float16)
    assert recorder.slots[:3] == [pointer_of(a), pointer_of(outputs), pointer_of(c)]
    launcher, recorder = recorded(kind, kernel(params, FROM_FIRST, out_idx=[2, 1]))
    outputs = launcher(a)
    assert [(t.shape, t.dtype) for t in outputs] == [((4,), torch.int8), ((8, 3), torch.float16)]
    assert recorder.slots[:3] == [pointer_of(a), pointer_of(outputs[1]), pointer_of(outputs[0])]


MAKES = kernel(
    [
        TensorParam("A", "float32", (N,), access="r"),
        TensorParam("B", "float32", (N,), access="r"),
        TensorParam("C", "bfloat16", (N, 3), access="w"),
        TensorParam("D", "int4", (4,), access="w", packed=2),
        ScalarParam("s", "float32"),
    ],
    FROM_FIRST,
    out_idx=[2, 3],
)


def test_outputs_are_arrays_where_all_tensors_are(kind):
    launcher, recorder = recorded(kind, MAKES)
    array, tensor = numpy.zeros(5, "f4"), torch.zeros(5)
    c, d = launcher(array, array, 1.0)
    assert (type(c), c.shape, c.dtype) == (numpy.ndarray, (5, 3), ml_dtypes.bfloat16)
    assert (type(d), d.shape, d.dtype) == (numpy.ndarray, (2,), numpy.int8)
    assert recorder.slots[2:4] == [c.ctypes.data, d.ctypes.data]
    assert c.ctypes.data % 64 == d.ctypes.data % 64 == 0
    for a, b in ((tensor, array), (array, tensor), (tensor, tensor)):
        assert [type(output) for output in launcher(a, b, numpy.float32(1))] == [torch.Tensor] * 2
    empty, _ = launcher(numpy.zeros(0, "f4"), numpy.zeros(0, "f4"), 1.0)
    assert (type(empty), empty.shape) == (numpy.ndarray, (0, 3))


class OwnMemory(HostAdapter):
    """Makes tensors by itself, all of one memory."""

    def empty(self, shape, dtype, device_index=0):
        return torch.empty(shape, dtype=getattr(torch, dtype))


def test_an_adapter_with_memory_of_its_own_makes_the_outputs(kind):
    launcher, _ = recorded(kind, MAKES, OwnMemory())
    array = numpy.zeros(5, "f4")
    assert [type(output) for output in launcher(array, array, 1.0)] == [torch.Tensor] * 2


class Nowhere(HostAdapter):
    """Its tensors are on a device that torch has never heard of."""

    device = 9

    def torch_device(self, device_index=0):
        return f"nowhere:{device_index}"


@needs_torch
def test_a_device_that_torch_does_not_know(kind):
    launcher, recorder = recorded(
        kind, kernel([TensorParam("C", "float32", (4,), access="w")], out_idx=[0]), Nowhere(), 9
    )
    with pytest.raises(LaunchError, match="execution backend 'kit' has its tensors on 'nowhere:0'") as caught:
        launcher()
    assert "nowhere" in caught.value.found
    assert "install the torch that knows the device" in caught.value.hint
    assert not recorder.calls


@needs_torch
def test_other_errors_of_torch_pass(kind):
    launcher, _ = recorded(kind, kernel([TensorParam("C", "float32", (2**50,), access="w")], out_idx=[0]))
    with pytest.raises(RuntimeError, match="memory"):
        launcher()


def test_outputs_that_cannot_be_made(kind):
    params = [
        TensorParam("A", "float32", (N,), access="r"),
        TensorParam("B", "float32", (expr(("-", "n", 4)),), access="w"),
        TensorParam("C", "int4", (N,), access="w", packed=2),
    ]
    launcher, _ = recorded(kind, kernel(params[:2], FROM_FIRST, out_idx=[1]))
    with pytest.raises(ArgumentError, match="the shape of B, which the call allocates, is negative"):
        launcher(torch.zeros(3))
    launcher, _ = recorded(kind, kernel([params[0], params[2]], FROM_FIRST, out_idx=[1]))
    assert launcher(torch.zeros(4)).shape == (2,)
    with pytest.raises(ArgumentError, match="the last axis of C, which the call allocates, cannot be packed"):
        launcher(torch.zeros(3))


def test_a_size_that_only_an_output_has_is_refused_when_the_launcher_is_made(kind):
    params = [TensorParam("A", "float32", (4,), access="r"), TensorParam("B", "float32", (N,), access="w")]
    with pytest.raises(LanguageError) as caught:
        recorded(kind, kernel(params, [Symbol("n", ("shape", 1, 0))], out_idx=[1]))
    assert caught.value.message == (
        "n cannot be known when gemm is called: it occurs only in B, which the call allocates"
    )


def test_a_size_that_stands_in_an_output_first_is_read_elsewhere(kind):
    params = [
        TensorParam("B", "float32", (N,), access="w"),
        TensorParam("A", "float32", (expr(("+", ("*", 3, "n"), 1)),), access="r"),
    ]
    launcher, recorder = recorded(kind, kernel(params, [Symbol("n", ("shape", 0, 0))], out_idx=[0]))
    assert launcher(torch.zeros(13)).shape == (4,)
    assert recorder.slots[2] == 4
    scalar = kernel([params[0], ScalarParam("n", "int32")], [Symbol("n", ("shape", 0, 0))], out_idx=[0])
    launcher, recorder = recorded(kind, scalar)
    assert launcher(6).shape == (6,)


@pytest.mark.parametrize(
    ("params", "symbols", "out_idx"),
    [
        ([TensorParam("A", "float32", (N,))], [], []),
        ([TensorParam("A", "float32", (3,), strides=(1, 1))], [], []),
        ([TensorParam("A", "int4", (), packed=2)], [], []),
        ([ScalarParam("s", "float32")], [Symbol("n", ("scalar", 0, 0))], []),
        ([TensorParam("A", "float32", (N,))], [Symbol("n", ("shape", 0, 0), scale=0)], []),
    ],
)
def test_an_artifact_at_odds_with_itself_is_refused(kind, params, symbols, out_idx):
    with pytest.raises(LoweringError):
        recorded(kind, kernel(params, symbols, out_idx=out_idx))


def test_a_scalar_cannot_be_an_output(kind):
    with pytest.raises(LanguageError, match="out_idx names parameter 0"):
        recorded(kind, kernel([ScalarParam("s", "float32")], out_idx=[0]))


def test_the_error_of_a_failed_launch(kind):
    artifact = kernel([TensorParam("A", "float32", (N,))], FROM_FIRST, [Entry("e", (N, 2, 1), (128, 1, 1), 512)])
    loaded = native(Recorder(artifact, code=7), lambda code: f"the device said {code}")
    launcher = kind(artifact, loaded, HostAdapter(), HOST)
    with pytest.raises(LaunchError) as caught:
        launcher(torch.zeros(3))
    assert caught.value.message == "gemm failed: the device said 7"
    assert caught.value.found == "code 7; launched e: grid (3, 2, 1), threads (128, 1, 1), 512 bytes of shared memory"
    unnamed = kind(artifact, native(Recorder(artifact, code=7)), HostAdapter(), HOST)
    with pytest.raises(LaunchError, match="gave no reason"):
        unnamed(torch.zeros(3))


def test_the_state_is_handed_back(kind):
    seen = []
    loaded = native(lambda state, slots, grids, stream: seen.append(state) or 0, state=0x1234)
    kind(kernel([]), loaded, HostAdapter(), HOST)()
    assert seen == [0x1234]


def test_a_launch_in_python(kind):
    artifact = kernel([TensorParam("A", "float32", (N,))], FROM_FIRST, [Entry("e", (N, 1, 1))])
    seen = []

    def launch(slots, grids, stream):
        words = ctypes.c_int64 * 4
        seen.append((list(words.from_address(slots))[:2], list(words.from_address(grids)), stream))
        return 5 if seen[-1][0][1] == 2 else 0

    launcher = kind(artifact, LoadedKernel(launch), HostAdapter(), HOST)
    tensor = torch.zeros(3)
    launcher(tensor)
    assert seen == [([pointer_of(tensor), 3], [3, 1, 1, 0], 0)]
    with pytest.raises(LaunchError, match="code 5"):
        launcher(torch.zeros(2))


def test_errors_of_a_launch_in_python_pass(kind):
    def launch(slots, grids, stream):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        kind(kernel([]), LoadedKernel(launch), HostAdapter(), HOST)()


class Streams(HostAdapter):
    def __init__(self):
        self.asked = []

    def current_stream(self, device_index):
        self.asked.append(device_index)
        return 0xABC0


def test_the_stream_of_an_adapter_that_has_streams(kind):
    adapter = Streams()
    launcher, recorder = recorded(kind, kernel([TensorParam("A", "float32", (N,))], FROM_FIRST), adapter)
    launcher(torch.zeros(3))
    assert [call[2] for call in recorder.calls] == [0xABC0]
    assert adapter.asked == [0]


def test_errors_of_the_adapter_pass(kind):
    class Broken(Streams):
        def current_stream(self, device_index):
            raise OSError("no device")

        def empty(self, shape, dtype, device_index=0):
            raise MemoryError("no memory")

    launcher, _ = recorded(kind, kernel([]), Broken())
    with pytest.raises(OSError, match="no device"):
        launcher()
    out = kernel([TensorParam("A", "float32", (3,))], out_idx=[0])
    launcher, _ = recorded(kind, out, Broken())
    with pytest.raises(MemoryError, match="no memory"):
        launcher()


def test_static_workspaces_are_kept_per_thread_and_dynamic_ones_are_not(kind):
    workspaces = []

    class Counting(HostAdapter):
        def empty(self, shape, dtype, device_index=0):
            workspaces.append((shape, dtype))
            return super().empty(shape, dtype, device_index)

    artifact = kernel([TensorParam("A", "float32", (N,))], FROM_FIRST, workspaces=[Workspace("W", "float32", (4, 8))])
    launcher, recorder = recorded(kind, artifact, Counting())
    for size in (2, 3):
        launcher(torch.zeros(size))
    assert workspaces == [((4, 8), "float32")]
    assert recorder.calls[0][0][1] == recorder.calls[1][0][1] != 0
    thread = threading.Thread(target=launcher, args=(torch.zeros(2),))
    thread.start()
    thread.join()
    assert len(workspaces) == 2
    workspaces.clear()
    artifact = kernel([TensorParam("A", "float32", (N,))], FROM_FIRST, workspaces=[Workspace("W", "float32", (N, 8))])
    launcher, recorder = recorded(kind, artifact, Counting())
    for size in (2, 3):
        launcher(torch.zeros(size))
    assert workspaces == [((2, 8), "float32"), ((3, 8), "float32")]


def test_kernels_of_the_host_have_their_workspaces_in_the_same_memory(kind):
    """A process with many kernels keeps what the largest needs, in each thread that calls them."""

    def launcher_for(*workspaces):
        return recorded(kind, kernel([TensorParam("A", "float32", (N,))], FROM_FIRST, workspaces=list(workspaces)))

    small, of_small = launcher_for(Workspace("W", "float32", (4, 8)), Workspace("V", "int8", (3,)))
    large, of_large = launcher_for(Workspace("V", "int8", (1000,)), Workspace("W", "float16", (300, 1000)))
    array = torch.zeros(2)
    for launcher in (large, small, small, large):
        launcher(array)
    thread = threading.Thread(target=small, args=(array,))
    thread.start()
    thread.join()
    (first, second), (one, other, elsewhere) = (
        [slots[1:3] for slots, *_ in recorder.calls] for recorder in (of_large, of_small)
    )
    assert first == second
    assert one == other
    assert first[0] == one[0] != elsewhere[0] != 0
    assert (first[1] - first[0], one[1] - one[0]) == (1024, 128)
    assert {address % 64 for places in (first, one, elsewhere) for address in places} == {0}


def test_a_kernel_that_is_called_while_another_gets_its_workspaces(monkeypatch):
    """A finalizer or the handler of a signal runs between two statements: here one that needs more memory."""
    small, large = (
        workspaces_module.Workspaces((Workspace("W", "float32", (size,)),), HostAdapter()) for size in (16, 64)
    )
    interruptions = []

    class Buffer(numpy.ndarray):
        def __getitem__(self, index):
            if self.base is not None and self.ndim == 1 and not interruptions:
                interruptions.append(index)
                large.get({}, 0, 0)
            return numpy.asarray(self)[index]

    monkeypatch.setattr(workspaces_module._host_memory, "buffer", None)
    monkeypatch.setattr(workspaces_module, "empty_array", lambda *facts: empty_array(*facts).view(Buffer))
    for workspaces in (small, small, large, small):
        addresses, arrays = workspaces.get({}, 0, 0)
        assert [array.ctypes.data for array in arrays] == [*addresses]
        assert [array.size for array in arrays] == [64 if workspaces is large else 16]
    assert interruptions


def test_large_workspaces_of_the_host_end_with_their_kernel(monkeypatch):
    monkeypatch.setattr(workspaces_module, "_MOST_SHARED_BYTES", 4096)
    small, large = (
        workspaces_module.Workspaces((Workspace("W", "float32", (size,)),), HostAdapter()) for size in (1024, 1025)
    )
    for workspaces in (small, large):
        assert workspaces.get({}, 0, 0) is workspaces.get({}, 0, 0)
    shared = weakref.ref(workspaces_module._host_memory.buffer)
    own = weakref.ref(large.get({}, 0, 0)[1][0])
    del small, large, workspaces
    gc.collect()
    assert shared() is not None
    assert own() is None


class Captured(HostAdapter):
    """Streams and captures as the test sets them."""

    def __init__(self):
        self.stream, self.number, self.freed = 0, 0, []

    def current_stream(self, device_index):
        return self.stream

    def capture(self, device_index, stream):
        return self.number

    def empty(self, shape, dtype, device_index=0):
        tensor = super().empty(shape, dtype, device_index)
        weakref.finalize(tensor, self.freed.append, pointer_of(tensor))
        return tensor


@pytest.mark.parametrize("rows", [4, N], ids=["static", "dynamic"])
def test_workspaces_that_a_captured_graph_uses_live_as_long_as_the_kernel(kind, rows):
    adapter = Captured()
    artifact = kernel(
        [TensorParam("A", "float32", (N,))], FROM_FIRST, workspaces=[Workspace("W", "float32", (rows, 8))]
    )
    launcher, recorder = recorded(kind, artifact, adapter)

    def launched(stream, number=0):
        adapter.stream, adapter.number = stream, number
        launcher(torch.zeros(4))
        return recorder.calls[-1][0][1]

    plain = launched(1)
    reusable = plain in adapter.freed  # what has no fixed size is let go at the end of the call, unless it is captured
    adapter.freed.clear()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(launched(1, 7)))
    thread.start()
    thread.join()
    seen += [launched(1, 8), launched(2, 7)]
    assert reusable or plain not in seen, "a graph may run beside what is launched on the stream it was captured on"
    assert len(set(seen)) == 3, "and so may two graphs, and two streams of one"
    if rows == 4:
        assert launched(1, 7) == seen[0], "what one capture launches on one stream runs in order"
    for stream in range(100, 130):
        launched(stream)
    gc.collect()
    assert not set(seen) & set(adapter.freed)
    assert adapter.freed, "those of other streams go at some time"


def test_it_can_be_subclassed(kind):
    class Kernel(kind):
        def __init__(self, artifact, loaded):
            super().__init__(artifact, loaded, HostAdapter(), HOST)
            self.latency = 3.5

    artifact = kernel([TensorParam("A", "float32", (N,))], FROM_FIRST)
    recorder = Recorder(artifact)
    launcher = Kernel(artifact, native(recorder))
    tensor = torch.zeros(3)
    launcher(tensor)
    assert recorder.slots == [pointer_of(tensor), 3]
    assert (launcher.latency, launcher.artifact, launcher.device_type) == (3.5, artifact, HOST)
    with pytest.raises(ArgumentError):
        launcher()


def test_a_launcher_without_init_says_so(kind):
    class Kernel(kind):
        def __init__(self):
            pass

    with pytest.raises((RuntimeError, AttributeError)):
        Kernel()()


def test_it_is_freed_with_what_it_holds(kind):
    artifact = kernel([TensorParam("A", "float32", (N,))], FROM_FIRST)
    launcher, recorder = recorded(kind, artifact)
    launcher(torch.zeros(3))
    reference = weakref.ref(recorder)
    del launcher, recorder
    gc.collect()
    assert reference() is None


def test_calls_leak_no_references(kind):
    artifact = kernel(
        [
            TensorParam("A", "float32", (N,), access="r"),
            TensorParam("B", "float32", (N,), access="w"),
            ScalarParam("s", "int64"),
        ],
        FROM_FIRST,
    )
    launcher, _ = recorded(kind, artifact)
    good, array, number = torch.zeros(5), numpy.zeros(5, "f4"), 10**12
    calls = [
        (good, torch.zeros(5), number),
        (array, good, number),
        (array, good[:3], number),
        (array, array[1:], number),
        (good, array, "x"),
        (good, array.astype("f8"), number),
        (array, number, array),
        (array, good),
    ]

    def run():
        for args in calls:
            with contextlib.suppress(ArgumentError):
                launcher(*args)

    run()
    counted = [good, array, number]
    before = [sys.getrefcount(value) for value in counted]
    for _ in range(50):
        run()
    gc.collect()
    assert [sys.getrefcount(value) for value in counted] == before
    array.resize(6, refcheck=False)  # refused while a buffer is held


def test_the_gil_is_released_for_long_kernels_and_kept_for_short_ones(kind):
    """A native launch that waits for another Python thread can only end when the GIL is free."""
    libc = ctypes.CDLL(None)
    sleep = ctypes.cast(libc.usleep, ctypes.c_void_p).value
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    name = b"tilecore.launch"

    def progress(longest):
        """Steps that another thread makes while a launch sleeps for 60 ms."""
        loaded = LoadedKernel(new(sleep, name, None), 60_000)
        launcher = kind(
            kernel([], entries=[Entry("e", (1, 1, 1), work=1, longest=longest)]), loaded, HostAdapter(), HOST
        )
        steps, stop = [0], threading.Event()

        def count():
            while not stop.is_set():
                steps[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        time.sleep(0.01)
        before = steps[0]
        launcher()
        steps_meanwhile = steps[0] - before
        stop.set()
        thread.join()
        return steps_meanwhile

    assert progress(longest=0) >= 10
    assert progress(longest=1_000_000) >= 10
    assert min(progress(longest=100) for _ in range(3)) <= 2  # a busy machine lets some in around the launch


def test_threads_may_share_a_launcher(kind):
    artifact = kernel(
        [TensorParam("A", "float32", (N,)), ScalarParam("s", "int64")],
        FROM_FIRST,
        workspaces=[Workspace("W", "int8", (N,))],
    )
    seen, errors = [], []

    def launch(state, slots, grids, stream):
        seen.append((slots[0], slots[2], slots[3]))
        return 0

    launcher = kind(artifact, native(launch), HostAdapter(), HOST)
    tensors = {size: torch.zeros(size) for size in range(1, 9)}

    def work(size):
        for _ in range(100):
            try:
                launcher(tensors[size], size)
                with pytest.raises(ArgumentError):
                    launcher(tensors[size], "x")
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=work, args=(size,)) for size in tensors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(seen) == 800
    assert {(pointer_of(t), size, size) for size, t in tensors.items()} == set(seen)


def test_many_parameters(kind):
    """More than a call's place on the stack holds."""
    params = [TensorParam(f"T{i}", "float32", (N, 2, 2), access="r") for i in range(60)]
    launcher, recorder = recorded(kind, kernel([*params, ScalarParam("s", "int32")], FROM_FIRST))
    tensors = [torch.zeros(3, 2, 2) if i % 2 else numpy.zeros((3, 2, 2), "f4") for i in range(60)]
    launcher(*tensors, 9)
    addresses = [pointer_of(tensor) for tensor in tensors]
    assert recorder.slots == [*addresses, 9, 3]
    with pytest.raises(ArgumentError, match=r"T59.shape\[0\]"):
        launcher(*tensors[:59], torch.zeros(4, 2, 2), 9)
