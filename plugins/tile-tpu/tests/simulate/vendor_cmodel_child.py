"""Runs kernels on the vendor's CModel of BM1690 or SG2260E; a process of its own, since an assertion ends it.

stdin: a pickle of (folder of the wheel's libraries, emulator, cores, kernel library, [(entry, arrays, tail, blocks)]),
tail being the bytes of the struct after six addresses. The file named in argv[1] gets a pickle of the arrays after each
launch, so that what came before an abort is known.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import struct
import sys


def main() -> None:
    folder, emulator, cores, kernels, jobs = pickle.load(sys.stdin.buffer)
    os.environ.update(
        TPU_RT_CORE_NUM=str(cores), TPU_EMULATOR_PATH=f"{folder}/{emulator}",
        TPU_SCALAR_EMULATOR_PATH=f"{folder}/libtpuv7_scalar_emulator.so",
    )  # fmt: skip
    rt = ctypes.CDLL(f"{folder}/libtpuv7_rt.so", mode=ctypes.RTLD_GLOBAL)
    pointer, size = ctypes.c_void_p, ctypes.c_ulonglong
    rt.tpuRtKernelLoadModuleFile.restype = pointer
    stream = pointer()
    assert rt.tpuRtInit() == 0
    assert rt.tpuRtSetDevice(0) == 0
    assert rt.tpuRtStreamCreate(ctypes.byref(stream)) == 0
    module = rt.tpuRtKernelLoadModuleFile(kernels.encode(), stream)
    with open(sys.argv[1], "wb") as out:
        for entry, arrays, tail, blocks in jobs:
            places = []
            for array in arrays:
                place = pointer()
                assert rt.tpuRtMalloc(ctypes.byref(place), size(max(array.nbytes, 64)), 0) == 0
                rt.tpuRtMemcpyS2D(place, array.ctypes.data_as(pointer), size(array.nbytes))
                places.append(place)
            addresses = [place.value or 0 for place in places] + [0] * (6 - len(places))
            one = struct.pack("6Q", *addresses) + tail
            every = one * blocks
            code = rt.tpuRtKernelLaunch(
                pointer(module), entry.encode(), every, ctypes.c_uint32(len(every)), size(1), size(blocks), stream
            )
            assert code == 0, code
            assert rt.tpuRtStreamSynchronize(stream) == 0
            for array, place in zip(arrays, places, strict=True):
                rt.tpuRtMemcpyD2S(array.ctypes.data_as(pointer), place, size(array.nbytes))
                rt.tpuRtFree(ctypes.byref(place), 0)
            pickle.dump(arrays, out)
            out.flush()
    os._exit(0)


main()
