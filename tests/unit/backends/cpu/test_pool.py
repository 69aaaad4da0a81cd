"""The thread pool of host kernels: every block once, on its own scratch, whatever else goes on; both pools."""

import ctypes
import os
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from fresh_processes import FOLDER, output_of, run_code
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from object_kit import GCC, from_c

from tilecore.backends.cpu import elf, pool, pool_py
from tilecore.errors import ArgumentError
from tilecore.tensors.current_device import get_available_cpu_count

BLOCKS = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


class Pool:
    """One of the two pools, behind one interface: launch entries, set the number of threads."""

    def __init__(self, module):
        self.module = module
        self.is_built = module is not pool_py

    def launcher(self, entries, owner=None):
        """``launch(slots, *grids)`` of entries (address, nanoseconds of a block); grids are (x, y, z, scratch)."""
        if self.is_built:
            state = self.module.State(entries)
            native = LAUNCH(_pointer(self.module.launch_capsule(), b"tilecore.launch"))
        else:
            state = self.module.Kernel(entries)

        def launch(slots, *grids):
            words = (ctypes.c_int64 * max(1, len(slots)))(*slots)
            sizes = (ctypes.c_int64 * (4 * len(grids)))(*(n for grid in grids for n in grid))
            at = (ctypes.addressof(words), ctypes.addressof(sizes))
            return native(state.address, *at, None) if self.is_built else state.launch(*at, 0)

        launch.keeps = (state, owner)
        return launch

    def of(self, *functions, work=0):
        """A launcher of Python functions(slots, begin, end, scratch)."""
        pointers = [BLOCKS(f) for f in functions]
        return self.launcher([(ctypes.cast(p, ctypes.c_void_p).value, work) for p in pointers], pointers)


def modules():
    return [pool_py] + ([pool._pool] if pool.built()[0] else [])


@pytest.fixture(params=modules(), ids=lambda m: m.__name__.rpartition(".")[2])
def threads(request):
    """A pool, with four threads; restored afterwards."""
    before = request.param.get_num_threads()
    request.param.set_num_threads(4)
    yield Pool(request.param)
    request.param.set_num_threads(max(1, before))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.tuples(*[st.integers(0, 12)] * 3), st.integers(1, 5), st.sampled_from((0, 1, 10**6)))
def test_every_block_runs_once(threads, grid, count, work):
    threads.module.set_num_threads(count)
    seen, users = [], set()

    def record(slots, begin, end, scratch):
        seen.extend(range(begin, end))
        users.add(threading.get_ident())
        return 0 if 0 <= begin < end else 9

    assert threads.of(record, work=work)([], (*grid, 0)) == 0
    assert sorted(seen) == list(range(grid[0] * grid[1] * grid[2]))
    assert len(users) <= count


def test_several_threads_take_part(threads):
    meeting = threading.Barrier(4, timeout=20)

    def meet(slots, begin, end, scratch):
        try:
            meeting.wait()
        except threading.BrokenBarrierError:
            return 1
        return 0

    assert threads.of(meet)([], (4, 1, 1, 0)) == 0


def test_slots_are_passed_on(threads):
    seen = []
    launch = threads.of(lambda slots, begin, end, scratch: seen.append(slots[1]) or 0)
    assert launch([3, 2**40], (1, 1, 1, 0)) == 0
    assert seen == [2**40]


def test_entries_run_in_order_and_each_waits_for_the_one_before(threads):
    order = []

    def first(slots, begin, end, scratch):
        time.sleep(0.002)
        order.extend("a" * (end - begin))
        return 0

    def second(slots, begin, end, scratch):
        order.extend("b" * (end - begin))
        return 0

    def never(slots, begin, end, scratch):
        order.append("empty")
        return 0

    assert threads.of(first, never, second)([], (8, 1, 1, 0), (4, 0, 1, 0), (6, 1, 1, 0)) == 0
    assert "".join(order) == "a" * 8 + "b" * 6


def test_scratch_is_aligned_private_and_large_enough(threads):
    size = 10_000
    seen, lock = {}, threading.Lock()

    def use(slots, begin, end, scratch):
        me = threading.get_ident()
        ctypes.memset(scratch + 4, begin % 251, size - 4)  # the first four bytes are the status
        time.sleep(0.001)
        if bytes(ctypes.string_at(scratch + 4, size - 4)) != bytes([begin % 251]) * (size - 4):
            return 1
        with lock:
            seen.setdefault(me, set()).add(scratch)
        return 0 if scratch % 64 == 0 else 2

    launch = threads.of(use)
    assert launch([], (40, 1, 1, size)) == 0
    addresses = [address for of_a_thread in seen.values() for address in of_a_thread]
    assert len(addresses) == len(set(addresses)) == len(seen)


def test_scratch_that_cannot_be_had_is_a_code_not_a_crash(threads):
    launch = threads.of(lambda slots, begin, end, scratch: 0)
    for blocks in (1, 8):
        assert launch([], (blocks, 1, 1, 2**62)) == pool.NO_MEMORY
    assert launch([], (8, 1, 1, 64)) == 0


