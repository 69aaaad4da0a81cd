# cython: language_level=3
"""The thread pool of host kernels, and the native launch that uses it (see pool.h)."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t

cdef extern from "pool.h" nogil:
    ctypedef int32_t (*tc_block_function)(const int64_t *, int64_t, int64_t, uint8_t *)
    ctypedef struct tc_pool_entry:
        tc_block_function run
        int64_t work
    ctypedef struct tc_pool_kernel:
        int64_t count
        tc_pool_entry *entries
    enum: TC_POOL_NO_MEMORY
    int tc_pool_launch(void *, const int64_t *, const int64_t *, void *)
    void tc_pool_set_threads(int)

cdef extern from *:
    """
    #define tc_pool_wanted() atomic_load(&tc_pool.wanted)
    #define tc_pool_running() tc_pool.running
    """
    int tc_pool_wanted() nogil
    int tc_pool_running() nogil

INTERFACE = 2  # of pool.py, when this was written
NO_MEMORY = TC_POOL_NO_MEMORY


cdef class State:
    """What the native launch is given of a kernel: the address and the cost of each entry."""
    cdef tc_pool_kernel *kernel

    def __cinit__(self, entries):
        cdef Py_ssize_t i
        entries = [(int(address), int(work)) for address, work in entries]
        self.kernel = <tc_pool_kernel *>PyMem_Malloc(sizeof(int64_t) + len(entries) * sizeof(tc_pool_entry))
        if self.kernel == NULL:
            raise MemoryError()
        self.kernel.count = len(entries)
        for i in range(len(entries)):
            address, work = entries[i]
            self.kernel.entries[i].run = <tc_block_function><uintptr_t>address
            self.kernel.entries[i].work = work

    def __dealloc__(self):
        PyMem_Free(self.kernel)

    @property
    def address(self):
        return <uintptr_t>self.kernel


def launch_capsule():
    """The native launch function, as LoadedKernel.launch takes it; its state is the address of a State."""
    return PyCapsule_New(<void *>tc_pool_launch, "tilecore.launch", NULL)


def set_num_threads(int threads):
    with nogil:  # ends workers, which may need the GIL to finish a kernel
        tc_pool_set_threads(threads)


def get_num_threads():
    return tc_pool_wanted()


def workers():
    """How many workers there are now, beside the calling threads."""
    return tc_pool_running()
