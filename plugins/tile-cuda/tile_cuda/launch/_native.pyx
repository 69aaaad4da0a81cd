# cython: language_level=3
"""The launch in C of kernels with launch attributes or tensor maps: no allocation, no lock, no Python object."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t

import itertools

INTERFACE = 3

cdef extern from "launch_native.h" nogil:
    enum: TCU_MAX_MAPS
    ctypedef int (*tcu_launch)(
        void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)
    ctypedef int (*tcu_launch_ex)(const void *, void *, void **, void **)
    ctypedef int (*tcu_encode_function)(
        void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *,
        int, int, int, int)
    ctypedef struct tcu_size:
        int64_t value
        int32_t slot
    ctypedef struct tcu_map:
        int64_t id
        int32_t slot
        int32_t rank
        int32_t dtype
        int32_t interleave
        int32_t swizzle
        int32_t promotion
        int32_t fill
        tcu_size offset
        tcu_size shape[5]
        tcu_size strides[5]
        uint32_t box[5]
        uint32_t steps[5]
    ctypedef struct tcu_map_key:
        uint64_t address
        uint64_t shape[5]
        uint64_t strides[5]
    ctypedef struct tcu_functions:
        tcu_launch launch
        tcu_launch_ex launch_ex
        tcu_encode_function encode
    ctypedef struct tcu_entry:
        const tcu_functions *driver
        unsigned threads[3]
        unsigned cluster[3]
        int32_t number
        int32_t n_parameters
        int32_t is_plain
        int32_t window_slot
        tcu_size window_bytes
        float window_ratio
        int32_t programmatic
        int32_t cooperative
        int32_t n_maps
        const tcu_map *maps
    ctypedef struct tcu_device:
        size_t window_limit
        uint64_t nothing
        int32_t *cluster_at_launch
    tcu_map_key tcu_failed_map
    int tcu_failed_code
    int tcu_start(const void *, const void *, void *, const int64_t *, const int64_t *, void *, void **)

_ids = itertools.count(1)  # of tensor maps


def failed_map():
    """(the driver's code, address, shape, strides) of the tensor map that failed last in this thread."""
    shape = tuple(tcu_failed_map.shape[i] for i in range(5))
    return tcu_failed_code, tcu_failed_map.address, shape, tuple(tcu_failed_map.strides[i] for i in range(5))


cdef class NativeStart:
    """The launch in C of the entries of one loaded kernel that have launch attributes or tensor maps.

    module: a KernelModule. ``start`` is the address of the launch, ``entry(number)`` and ``device(loaded)`` those of its
    first two arguments.
    """
    cdef tcu_functions driver
    cdef tcu_entry *entries
    cdef list memory  # of the entries' tensor maps and of the devices
    cdef readonly object module

    def __init__(self, module):
        cdef int number
        self.memory, self.module = [], module
        self.driver.launch = <tcu_launch><uintptr_t>module.address("cuLaunchKernel")
        self.driver.launch_ex = <tcu_launch_ex><uintptr_t>module.address("cuLaunchKernelEx")
        self.driver.encode = <tcu_encode_function><uintptr_t>module.address("cuTensorMapEncodeTiled")
        self.entries = <tcu_entry *>self.take(max(1, len(module.launch_entries)) * sizeof(tcu_entry))
        for number, entry in enumerate(module.launch_entries):
            self._set_entry(&self.entries[number], number, entry)

    cdef void *take(self, size_t size) except NULL:
        cdef bytearray memory = bytearray(size)
        self.memory.append(memory)
        return <void *><char *>memory

    @property
    def start(self):
        return <uintptr_t><void *>tcu_start

    @property
    def plain_start(self):
        return None

    def entry(self, int number):
        return <uintptr_t>&self.entries[number]

    def device(self, limits):
        """The address of the record of a device. limits: its DeviceLimits."""
        cdef tcu_device *device = <tcu_device *>self.take(sizeof(tcu_device) + 4 * len(limits.clusters))
        device.window_limit, device.nothing = limits.window, limits.nothing
        for i, cluster in enumerate(limits.clusters):
            device.cluster_at_launch[i] = cluster
        return <uintptr_t>device

    cdef int _set_entry(self, tcu_entry *out, int number, entry) except -1:
        cdef int i
        cdef tcu_map *maps
        out.driver, out.number, out.n_parameters = &self.driver, number, self.module.n_parameters
        if len(entry.tensor_maps) > TCU_MAX_MAPS:
            raise ValueError(f"{len(entry.tensor_maps)} tensor maps in one kernel; at most {TCU_MAX_MAPS}")
        for i in range(3):
            out.threads[i], out.cluster[i] = entry.threads[i], entry.cluster[i]
        out.is_plain, out.programmatic, out.cooperative = entry.is_plain, entry.programmatic, entry.cooperative
        out.window_slot, out.window_ratio = entry.window_slot, entry.window_ratio
        self._set_size(&out.window_bytes, entry.window_bytes)
        maps = <tcu_map *>self.take(max(1, len(entry.tensor_maps)) * sizeof(tcu_map))
        for i in range(len(entry.tensor_maps)):
            self._set_map(&maps[i], entry.tensor_maps[i])
        out.maps, out.n_maps = maps, len(entry.tensor_maps)
        return 0

    cdef int _set_map(self, tcu_map *out, made) except -1:
        cdef int i
        out.id, out.slot, out.rank = next(_ids), made.slot, made.rank
        out.dtype, out.interleave, out.swizzle, out.promotion, out.fill = made.codes
        self._set_size(&out.offset, made.offset)
        for i in range(made.rank):
            self._set_size(&out.shape[i], made.shape[i])
            out.box[i], out.steps[i] = made.box[i], made.steps[i]
        for i in range(made.rank - 1):
            self._set_size(&out.strides[i], made.strides[i])
        return 0

    cdef int _set_size(self, tcu_size *out, size) except -1:
        out.value, out.slot = self.module.place(size)
        return 0
