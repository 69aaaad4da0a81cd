"""The launch of host kernels in C, for shared libraries: blocks one after another, by OpenMP on several threads."""

from __future__ import annotations

from tilecore.artifact.records import Artifact
from tilecore.backends.cpu.extensions import TILE_FEATURES
from tilecore.backends.cpu.pool import NO_MEMORY
from tilecore.backends.cpu.target import features_in
from tilecore.contract.adapter import HostCode
from tilecore.target import Target

_LEAST = 64  # bytes of a thread's scratch memory, and their alignment (pool.py)
_RUN = r"""
static void *tilecore_allocate(int64_t bytes, int device) {
  (void)device;
  return aligned_alloc(LEAST, (size_t)(bytes < LEAST ? LEAST : (bytes + LEAST - 1) / LEAST * LEAST));
}
static void tilecore_free(void *memory, int device) {
  (void)device;
  free(memory);
}
typedef void (*tilecore_entry)(const int64_t *slots, int64_t begin, int64_t end, uint8_t *scratch);
static int tilecore_run(tilecore_entry entry, const int64_t *slots, const int64_t *grid) {
  const int64_t blocks = grid[0] * grid[1] * grid[2];
  const size_t bytes = (size_t)(grid[3] < LEAST ? LEAST : (grid[3] + LEAST - 1) / LEAST * LEAST);
  int failed = 0;
#pragma omp parallel shared(failed)
  {
    uint8_t *scratch = aligned_alloc(LEAST, bytes);
    int code = scratch == NULL ? NO_MEMORY : 0;
    if (scratch != NULL) memset(scratch, 0, 4);
#pragma omp for schedule(dynamic)
    for (int64_t block = 0; block < blocks; ++block) {
      if (code != 0) continue;
      entry(slots, block, block + 1, scratch);
      memcpy(&code, scratch, 4);
    }
    free(scratch);
    if (code != 0) {
#pragma omp critical
      failed = code;
    }
  }
  return failed;
}
"""
NO_TILES = -2
_ERRORS = {
    NO_MEMORY: "out of memory for scratch",
    NO_TILES: "the kernel needs tile registers (AMX), which the processor has not, or the system does not lend",
}
# arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA), as amx_permission.py
_ASK_FOR_TILES = r"""
#include <unistd.h>
long syscall(long number, ...);
static int tilecore_may_use_tiles(void) {
  static int answer;
  if (answer == 0) answer = syscall(158, 0x1023L, 18UL) == 0 ? 1 : -1;
  return answer > 0;
}
"""


def host_code(artifact: Artifact) -> HostCode:
    """The launch of an artifact's entries, in their order."""
    symbols = [entry.symbol for entry in artifact.entries]
    declared = [f"void {symbol}(const int64_t *, int64_t, int64_t, uint8_t *);" for symbol in symbols]
    calls = [
        f"  if (code == 0) code = tilecore_run({symbol}, slots, grids + {4 * number});"
        for number, symbol in enumerate(symbols)
    ]
    head = "static int tilecore_launch(const int64_t *slots, const int64_t *grids, int device) {"
    begin = ["  int code = 0;", "  (void)device;"]
    run = _RUN
    if TILE_FEATURES & features_in(Target.parse(artifact.target)):
        run += _ASK_FOR_TILES
        begin.append(f"  if (!tilecore_may_use_tiles()) return {NO_TILES};")
    lines = [*declared, run.replace("LEAST", str(_LEAST)).replace("NO_MEMORY", str(NO_MEMORY)), head, *begin, *calls]
    return HostCode("\n".join([*lines, "  return code;", "}", ""]), (artifact.binary,), allocates=True, errors=_ERRORS)
