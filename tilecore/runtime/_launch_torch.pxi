# What torch is doing during a call, asked of torch's own functions in C (torch_state.py). Part of _launcher.pyx.

ctypedef uint8_t (*torch_key_function)(uint16_t) noexcept nogil
ctypedef void **(*torch_trace_function)() noexcept nogil
ctypedef uint8_t (*torch_mode_function)() noexcept nogil
ctypedef uint8_t (*torch_tensor_function)(const void *) noexcept nogil
ctypedef void (*torch_bump_function)(const void *) noexcept nogil
ctypedef int32_t (*torch_field_function)(const void *, void *) noexcept nogil
ctypedef uint8_t (*torch_context_function)(const void *) noexcept nogil
# Not nogil: it may run Python's code, as of a tensor's memory that is released to make room.
ctypedef int32_t (*torch_empty_function)(
    int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, void **) noexcept
ctypedef int32_t (*torch_release_function)(void *) noexcept

cdef enum:
    TORCH_UNKNOWN = 0  # not looked at yet
    TORCH_NATIVE = 1
    TORCH_ASKED = 2  # by Python's calls, which are slower
    MOST_AXES = 64  # of torch's tensors
    TORCH_CODES = 64  # more than torch has element types, and kinds of devices

cdef struct TorchFields:  # torch_fields.py
    torch_field_function layout, dtype, device_type, device_index, rank, sizes, strides, data
    int32_t strided
    tc_dtype dtypes[TORCH_CODES]  # by torch's code; 0 bits: not met yet
    int32_t devices[TORCH_CODES]  # DLPack's types by torch's code; 0: not met yet

cdef struct TorchState:
    int32_t how
    int32_t offset
    uint16_t python_key, layer_key
    torch_key_function included
    torch_trace_function trace
    torch_mode_function grad_mode
    torch_tensor_function requires_grad, is_negated, is_inference
    torch_bump_function bump_version
    tc_exchange *exchange  # of torch's own tensors, which the fields are read of instead; NULL where they cannot
    TorchFields fields
    torch_empty_function empty  # NULL: torch's function in Python must make tensors
    torch_release_function release  # NULL: the Python object of a handle takes the handle
    torch_context_function deterministic
    const void *context

cdef struct TorchKind:  # torch's codes of a tensor's element type and device
    bint is_known
    int32_t dtype, device, index

cdef TorchState torch_now
cdef object _adopt = None  # makes a Python object of a tensor's handle
cdef dict _torch_types = {}  # type to whether it is a class of torch tensors, for those of _exchanges


cdef bint is_torch(PyObject *kind) except -1:
    global _recent_torch_type, _recent_is_torch
    if kind == _recent_torch_type:
        return _recent_is_torch
    owner = <object>kind
    known = _torch_types.get(owner)
    if known is None:
        if len(_torch_types) >= KNOWN_TYPES:
            _recent_torch_type = NULL
            _torch_types.clear()
        module = sys.modules.get("torch")
        known = _torch_types[owner] = module is not None and issubclass(owner, module.Tensor)
    _recent_torch_type, _recent_is_torch = kind, known
    return known

cdef PyObject *_recent_torch_type = NULL
cdef bint _recent_is_torch = False


cdef int find_torch() except -1:
    """Torch's functions, once; TC_ASK while torch records operations, as they are tried on tensors."""
    global _adopt
    if torch_state.recorder():
        return TC_ASK
    found = torch_state.native_state()
    if found is None:
        torch_now.how = TORCH_ASKED
        return TC_OK
    torch_now.offset, torch_now.python_key, torch_now.layer_key = found.offset, found.python_key, found.layer_key
    torch_now.included = <torch_key_function><uintptr_t>found.included
    torch_now.trace = <torch_trace_function><uintptr_t>found.trace
    torch_now.grad_mode = <torch_mode_function><uintptr_t>found.grad_mode
    torch_now.requires_grad = <torch_tensor_function><uintptr_t>found.requires_grad
    torch_now.is_negated = <torch_tensor_function><uintptr_t>found.is_negated
    torch_now.is_inference = <torch_tensor_function><uintptr_t>found.is_inference
    torch_now.bump_version = <torch_bump_function><uintptr_t>found.bump_version
    if found.fields is not None:
        torch_now.fields.layout = <torch_field_function><uintptr_t>found.fields.layout
        torch_now.fields.dtype = <torch_field_function><uintptr_t>found.fields.dtype
        torch_now.fields.device_type = <torch_field_function><uintptr_t>found.fields.device_type
        torch_now.fields.device_index = <torch_field_function><uintptr_t>found.fields.device_index
        torch_now.fields.rank = <torch_field_function><uintptr_t>found.fields.rank
        torch_now.fields.sizes = <torch_field_function><uintptr_t>found.fields.sizes
        torch_now.fields.strides = <torch_field_function><uintptr_t>found.fields.strides
        torch_now.fields.data = <torch_field_function><uintptr_t>found.fields.data
        torch_now.fields.strided = found.fields.strided
        capsule = getattr(sys.modules["torch"].Tensor, "__dlpack_c_exchange_api__", None)
        if PyCapsule_IsValid(capsule, "dlpack_exchange_api"):
            torch_now.exchange = <tc_exchange *>PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
    if found.allocation is not None and torch_now.exchange != NULL:
        _adopt = found.allocation.adopt
        torch_now.deterministic = <torch_context_function><uintptr_t>found.allocation.deterministic
        torch_now.context = <const void *><uintptr_t>found.allocation.context
        torch_now.release = <torch_release_function><uintptr_t>found.allocation.release
        torch_now.empty = <torch_empty_function><uintptr_t>found.allocation.empty
    torch_now.how = TORCH_NATIVE
    return TC_OK


