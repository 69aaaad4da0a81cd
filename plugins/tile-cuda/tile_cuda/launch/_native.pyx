# cython: language_level=3
"""The launch in C: the driver's entry points by address, no allocation, no lock, no Python object."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc

import itertools

INTERFACE = 2

cdef extern from "launch_native.h" nogil:
    enum: TCU_MAX_DEVICES, TCU_MAX_ENTRIES, TCU_MAX_MAPS, TCU_STACK_SLOTS, TCU_BAD_DEVICE, TCU_NO_MEMORY, TCU_LOAD_FAILED
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
    ctypedef struct tcu_entry:
        unsigned threads[3]
        unsigned cluster[3]
        int32_t is_plain
        int32_t window_slot
        tcu_size window_bytes
        float window_ratio
        int32_t programmatic
        int32_t cooperative
        int32_t n_maps
        const tcu_map *maps
    ctypedef struct tcu_device:
        void *context
        void *functions[64]
        int32_t cluster_at_launch[64]
        size_t window_limit
        uint64_t nothing
    ctypedef struct tcu_state:
        void *launch
        void *launch_ex
        void *get_current
        void *push
        void *pop
        void *encode
        int32_t n_slots
        int32_t n_entries
        tcu_entry entries[64]
        tcu_device *devices[64]
        void *owner
    tcu_map_key tcu_failed_map
    int tcu_failed_code
    int tcu_all(const tcu_state *, const tcu_device *, const int64_t *, const int64_t *, void *, void **)

_ids = itertools.count(1)  # of tensor maps


def failed_map():
    """(the driver's code, address, shape, strides) of the tensor map that failed last in this thread."""
    shape = tuple(tcu_failed_map.shape[i] for i in range(5))
    return tcu_failed_code, tcu_failed_map.address, shape, tuple(tcu_failed_map.strides[i] for i in range(5))


cdef int load(tcu_state *state, int index) noexcept with gil:
    """Loads the kernel on one more device; 0, or a code."""
    cdef NativeLaunch owner = <NativeLaunch>state.owner
    cdef tcu_device *made
    try:
        loaded = owner.module.on_device(index)
        made = <tcu_device *>PyMem_Calloc(1, sizeof(tcu_device))
        if made == NULL:
            return TCU_NO_MEMORY
        made.context = <void *><uintptr_t>loaded.context
        made.window_limit = loaded.window_limit
        made.nothing = loaded.nothing
        for i, function in enumerate(loaded.functions):
            made.functions[i] = <void *><uintptr_t>function
            made.cluster_at_launch[i] = loaded.clusters[i]
        if state.devices[index] == NULL:
            state.devices[index] = made
        else:
            PyMem_Free(made)
        return 0
    except BaseException as error:
        owner.module.failures.keep(error)
        return TCU_LOAD_FAILED


cdef int launch(void *handle, const int64_t *slots, const int64_t *grids, int index, void *stream) noexcept nogil:
    cdef tcu_state *state = <tcu_state *>handle
    cdef int code
    cdef void *stack[TCU_STACK_SLOTS + TCU_MAX_MAPS]
    cdef void **parameters = stack
    if index < 0 or index >= TCU_MAX_DEVICES:
        return TCU_BAD_DEVICE
    if state.devices[index] == NULL:
        code = load(state, index)
        if code != 0:
            return code
    if state.n_slots > TCU_STACK_SLOTS:
        parameters = <void **>malloc((state.n_slots + TCU_MAX_MAPS) * sizeof(void *))
        if parameters == NULL:
            return TCU_NO_MEMORY
    code = tcu_all(state, state.devices[index], slots, grids, stream, parameters)
    if parameters != stack:
        free(parameters)
    return code


cdef class NativeLaunch:
    """The launch of one loaded kernel. module: a KernelModule. ``capsule`` and ``state`` go into a LoadedKernel."""
    cdef tcu_state *state_
    cdef list maps  # the memory of the entries' tensor maps
    cdef readonly object module
    cdef readonly object capsule

    def __cinit__(self, module):
        self.state_ = <tcu_state *>PyMem_Calloc(1, sizeof(tcu_state))
        if self.state_ == NULL:
            raise MemoryError()
        self.maps = []

    def __init__(self, module):
        cdef tcu_state *state = self.state_
        entries = module.entries
        if len(entries) > TCU_MAX_ENTRIES:
            raise ValueError(f"{len(entries)} kernels in one call; at most {TCU_MAX_ENTRIES}")
        self.module = module
        state.owner = <void *>self
        state.launch = <void *><uintptr_t>module.address("cuLaunchKernel")
        state.launch_ex = <void *><uintptr_t>module.address("cuLaunchKernelEx")
        state.get_current = <void *><uintptr_t>module.address("cuCtxGetCurrent")
        state.push = <void *><uintptr_t>module.address("cuCtxPushCurrent_v2")
        state.pop = <void *><uintptr_t>module.address("cuCtxPopCurrent_v2")
        state.encode = <void *><uintptr_t>module.address("cuTensorMapEncodeTiled")
        state.n_slots, state.n_entries = module.n_slots, len(entries)
        for number, entry in enumerate(entries):
            self._set_entry(&state.entries[<int>number], entry)
        self.capsule = PyCapsule_New(<void *>launch, "tilecore.launch_on_device", NULL)

    cdef int _set_entry(self, tcu_entry *out, entry) except -1:
        cdef int i
        cdef tcu_map *maps
        if len(entry.tensor_maps) > TCU_MAX_MAPS:
            raise ValueError(f"{len(entry.tensor_maps)} tensor maps in one kernel; at most {TCU_MAX_MAPS}")
        for i in range(3):
            out.threads[i], out.cluster[i] = entry.threads[i], entry.cluster[i]
        out.is_plain, out.programmatic, out.cooperative = entry.is_plain, entry.programmatic, entry.cooperative
        out.window_slot, out.window_ratio = entry.window_slot, entry.window_ratio
        self._set_size(&out.window_bytes, entry.window_bytes)
        memory = bytearray(max(1, len(entry.tensor_maps)) * sizeof(tcu_map))
        self.maps.append(memory)
        maps = <tcu_map *><void *><char *>memory
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

    @property
    def state(self):
        return <uintptr_t>self.state_

    def __dealloc__(self):
        if self.state_ != NULL:
            for i in range(TCU_MAX_DEVICES):
                PyMem_Free(self.state_.devices[i])
            PyMem_Free(self.state_)