@pytest.mark.parametrize("count", [1, 4])
def test_the_code_of_a_block_ends_the_launch(threads, count):
    threads.module.set_num_threads(count)
    later = []

    def fail(slots, begin, end, scratch):
        return 42 if begin <= 5 < end else 0

    def after(slots, begin, end, scratch):
        later.append(begin)
        return 0

    assert threads.of(fail, after)([], (100, 1, 1, 0), (1, 1, 1, 0)) == 42
    assert not later
    assert threads.of(after)([], (3, 1, 1, 0)) == 0


@pytest.mark.parametrize("count", [1, 4])
def test_a_status_in_scratch_is_the_code_and_does_not_stay(threads, count):
    """The first four bytes: 0 when an entry starts, and what it leaves there ends the launch. There are always 64."""
    threads.module.set_num_threads(count)
    starts = []

    def stop(slots, begin, end, scratch):
        starts.append(ctypes.c_int32.from_address(scratch).value)
        ctypes.memset(scratch + 4, 255, 60)
        if begin <= slots[0] < end:
            ctypes.c_int32.from_address(scratch).value = 7
        return 0

    launch = threads.of(stop)
    for _ in range(3):
        assert launch([50], (100, 1, 1, 0)) == 7
        assert launch([100], (100, 1, 1, 0)) == 0
    nested = threads.of(lambda slots, begin, end, scratch: 9 if launch([0], (3, 1, 1, 0)) == 7 else 1)
    assert nested([], (2, 1, 1, 0)) == 9
    assert set(starts) == {0}


def test_a_launch_from_inside_a_kernel_runs_on_its_own_thread_and_scratch(threads):
    seen = []
    inner = threads.of(lambda slots, begin, end, scratch: seen.append((threading.get_ident(), scratch)) or 0)

    def outer(slots, begin, end, scratch):
        ctypes.memset(scratch + 4, 7, 252)
        before = len(seen)
        if inner([], (5, 1, 1, 256)):
            return 1
        mine = [entry for entry in seen[before:] if entry[0] == threading.get_ident()]
        return 0 if mine and all(entry[1] != scratch for entry in mine) else 2

    assert threads.of(outer)([], (8, 1, 1, 256)) == 0


def test_launches_from_several_threads_at_once(threads):
    errors = []

    def work(number):
        seen = []

        def record(slots, begin, end, scratch):
            seen.extend((slots[0], i) for i in range(begin, end))
            return 0

        launch = threads.of(record)
        for _ in range(30):
            seen.clear()
            if launch([number], (17, 1, 1, 128)) or sorted(seen) != [(number, i) for i in range(17)]:
                errors.append((number, len(seen)))

    callers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not errors


def test_the_number_of_threads_can_be_changed_at_any_time(threads):
    launch = threads.of(lambda slots, begin, end, scratch: 0)
    stop = threading.Event()

    def change():
        count = 1
        while not stop.is_set():
            count = count % 5 + 1
            threads.module.set_num_threads(count)
            time.sleep(0.0005)

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(300):
            assert launch([], (20, 1, 1, 64)) == 0
    finally:
        stop.set()
        changer.join()
    threads.module.set_num_threads(3)
    launch([], (20, 1, 1, 64))
    assert threads.module.workers() == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_of_fork_starts_over(threads):
    seen = []
    launch = threads.of(lambda slots, begin, end, scratch: seen.append(end - begin) or 0)
    assert launch([], (50, 1, 1, 64)) == 0
    child = os.fork()
    if child == 0:
        code = 1
        try:
            seen.clear()
            fresh = threads.module.workers() == 0
            code = 0 if fresh and launch([], (50, 1, 1, 64)) == 0 and sum(seen) == 50 else 2
        finally:
            os._exit(code)
    assert _wait(child) == 0
    seen.clear()
    assert launch([], (50, 1, 1, 64)) == 0
    assert sum(seen) == 50


