# The C side of the launcher: DLPack's tensors and the checks.
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "_dlpack.h" nogil:
    ctypedef struct tc_device:
        int32_t type
        int32_t index
    ctypedef struct tc_dtype:
        uint8_t code
        uint8_t bits
        uint16_t lanes
    ctypedef struct tc_tensor:
        void *data
        tc_device device
        int32_t rank
        tc_dtype dtype
        int64_t *shape
        int64_t *strides
        uint64_t byte_offset
    ctypedef struct tc_dlpack_version:
        uint32_t major
        uint32_t minor
    ctypedef struct tc_exchange_header:
        tc_dlpack_version version
    ctypedef struct tc_exchange:
        tc_exchange_header header
        int (*borrow)(PyObject *, tc_tensor *)
        int (*current_stream)(int32_t, int32_t, void **)
    enum: TC_DLPACK_MAJOR


cdef extern from "_checks.h" nogil:
    enum: TC_OK, TC_ASK, TC_FROM_SHAPE, TC_FROM_STRIDE, TC_FROM_SCALAR
    ctypedef struct tc_dim:
        int64_t value
        const int64_t *code
        int32_t length
        int32_t is_symbol
    ctypedef struct tc_tensor_spec:
        const tc_dim *shape
        const tc_dim *strides
        int64_t align
        int32_t rank
        int32_t packed
        uint8_t code
        uint8_t other_code
        uint8_t bits
        uint8_t written
    ctypedef struct tc_symbol_spec:
        int64_t scale
        int64_t offset
        int64_t low
        int64_t high
        int32_t source
        int32_t index
        int32_t axis
    ctypedef struct tc_entry_spec:
        tc_dim grid[3]
        tc_dim shared
        int64_t longest
    ctypedef struct tc_span:
        char *low
        char *high
    int tc_run(const int64_t *, int32_t, const int64_t *, int64_t *)
    int tc_size(const tc_dim *, const int64_t *, int64_t *)
    int tc_check_kind(const tc_tensor_spec *, const tc_tensor *)
    int tc_bind_symbol(const tc_symbol_spec *, const tc_tensor_spec *, const tc_tensor *, const int64_t *, int64_t *)
    int tc_check_tensor(const tc_tensor_spec *, const tc_tensor *, const int64_t *, tc_span *)
    int tc_check_overlap(const tc_tensor_spec *, const tc_span *, int)
    int tc_fill_grids(const tc_entry_spec *, int, const int64_t *, int64_t *, int64_t *, int64_t *)
