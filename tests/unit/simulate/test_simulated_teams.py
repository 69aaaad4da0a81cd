"""Records as parameters, clusters of blocks, work of teams and a proxy of asynchronous work: on the made-up target."""

from __future__ import annotations

import numpy as np
import pytest
from device_kit import compiled, filled, line_of, needs_compiler
from device_kit import run as run_kernel
from test_planted_bugs import planted

from tilecore.errors import LaunchError
from tilecore.simulate.arguments import Record, Tensor
from tilecore.simulate.device import SimulatedDevice
from tilecore.simulate.errors import SimulationError

pytestmark = needs_compiler


def run(source: str, threads: int, *arguments, grid=(1,), shared: int = 0, seed: int = 0, cluster=(1, 1, 1), **options):
    library = compiled(source)
    tensors = [Tensor.of(*a) if isinstance(a, tuple) else a for a in arguments]
    device = SimulatedDevice(seconds=60.0, **options)
    return device.run(library, library.symbols[0], grid, (threads,), tensors, shared, seed, cluster)


def kinds_of(source: str, *arguments, **options) -> set[str]:
    kinds = set()
    for seed in range(3):
        with pytest.raises(SimulationError) as info:
            run(source, *arguments, seed=seed, **options)
        kinds.add(info.value.kind)
    return kinds


# -- records -----------------------------------------------------------------------------------------------------------

VIEW = """
struct alignas(32) view { float* start; long long rows, step; };
KERNEL gather(const float* A, view of, float* B, int n, view to) {
  for (int i = thread_x; i < n; i += threads_x) to.start[i * to.step] = of.start[i * of.step] + float(of.rows);
}
"""


def test_records_are_passed_whole():
    a, b = Tensor.of("A", filled(64), "r"), Tensor.of("B", np.zeros(64, np.float32), "rw")
    of, to = Record(((a, 8), 5, 3, 0)), Record(((b, 4), 0, 2, 0))
    run(VIEW, 8, a, of, b, 20, to)
    np.testing.assert_array_equal(b.owner[1:41:2], a.owner[2:62:3] + 5)
    assert not b.owner[::2].any()
    with pytest.raises(SimulationError) as info:
        run(VIEW, 8, a, of, b, 22, to)
    assert info.value.kind == "out_of_bounds"
    assert info.value.tensor == "A"


# -- clusters ----------------------------------------------------------------------------------------------------------

NEIGHBOUR = """
KERNEL neighbour(float* B, int blocks) {
  TC_SHARED(shared);
  float* mine = (float*)shared;
  const unsigned rank = tc_sim_cluster_rank();
  mine[thread_x] = float(100 * block_x + thread_x);
  tc_sim_cluster_arrive(__LINE__);
  tc_sim_cluster_wait(__LINE__);
  const float* theirs = (const float*)tc_sim_remote_shared(mine, (rank + 1) % blocks, __LINE__);
  B[block_x * 32 + thread_x] = theirs[31 - thread_x];
  tc_sim_cluster_arrive(__LINE__);
  tc_sim_cluster_wait(__LINE__);  // last
}
"""


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_blocks_of_a_cluster_run_side_by_side(size, workers):
    b = np.zeros((6, 32), np.float32)
    run(NEIGHBOUR, 32, ("B", b, "w"), size, grid=(6,), cluster=(size, 1, 1), shared=128, workers=workers)
    for block in range(6):
        theirs = block // size * size + (block + 1) % size
        np.testing.assert_array_equal(b[block], 100 * theirs + 31 - np.arange(32))


def test_a_block_that_ends_too_early():
    source = NEIGHBOUR.replace("  tc_sim_cluster_wait(__LINE__);  // last\n", "")
    source = source.replace("  tc_sim_cluster_arrive(__LINE__);\n}", "}")
    argument = ("B", np.zeros((2, 32), np.float32), "w")
    kinds = set()
    for seed in range(8):
        try:
            run(source, 32, argument, 2, grid=(2,), cluster=(2, 1, 1), shared=128, seed=seed)
        except SimulationError as error:
            kinds.add(error.kind)
    assert kinds == {"ended_block"}


def test_grids_are_whole_clusters():
    with pytest.raises(LaunchError, match="no multiple of its clusters"):
        run(NEIGHBOUR, 32, ("B", np.zeros((3, 32), np.float32), "w"), 2, grid=(3,), cluster=(2, 1, 1), shared=128)


# -- teams -------------------------------------------------------------------------------------------------------------

