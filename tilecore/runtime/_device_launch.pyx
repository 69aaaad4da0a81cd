# cython: language_level=3
"""The launch on devices in C: the driver's functions by address, no allocation, no lock, no Python object."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc

INTERFACE = 1  # of device_launch.py, when this was written

cdef extern from "_device_launch.h" nogil:
    enum: TCD_MAX_DEVICES, TCD_STACK_PARAMETERS, TCD_BAD_DEVICE, TCD_NO_MEMORY, TCD_LOAD_FAILED
    ctypedef int (*tcd_start)(const void *, const void *, void *, const int64_t *, const int64_t *, void *, void **)
    ctypedef int (*tcd_driver_launch)(
        void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)
    ctypedef struct tcd_entry:
        unsigned threads[3]
        int64_t most[4]
        tcd_start start
        const void *start_entry
    ctypedef struct tcd_device:
        uint64_t handle
        const void *start_device
        void **functions
    ctypedef int (*tcd_of_handle)(uint64_t *)
    ctypedef int (*tcd_set_pointer)(void *)
    ctypedef int (*tcd_set_number)(int)
    ctypedef struct tcd_state:
        tcd_driver_launch launch
        tcd_of_handle get_current
        tcd_set_pointer set_pointer
        tcd_set_number set_number
        tcd_of_handle restore
        int32_t n_slots
        int32_t n_further
        int32_t n_entries
        tcd_entry *entries
        tcd_device *devices[64]
        void *owner
    int tcd_launch_all(const tcd_state *, const tcd_device *, const int64_t *, const int64_t *, void *, void **)


cdef int load(tcd_state *state, int index) noexcept with gil:
    """Loads the kernels on one more device; 0, or a code."""
    cdef DeviceLaunch owner = <DeviceLaunch>state.owner
    cdef tcd_device *device
    try:
        loaded = owner.kernels.on_device(index)
        device = <tcd_device *>PyMem_Calloc(1, sizeof(tcd_device) + state.n_entries * sizeof(void *))
        if device == NULL:
            return TCD_NO_MEMORY
        device.handle = loaded.handle
        device.start_device = <const void *><uintptr_t>loaded.start_device
        for i, function in enumerate(loaded.functions):
            device.functions[i] = <void *><uintptr_t>function
        if state.devices[index] == NULL:
            state.devices[index] = device
        else:  # another thread was faster
            PyMem_Free(device)
        return 0
    except BaseException as error:
        owner.kernels.failures.keep(error)
        return TCD_LOAD_FAILED


cdef int launch(void *handle, const int64_t *slots, const int64_t *grids, int index, void *stream) noexcept nogil:
    cdef tcd_state *state = <tcd_state *>handle
    cdef int code
    cdef int32_t count = state.n_slots + state.n_further
    cdef void *stack[TCD_STACK_PARAMETERS]
    cdef void **parameters = stack
    if index < 0 or index >= TCD_MAX_DEVICES:
        return TCD_BAD_DEVICE
    if state.devices[index] == NULL:
        code = load(state, index)
        if code != 0:
            return code
    if count > TCD_STACK_PARAMETERS:
        parameters = <void **>malloc(count * sizeof(void *))
        if parameters == NULL:
            return TCD_NO_MEMORY
    code = tcd_launch_all(state, state.devices[index], slots, grids, stream, parameters)
    if parameters != stack:
        free(parameters)
    return code


cdef class DeviceLaunch:
    """The launch of the kernels of an artifact. kernels: DeviceKernels. ``capsule`` and ``state`` go into a
    LoadedKernel."""
    cdef tcd_state *state_
    cdef readonly object kernels
    cdef readonly object capsule

    def __cinit__(self, kernels):
        self.state_ = <tcd_state *>PyMem_Calloc(1, sizeof(tcd_state))
        if self.state_ == NULL:
            raise MemoryError()

    def __init__(self, kernels):
        cdef tcd_state *state = self.state_
        cdef int axis
        if state.entries != NULL:
            raise RuntimeError("a DeviceLaunch is initialised once")
        functions, entries = kernels.functions, kernels.entries
        self.kernels = kernels
        state.owner = <void *>self
        state.launch = <tcd_driver_launch><uintptr_t>functions.launch
        state.get_current = <tcd_of_handle><uintptr_t>functions.get_current
        if functions.numbered:
            state.set_number = <tcd_set_number><uintptr_t>functions.set_current
        else:
            state.set_pointer = <tcd_set_pointer><uintptr_t>functions.set_current
        state.restore = <tcd_of_handle><uintptr_t>functions.restore
        state.n_slots, state.n_further, state.n_entries = kernels.n_slots, kernels.n_further, len(entries)
        state.entries = <tcd_entry *>PyMem_Calloc(len(entries) + 1, sizeof(tcd_entry))
        if state.entries == NULL:
            raise MemoryError()
        for number, entry in enumerate(entries):
            for axis in range(3):
                state.entries[<int>number].threads[axis] = entry.threads[axis]
            for axis in range(4):
                state.entries[<int>number].most[axis] = entry.most[axis]
            state.entries[<int>number].start = <tcd_start><uintptr_t>entry.start
            state.entries[<int>number].start_entry = <const void *><uintptr_t>entry.start_entry
        self.capsule = PyCapsule_New(<void *>launch, "tilecore.launch_on_device", NULL)

    @property
    def state(self):
        return <uintptr_t>self.state_

    def __dealloc__(self):
        if self.state_ != NULL:
            for i in range(TCD_MAX_DEVICES):
                PyMem_Free(self.state_.devices[i])
            PyMem_Free(self.state_.entries)
            PyMem_Free(self.state_)
