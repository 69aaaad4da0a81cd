"""The launch of cubins in C, for shared libraries: the driver's library is opened at the first launch.

The cubin is a constant of the library. Kernels run on the stream of the call, in the primary context of the device.
"""

from __future__ import annotations

from tile_cuda.driver import DRIVER
from tile_cuda.launch.entries import launch_entry
from tilecore.artifact.records import Artifact, Entry
from tilecore.contract.adapter import HostCode

_MOST_DEVICES = 64
_IN_A_LINE = 24  # bytes of the cubin in a line of source
_DRIVER = r"""
#include <dlfcn.h>
typedef struct { int threads[3]; int shared; const char *symbol; } tilecore_kernel;
static int (*tilecore_cu_launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                                 void **, void **);
static int (*tilecore_cu_push)(void *), (*tilecore_cu_pop)(void **);
static void *tilecore_context[DEVICES], *tilecore_function[DEVICES][KERNELS];

static int tilecore_load(int device) {
  void *driver = dlopen("LIBRARY", RTLD_NOW | RTLD_LOCAL), *module = NULL;
  int handle, code;
  if (driver == NULL) return 100;  // CUDA_ERROR_NO_DEVICE
  int (*initialize)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*get)(int *, int) = (int (*)(int *, int))dlsym(driver, "cuDeviceGet");
  int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*load)(void **, const void *) = (int (*)(void **, const void *))dlsym(driver, "cuModuleLoadData");
  int (*find)(void **, void *, const char *);
  *(void **)&find = dlsym(driver, "cuModuleGetFunction");
  int (*set)(void *, int, int) = (int (*)(void *, int, int))dlsym(driver, "cuFuncSetAttribute");
  *(void **)&tilecore_cu_launch = dlsym(driver, "cuLaunchKernel");
  *(void **)&tilecore_cu_push = dlsym(driver, "cuCtxPushCurrent_v2");
  *(void **)&tilecore_cu_pop = dlsym(driver, "cuCtxPopCurrent_v2");
  void *context = NULL, *popped;
  if ((code = initialize(0)) || (code = get(&handle, device)) || (code = retain(&context, handle))) return code;
  if ((code = tilecore_cu_push(context))) return code;
  code = load(&module, tilecore_cubin);
  for (int number = 0; code == 0 && number < KERNELS; ++number) {
    code = find(&tilecore_function[device][number], module, tilecore_kernels[number].symbol);
    if (code == 0 && tilecore_kernels[number].shared > 48 << 10)  // attribute 8: the most dynamic shared memory
      code = set(tilecore_function[device][number], 8, tilecore_kernels[number].shared);
  }
  tilecore_cu_pop(&popped);
  if (code == 0) tilecore_context[device] = context;
  return code;
}

static int tilecore_current_device(int *device) {
  void *driver = dlopen("LIBRARY", RTLD_NOW | RTLD_LOCAL), *context = NULL;
  if (driver == NULL) return 100;  // CUDA_ERROR_NO_DEVICE
  int (*initialize)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*current)(void **) = (int (*)(void **))dlsym(driver, "cuCtxGetCurrent");
  int (*get)(int *) = (int (*)(int *))dlsym(driver, "cuCtxGetDevice");
  const int code = initialize(0);
  if (code != 0) return code;
  *device = 0;  // where no context is current
  if (current(&context) != 0 || context == NULL) return 0;
  return get(device);
}

static int tilecore_launch(const int64_t *slots, const int64_t *grids, int device) {
  void *parameters[SLOTS + 1], *popped, *stream = tilecore_stream(device);
  int code = 0;
  if (device < 0 || device >= DEVICES) return 101;  // CUDA_ERROR_INVALID_DEVICE
  if (tilecore_context[device] == NULL && (code = tilecore_load(device)) != 0) return code;
  for (int number = 0; number < SLOTS; ++number) parameters[number] = (void *)&slots[number];
  if ((code = tilecore_cu_push(tilecore_context[device]))) return code;
  for (int number = 0; code == 0 && number < KERNELS; ++number) {
    const tilecore_kernel *kernel = &tilecore_kernels[number];
    const int64_t *grid = grids + 4 * number;
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) continue;
    const unsigned x = (unsigned)grid[0], y = (unsigned)grid[1], z = (unsigned)grid[2], shared = (unsigned)grid[3];
    const int *threads = kernel->threads;
    code = tilecore_cu_launch(tilecore_function[device][number], x, y, z, (unsigned)threads[0], (unsigned)threads[1],
                              (unsigned)threads[2], shared, stream, parameters, NULL);
  }
  tilecore_cu_pop(&popped);
  return code;
}
"""


def host_code(artifact: Artifact) -> HostCode | None:
    """The launch of an artifact's entries; None for one that needs launch attributes or tensor maps."""
    facts = [launch_entry(entry) for entry in artifact.entries]
    if not all(isinstance(entry.shared_bytes, int) for entry in artifact.entries):
        return None
    if not all(fact.is_plain and not fact.tensor_maps and fact.carveout is None for fact in facts):
        return None
    kernels = ",\n".join(_kernel(entry) for entry in artifact.entries)
    # two threads may load at once: a module more, which does no harm
    text = _DRIVER.replace("DEVICES", str(_MOST_DEVICES)).replace("KERNELS", str(len(artifact.entries)))
    text = text.replace("SLOTS", str(len(artifact.params) + len(artifact.symbols))).replace("LIBRARY", DRIVER)
    head, types, rest = text.partition("} tilecore_kernel;\n")
    table = f"static const tilecore_kernel tilecore_kernels[] = {{\n{kernels}}};\n"
    source = f"{head}{types}{table}{_constant(artifact.binary)}{rest}"
    return HostCode(source, has_streams=True, finds_device=True)


def _kernel(entry: Entry) -> str:
    threads = ", ".join(map(str, entry.threads))
    return f'  {{{{{threads}}}, {entry.shared_bytes}, "{entry.symbol}"}}'


def _constant(binary: bytes) -> str:
    lines = [", ".join(map(str, binary[at : at + _IN_A_LINE])) for at in range(0, len(binary), _IN_A_LINE)]
    text = ",\n".join(lines)
    return f"static const unsigned char tilecore_cubin[] __attribute__((aligned(16))) = {{\n{text}}};\n"
