# Reading single arguments: the exchange tables of tensor types, buffers' formats, numbers. Part of _launcher.pyx.

# Tensor types and their exchange tables; the capsules live as long as their types do, and those are kept here.
cdef dict _exchanges = {}
cdef PyObject *_recent_type = NULL
cdef tc_exchange *_recent_exchange = NULL
cdef PyObject *_numpy_type = NULL


cdef tc_exchange *exchange_of(PyObject *kind) except? NULL:
    """The exchange table of a type; NULL when it has none."""
    global _recent_type, _recent_exchange
    cdef tc_exchange *found
    if kind == _recent_type:
        return _recent_exchange
    owner = <object>kind
    capsule = _exchanges.get(owner)
    if capsule is None:
        if len(_exchanges) >= KNOWN_TYPES:
            forget_types()
        capsule = getattr(owner, "__dlpack_c_exchange_api__", False)
        if is_torch(kind) and torch_state.handles_operations(owner):
            capsule = False
        if not PyCapsule_IsValid(capsule, "dlpack_exchange_api"):
            capsule = False
        _exchanges[owner] = capsule
    if capsule is False:
        return NULL
    found = <tc_exchange *>PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
    if found.header.version.major != TC_DLPACK_MAJOR or found.borrow == NULL:
        return NULL
    _recent_type, _recent_exchange = kind, found
    return found


cdef int forget_types() except -1:
    """Start over: types that are made and dropped by the dozen must not pile up."""
    global _recent_type, _numpy_type
    _recent_type = _numpy_type = NULL
    _exchanges.clear()
    return 0


cdef bint is_numpy(PyObject *kind) except -1:
    global _numpy_type
    if _numpy_type == NULL:
        module = sys.modules.get("numpy")
        array = getattr(module, "ndarray", None)
        if array is None:
            return False
        _exchanges[array] = False  # keeps the type
        _numpy_type = <PyObject *>array
    return kind == _numpy_type


cdef bint dtype_of_format(const char *format, Py_ssize_t itemsize, tc_dtype *out) noexcept:
    """DLPack's element type of a buffer's format; False for those that are left to the checker."""
    if format == NULL:
        return False
    if format[0] == b"@" or format[0] == b"=" or format[0] == b"<":
        format += 1
    if format[0] == 0 or format[1] != 0:
        return False
    if format[0] in (b"f", b"d", b"e"):
        out.code = 2
    elif format[0] in (b"b", b"h", b"i", b"l", b"q"):
        out.code = 0
    elif format[0] in (b"B", b"H", b"I", b"L", b"Q"):
        out.code = 1
    elif format[0] == b"?":
        out.code = 6
    else:
        return False
    out.bits, out.lanes = <uint8_t>(8 * itemsize), 1
    return True


cdef int read_scalar(PyObject *value, Scalar *spec, int64_t *slot) except -1:
    cdef int overflow = 0
    cdef long long number = 0
    cdef double real
    cdef float narrow
    cdef object given = <object>value
    if spec.kind == SCALAR_BOOL:
        if given is not True and given is not False:
            return TC_ASK
        slot[0] = given is True
        return TC_OK
    if PyLong_CheckExact(given):
        number = PyLong_AsLongLongAndOverflow(given, &overflow)
        if overflow:
            return TC_ASK
        if spec.kind == SCALAR_INT:
            slot[0] = number
            return TC_OK if spec.low <= number <= spec.high else TC_ASK
        if not -(1 << 53) <= number <= (1 << 53):
            return TC_ASK
        real = <double>number
    elif PyFloat_CheckExact(given):
        real = PyFloat_AS_DOUBLE(given)
    else:
        return TC_ASK
    if spec.kind == SCALAR_FLOAT64:
        memcpy(slot, &real, sizeof(real))
        return TC_OK
    if spec.kind != SCALAR_FLOAT32:
        return TC_ASK
    narrow = <float>real
    if isinf(narrow) and not isinf(real):
        return TC_ASK
    slot[0] = 0
    memcpy(slot, &narrow, sizeof(narrow))
    return TC_OK