TEAM = """
struct share { float* sums; const float* tile; };
struct pair { float* sums[64]; const float* tile; };
// sums[i] += tile[4 * thread + i], later, by 64 threads.
inline void add_later(float* sums, const float* tile, int line = TC_LINE) {
  share mine{sums, tile};
  tc_collective("an addition", mine, [line](share* const* lanes, unsigned) {
    pair all;
    all.tile = lanes[0]->tile;
    void* work = tc_sim_team_begin("an addition", line);
    for (unsigned i = 0; i < 64; ++i) {
      all.sums[i] = lanes[i]->sums;
      tc_sim_team_registers(work, i, lanes[i]->sums, 16, 1);
    }
    for (unsigned warp = 0; warp < 2; ++warp) tc_sim_team_reads(work, warp, all.tile + 128 * warp, 512);
    tc_sim_team_start(work, [](void* state) {
      const pair& all = *static_cast<pair*>(state);
      for (int i = 0; i < 256; ++i) all.sums[i / 4][i % 4] += all.tile[i];
    }, &all, sizeof all);
  }, 64, 0, line);
}
KERNEL team(const float* A, float* B) {
  TC_SHARED(shared);
  float* tile = (float*)shared;
  float sums[4] = {};
  for (int i = 0; i < 4; ++i) tile[i * 64 + thread_x] = A[i * 64 + thread_x];
  tc_sim_fence_proxy();
  tc_barrier();
  tc_sim_team_fence(__LINE__);
  add_later(sums, tile);
  add_later(sums, tile);  // second
  tc_sim_team_commit(__LINE__);
  // here
  tc_sim_team_wait(0, __LINE__);
  for (int i = 0; i < 4; ++i) B[thread_x * 4 + i] = sums[i];  // used
  // late
}
"""


def team(source: str, call=run):
    a, b = filled(256), np.zeros(256, np.float32)
    outcome = call(source, 64, ("A", a, "r"), ("B", b, "w"), shared=1024, own_proxy=True)
    return (a, b) if call is run else outcome


def test_work_of_a_team():
    a, b = team(TEAM)
    np.testing.assert_array_equal(b, 2 * a)


@pytest.mark.parametrize(("old", "new", "kind"), [
    ("  tc_sim_team_wait(0, __LINE__);\n", "\n", "missing_wait"),
    ("  tc_sim_team_commit(__LINE__);\n", "\n", "missing_wait"),
    ("  tc_sim_team_fence(__LINE__);\n", "\n", "missing_fence"),
    ("  tc_sim_fence_proxy();\n", "\n", "missing_proxy_fence"),
    ("  // here\n", "  tile[thread_x] = 0;\n", "missing_wait"),
    ("  // here\n", "  sums[1] = 0;\n", "missing_wait"),
    ("  // late\n", "  add_later(sums, tile);\n", "missing_fence"),
    ("  // late\n", "  sums[0] = 1; tc_sim_team_fence(__LINE__); add_later(sums, tile);\n", "missing_wait"),
    ("  // here\n", "  if (thread_x < 16) tc_sim_team_commit(__LINE__);\n", "mismatched_collective"),
    ("add_later(sums, tile);  // second", "if (thread_x < 32) add_later(sums, tile);", "mismatched_collective"),
])  # fmt: skip
def test_wrong_work_of_a_team(old, new, kind):
    assert team(planted(TEAM, old, new), kinds_of) == {kind}


def test_the_error_names_both_lines():
    source = planted(TEAM, "  tc_sim_team_wait(0, __LINE__);\n", "\n")
    with pytest.raises(SimulationError) as info:
        team(source)
    assert info.value.line == line_of(source, "// used")
    assert f"started at line {line_of(source, '// second')}" in str(info.value)


# -- the proxy ---------------------------------------------------------------------------------------------------------

OUT = """
KERNEL out(float* B) {
  TC_SHARED(shared);
  ((float*)shared)[thread_x] = float(thread_x);
  tc_barrier();
  if (thread_x == 0) {
    // here
    tc_bulk_copy_async_group(B, shared, 256);
    tc_commit_group(tc_channel_bulk);
    tc_wait_group(tc_channel_bulk, 0);
  }
}
"""


def test_a_fence_for_asynchronous_work():
    b = np.zeros(64, np.float32)
    run_kernel(OUT, 64, ("B", b, "w"), shared=256)  # with no proxy of its own
    fenced = planted(OUT, "    // here\n", "    tc_sim_fence_proxy();\n")
    run(fenced, 64, ("B", b, "w"), shared=256, own_proxy=True)
    np.testing.assert_array_equal(b, np.arange(64))
    assert kinds_of(OUT, 64, ("B", b, "w"), shared=256, own_proxy=True) == {"missing_proxy_fence"}
