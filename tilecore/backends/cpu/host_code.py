"""The launch of host kernels in C, for shared libraries: blocks one after another, by OpenMP on several threads."""

from __future__ import annotations

from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import HostCode

_LEAST = 64  # bytes of a thread's scratch memory, and their alignment (pool.py)
_RUN = r"""
typedef void (*tilecore_entry)(const int64_t *slots, int64_t begin, int64_t end, uint8_t *scratch);
static int tilecore_run(tilecore_entry entry, const int64_t *slots, const int64_t *grid) {
  const int64_t blocks = grid[0] * grid[1] * grid[2];
  const size_t bytes = (size_t)(grid[3] < LEAST ? LEAST : (grid[3] + LEAST - 1) / LEAST * LEAST);
  int failed = 0;
#pragma omp parallel shared(failed)
  {
    uint8_t *scratch = aligned_alloc(LEAST, bytes);
    int code = scratch == NULL ? -1 : 0;
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


def host_code(artifact: Artifact) -> HostCode:
    """The launch of an artifact's entries, in their order."""
    symbols = [entry.symbol for entry in artifact.entries]
    declared = [f"void {symbol}(const int64_t *, int64_t, int64_t, uint8_t *);" for symbol in symbols]
    calls = [
        f"  if (code == 0) code = tilecore_run({symbol}, slots, grids + {4 * number});"
        for number, symbol in enumerate(symbols)
    ]
    head = "static int tilecore_launch(const int64_t *slots, const int64_t *grids, int device) {"
    lines = [*declared, _RUN.replace("LEAST", str(_LEAST)), head, "  int code = 0;", "  (void)device;", *calls]
    return HostCode("\n".join([*lines, "  return code;", "}", ""]), (artifact.binary,))