def _wait(child):
    """Exit code of a child process; it is killed when it takes longer than 20 seconds."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "hung"


AT_EXIT = """
import ctypes, threading, time
from test_pool import Pool, modules
kit = Pool([m for m in modules() if m.__name__.endswith({name!r})][0])
kit.module.set_num_threads(3)
launch = kit.of(lambda slots, begin, end, scratch: time.sleep(0.01) or 0)
launch([], (6, 1, 1, 64))
def forever():
    while True:
        launch([], (6, 1, 1, 64))
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.1)
print("done")
"""


def test_the_process_can_end_while_kernels_run(threads):
    name = threads.module.__name__.rpartition(".")[2]
    folder = os.path.dirname(__file__)
    paths = os.pathsep.join([folder, FOLDER, os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])
    code = AT_EXIT.format(name=name)
    assert output_of(code, timeout=60, PYTHONPATH=paths) == "done\n"


SPIN = """
#include <stdint.h>
int32_t spin(const int64_t *slots, int64_t begin, int64_t end, uint8_t *scratch) {
    volatile double x = 1;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < slots[0]; k++) x = x * 1.0000001 + 0.1;
    return 0;
}
"""


@pytest.mark.skipif(GCC is None or not elf.supported()[0], reason="needs gcc and a machine that loads objects")
@pytest.mark.skipif(get_available_cpu_count() < 2, reason="needs two CPUs")
def test_two_threads_share_the_work_evenly(threads):
    """As fast as two plain threads that run one half each; so twice as fast as one where two CPUs are free."""
    loaded = elf.load_object(from_c(SPIN, "-O2", "-fPIC"))
    launch = threads.launcher([(loaded.address("spin"), 50_000)], loaded)
    threads.module.set_num_threads(2)
    slots = (ctypes.c_int64 * 1)(10_000)
    run = BLOCKS(loaded.address("spin"))

    def halves():
        pair = [threading.Thread(target=run, args=(slots, begin, begin + 32, None)) for begin in (0, 32)]
        for thread in pair:
            thread.start()
        for thread in pair:
            thread.join()

    ratios = []
    for _ in range(10):  # other programs may have a CPU for a while
        plain = min(_seconds(halves) for _ in range(10))
        ratios.append(min(_seconds(lambda: launch([10_000], (64, 1, 1, 0))) for _ in range(10)) / plain)
        if ratios[-1] < 1.15:
            break
    assert min(ratios) < 1.15, ratios


def _seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def test_little_work_stays_on_the_calling_thread(threads):
    users = set()
    launch = threads.of(lambda slots, begin, end, scratch: users.add(threading.get_ident()) or 0, work=100)
    for _ in range(20):
        assert launch([], (50, 1, 1, 0)) == 0
    assert users == {threading.get_ident()}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_workers_of_the_built_pool_take_no_signals():
    if not pool.built()[0]:
        pytest.skip("the extension is not built")
    kit = Pool(pool._pool)
    before = pool._pool.get_num_threads()
    tasks = set(os.listdir("/proc/self/task"))
    pool._pool.set_num_threads(1)
    pool._pool.set_num_threads(3)
    kit.of(lambda slots, begin, end, scratch: 0)([], (9, 1, 1, 0))
    new = set(os.listdir("/proc/self/task")) - tasks
    pool._pool.set_num_threads(max(1, before))
    blocked = []
    kit.module.set_num_threads(3)
    kit.of(lambda slots, begin, end, scratch: 0)([], (9, 1, 1, 0))
    for task in set(os.listdir("/proc/self/task")) - tasks:
        with open(f"/proc/self/task/{task}/status") as status:
            mask = next(int(line.split()[1], 16) for line in status if line.startswith("SigBlk"))
        blocked.append(mask >> 1 & 1)  # SIGINT
    assert len(blocked) >= min(2, len(new))
    assert all(blocked)
    pool._pool.set_num_threads(max(1, before))


def test_the_number_of_threads_is_checked():
    for wrong in (0, -1, 2.0, True, "4", pool.MOST_THREADS + 1):
        with pytest.raises(ArgumentError, match="the number of threads is wrong"):
            pool.set_num_threads(wrong)


def test_the_environment_sets_the_number_of_threads():
    code = "from tilecore.backends.cpu import pool; print(pool.get_num_threads(), *pool.built())"
    for pure in ("0", "1"):
        output = output_of(code, default_settings=True, TILECORE_NUM_THREADS="3", TILECORE_PURE_PYTHON=pure)
        assert output.startswith("3 ")
        assert ("TILECORE_PURE_PYTHON is set" in output) == (pure == "1")
    assert output_of(code, default_settings=True).startswith(f"{get_available_cpu_count()} ")
    assert "TILECORE_NUM_THREADS=many" in run_code(code, default_settings=True, TILECORE_NUM_THREADS="many").stderr


def test_an_extension_that_cannot_be_used_is_replaced():
    for broken, reason in (("None", "is not built"), ("types.SimpleNamespace(INTERFACE=-1)", "is of another version")):
        code = f"import sys, types; sys.modules['tilecore.backends.cpu._pool'] = {broken}\n"
        code += "from tilecore.backends.cpu import pool; print(*pool.built())"
        ended = run_code(code, default_settings=True)
        assert ended.stdout.startswith("False ")
        assert reason in ended.stdout


def test_launch_of_gives_what_a_loaded_kernel_needs():
    seen = []
    pointers = [BLOCKS(lambda slots, begin, end, scratch: seen.append((begin, end)) or 0) for _ in range(2)]
    addresses = [ctypes.cast(p, ctypes.c_void_p).value for p in pointers]
    launch, state, owner = pool.launch_of(addresses, [100, 0])
    grids = (ctypes.c_int64 * 8)(3, 1, 1, 0, 1, 1, 1, 0)
    call = SimpleNamespace(slots=(ctypes.c_int64 * 1)(), grids=grids)
    where = (ctypes.addressof(call.slots), ctypes.addressof(call.grids))
    if pool.built()[0]:
        assert LAUNCH(_pointer(launch, b"tilecore.launch"))(state, *where, None) == 0
    else:
        assert launch(*where, 0) == 0
    assert seen == [(0, 3), (0, 1)]
    assert owner is not None
