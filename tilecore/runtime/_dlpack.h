/* The part of DLPack's C interface that the launcher uses: plain tensor descriptions and the exchange table that a
 * tensor type offers as __dlpack_c_exchange_api__. Layouts follow the DLPack specification, version 1.x. */
#ifndef TILECORE_DLPACK_H_
#define TILECORE_DLPACK_H_

#include <stdint.h>

#define TC_DLPACK_MAJOR 1

typedef struct {
    int32_t type;
    int32_t index;
} tc_device;

typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} tc_dtype;

/* DLTensor: shape and strides count elements; strides may be NULL for row-major, contiguous data. */
typedef struct {
    void *data;
    tc_device device;
    int32_t rank;
    tc_dtype dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} tc_tensor;

typedef struct {
    uint32_t major;
    uint32_t minor;
} tc_dlpack_version;

typedef struct tc_exchange_header {
    tc_dlpack_version version;
    struct tc_exchange_header *previous;
} tc_exchange_header;

/* DLPackExchangeAPI: only two of its functions are called here. Both return 0, or -1 with a Python error set.
 * borrow: describes a Python object's tensor without taking a reference and without synchronising.
 * current_stream: the stream on which the tensors' library works on a device. */
typedef struct {
    tc_exchange_header header;
    void *allocate;
    void *export_owned;
    void *import_owned;
    int (*borrow)(void *object, tc_tensor *out);
    int (*current_stream)(int32_t type, int32_t index, void **out);
} tc_exchange;

#endif
