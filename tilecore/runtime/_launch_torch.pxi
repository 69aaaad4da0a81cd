# What torch is doing during a call, asked of torch's own functions in C (torch_state.py). Part of _launcher.pyx.

ctypedef uint8_t (*torch_key_function)(uint16_t) noexcept nogil
ctypedef void **(*torch_trace_function)() noexcept nogil
ctypedef uint8_t (*torch_mode_function)() noexcept nogil
ctypedef uint8_t (*torch_tensor_function)(const void *) noexcept nogil
ctypedef void (*torch_bump_function)(const void *) noexcept nogil

cdef enum:
    TORCH_UNKNOWN = 0  # not looked at yet
    TORCH_NATIVE = 1
    TORCH_ASKED = 2  # by Python's calls, which are slower

cdef struct TorchState:
    int32_t how
    int32_t offset
    uint16_t python_key, layer_key
    torch_key_function included
    torch_trace_function trace
    torch_mode_function grad_mode
    torch_tensor_function requires_grad, is_negated, is_inference
    torch_bump_function bump_version

cdef TorchState torch_now
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
    torch_now.how = TORCH_NATIVE
    return TC_OK


cdef int torch_is_plain() except -1:
    """TC_OK when nothing can record operations in this thread."""
    if torch_now.how == TORCH_NATIVE:
        if torch_now.included(torch_now.python_key) or torch_now.included(torch_now.layer_key):
            return TC_ASK
        return TC_OK if torch_now.trace()[0] == NULL else TC_ASK
    return TC_ASK if torch_state.recorder() else TC_OK


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