cdef int torch_is_plain() except -1:
    """TC_OK when nothing can record operations in this thread."""
    if torch_now.how == TORCH_NATIVE:
        if torch_now.included(torch_now.python_key) or torch_now.included(torch_now.layer_key):
            return TC_ASK
        return TC_OK if torch_now.trace()[0] == NULL else TC_ASK
    return TC_ASK if torch_state.recorder() else TC_OK


cdef int describe(PyObject *value, tc_tensor *tensor) noexcept nogil:
    """TC_OK when torch's functions described a tensor of torch; TC_ASK when its exchange must be asked, as for a type
    or a device that no tensor had before. Nothing may record operations: a tensor of that has no memory."""
    cdef TorchFields *fields = &torch_now.fields
    cdef char *handle = <char *>value + torch_now.offset
    cdef int32_t layout = 0, dtype = 0, device = 0, index = 0
    cdef int64_t rank = 0
    if fields.layout(handle, &layout) or layout != fields.strided:
        return TC_ASK
    if fields.dtype(handle, &dtype) or dtype < 0 or dtype >= TORCH_CODES or fields.dtypes[dtype].bits == 0:
        return TC_ASK
    if fields.device_type(handle, &device) or device < 0 or device >= TORCH_CODES or fields.devices[device] == 0:
        return TC_ASK
    if fields.device_index(handle, &index) or fields.rank(handle, &rank) or fields.sizes(handle, &tensor.shape):
        return TC_ASK
    if fields.strides(handle, &tensor.strides) or fields.data(handle, &tensor.data):
        return TC_ASK
    tensor.dtype, tensor.rank, tensor.byte_offset = fields.dtypes[dtype], <int32_t>rank, 0
    tensor.device.type, tensor.device.index = fields.devices[device], index if index > 0 else 0
    return TC_OK


cdef int learn(PyObject *value, tc_tensor *tensor) noexcept nogil:
    """Remember DLPack's element type and kind of device of a tensor that the exchange described, where torch's own
    functions agree on its memory."""
    cdef TorchFields *fields = &torch_now.fields
    cdef char *handle = <char *>value + torch_now.offset
    cdef int32_t layout = 0, dtype = 0, device = 0
    cdef void *data = NULL
    if fields.layout(handle, &layout) or layout != fields.strided or fields.data(handle, &data):
        return TC_ASK
    if data != tensor.data or tensor.byte_offset != 0:
        return TC_ASK
    if fields.dtype(handle, &dtype) == 0 and 0 <= dtype < TORCH_CODES:
        fields.dtypes[dtype] = tensor.dtype
    if fields.device_type(handle, &device) == 0 and 0 <= device < TORCH_CODES:
        fields.devices[device] = tensor.device.type
    return TC_OK


cdef int kind_of(PyObject *value, TorchKind *kind) except -1:
    """Torch's codes of a tensor that its function in Python made."""
    cdef char *handle = <char *>value + torch_now.offset
    kind.is_known = False
    if torch_now.empty == NULL or <object>Py_TYPE(<object>value) is not sys.modules["torch"].Tensor:
        return 0
    if torch_now.fields.dtype(handle, &kind.dtype) or torch_now.fields.device_type(handle, &kind.device):
        return 0
    kind.is_known = torch_now.fields.device_index(handle, &kind.index) == 0
    return 0


cdef object new_tensor(int64_t rank, const int64_t *sizes, const TorchKind *kind):
    """An uninitialised, contiguous tensor of such a kind; None where torch's function in Python must make it."""
    cdef int64_t[MOST_AXES] strides
    cdef int64_t axis, step = 1
    cdef void *handle = NULL
    if torch_now.deterministic(torch_now.context):
        return None
    for axis in range(rank - 1, -1, -1):
        strides[axis] = step
        step *= sizes[axis] if sizes[axis] > 1 else 1
    if torch_now.empty(rank, sizes, strides, kind.dtype, kind.device, kind.index, &handle) or handle == NULL:
        return None
    tensor = _adopt(PyCapsule_New(handle, NULL, NULL))
    if torch_now.release != NULL:
        torch_now.release(handle)
    return tensor


cdef int tensor_is_plain(PyObject *value) except -1:
    """TC_OK for a torch tensor whose memory holds its values, and that asks for no derivative now."""
    cdef char *handle
    if torch_now.how == TORCH_UNKNOWN and find_torch() != TC_OK:
        return TC_ASK
    if torch_now.how == TORCH_NATIVE:
        handle = <char *>value + torch_now.offset
        if torch_now.is_negated(handle):
            return TC_ASK
        if torch_now.requires_grad((<void **>handle)[0]) and torch_now.grad_mode():
            return TC_ASK
        return TC_OK
    tensor = <object>value
    return TC_ASK if tensor.is_neg() or torch_state.loses_gradient(tensor) else TC_OK


cdef int note_write(PyObject *value) except -1:
    """Tell torch that its tensor was written."""
    cdef char *handle
    if torch_now.how == TORCH_NATIVE:
        handle = <char *>value + torch_now.offset
        if not torch_now.is_inference(handle):
            torch_now.bump_version(handle)
    else:
        torch_state.note_writes([<object>value])
    return 0
