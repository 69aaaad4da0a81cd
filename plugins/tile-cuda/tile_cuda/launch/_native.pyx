# cython: language_level=3
"""The launch in C: the driver's entry points by address, no allocation, no lock, no Python object."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.stdlib cimport free, malloc

INTERFACE = 1


cdef extern from "launch_native.h" nogil:
    enum: TCU_MAX_DEVICES, TCU_MAX_ENTRIES, TCU_STACK_SLOTS, TCU_BAD_DEVICE, TCU_NO_MEMORY, TCU_LOAD_FAILED
    ctypedef struct tcu_entry:
        unsigned threads[3]
        int32_t window_slot
        size_t window_bytes
        float window_ratio
        int32_t programmatic
    ctypedef struct tcu_device:
        void *context
        void *functions[64]
    ctypedef struct tcu_state:
        void *launch
        void *launch_ex
        void *get_current
        void *push
        void *pop
        int32_t n_slots
        int32_t n_entries
        tcu_entry entries[64]
        tcu_device *devices[64]
        void *owner
    int tcu_device_index
    int tcu_all(const tcu_state *, const tcu_device *, const int64_t *, const int64_t *, void *, void **)


def set_device(int index):
    """The device of this thread's next launches."""
    global tcu_device_index
    tcu_device_index = index


cdef int load(tcu_state *state, int index) noexcept with gil:
    """Loads the kernel on one more device; 0, or a code."""
    cdef NativeLaunch owner = <NativeLaunch>state.owner
    cdef tcu_device *made
    try:
        context, functions = owner.module.on_device(index)
        made = <tcu_device *>PyMem_Calloc(1, sizeof(tcu_device))
        if made == NULL:
            return TCU_NO_MEMORY
        made.context = <void *><uintptr_t>context
        for i, function in enumerate(functions):
            made.functions[i] = <void *><uintptr_t>function
        if state.devices[index] == NULL:
            state.devices[index] = made
        else:
            PyMem_Free(made)
        return 0
    except BaseException as error:
        owner.module.failed(error)
        return TCU_LOAD_FAILED


cdef int launch(void *handle, const int64_t *slots, const int64_t *grids, void *stream) noexcept nogil:
    cdef tcu_state *state = <tcu_state *>handle
    cdef int index = tcu_device_index, code
    cdef void *stack[TCU_STACK_SLOTS]
    cdef void **parameters = stack
    if index < 0 or index >= TCU_MAX_DEVICES:
        return TCU_BAD_DEVICE
    if state.devices[index] == NULL:
        code = load(state, index)
        if code != 0:
            return code
    if state.n_slots > TCU_STACK_SLOTS:
        parameters = <void **>malloc(state.n_slots * sizeof(void *))
        if parameters == NULL:
            return TCU_NO_MEMORY
    code = tcu_all(state, state.devices[index], slots, grids, stream, parameters)
    if parameters != stack:
        free(parameters)
    return code


cdef class NativeLaunch:
    """The launch of one loaded kernel. module: a KernelModule. ``capsule`` and ``state`` go into a LoadedKernel."""
    cdef tcu_state *state_
    cdef readonly object module
    cdef readonly object capsule

    def __cinit__(self, module):
        self.state_ = <tcu_state *>PyMem_Calloc(1, sizeof(tcu_state))
        if self.state_ == NULL:
            raise MemoryError()

    def __init__(self, module):
        cdef tcu_state *state = self.state_
        cdef int i, axis
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
        state.n_slots, state.n_entries = module.n_slots, len(entries)
        for i, entry in enumerate(entries):
            for axis in range(3):
                state.entries[i].threads[axis] = entry.threads[axis]
            state.entries[i].window_slot = entry.window_slot
            state.entries[i].window_bytes = entry.window_bytes
            state.entries[i].window_ratio = entry.window_ratio
            state.entries[i].programmatic = entry.programmatic
        self.capsule = PyCapsule_New(<void *>launch, "tilecore.launch", NULL)

    @property
    def state(self):
        return <uintptr_t>self.state_

    def __dealloc__(self):
        if self.state_ != NULL:
            for i in range(TCU_MAX_DEVICES):
                PyMem_Free(self.state_.devices[i])
            PyMem_Free(self.state_)
