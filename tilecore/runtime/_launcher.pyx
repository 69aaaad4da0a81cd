# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The built launcher: reads and checks the arguments of plain calls in C, without allocating anything.

Every call that is not plainly right goes to the checker in ``arguments.py``, which accepts it or raises the error.
A launcher is not changed by its calls, so any number of threads may call it at once.
"""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_Clear
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from cpython.ref cimport Py_TYPE
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.math cimport isinf
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.string cimport memcpy

import sys

from tilecore.dtypes import FACTS
from tilecore.runtime.arguments import bind, by_position
from tilecore.runtime.artifact import TensorParam
from tilecore.runtime.call_plan import make_plan, storage_dtypes
from tilecore.runtime.dim_program import compile_dim
from tilecore.runtime.dlpack import HOST, HOST_KINDS
from tilecore.runtime.launch_failure import launch_failure
from tilecore.runtime.launcher_py import GIL_KEPT as _GIL_KEPT
from tilecore.runtime.launcher_py import overrides_streams
from tilecore.runtime.scalars import integer_range
from tilecore.runtime.workspaces import Workspaces

INTERFACE = 1  # of call_plan.py, when this was written

ctypedef int (*launch_function)(void *, const int64_t *, const int64_t *, void *) noexcept nogil

cdef enum:
    STACK_WORDS = 512  # a call that needs more takes it from the heap
    KNOWN_TYPES = 64
    SCALAR_INT = 0
    SCALAR_BOOL = 1
    SCALAR_FLOAT32 = 2
    SCALAR_FLOAT64 = 3
    SCALAR_OTHER = 4

cdef int64_t GIL_KEPT = _GIL_KEPT
cdef int HOST_TYPE = HOST
cdef int HOST_PAGE_LOCKED = HOST_KINDS[1]
cdef int HOST_PAGE_LOCKED_OTHER = HOST_KINDS[2]

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
            return NULL
        capsule = getattr(owner, "__dlpack_c_exchange_api__", False)
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


cdef struct Scalar:
    int64_t low
    int64_t high
    int32_t kind


cdef struct Input:
    int32_t is_tensor
    int32_t number  # of the tensor, or of the scalar


cdef struct Call:
    int64_t *slots
    int64_t *grids
    int64_t *strides
    tc_tensor *tensors
    tc_span *spans
    Py_buffer *buffers
    int32_t held  # buffers to give back


cdef class _Memory:
    """Zeroed memory that is freed with its owner."""
    cdef void *start

    def __cinit__(self, size_t size):
        self.start = PyMem_Calloc(1, size if size else 1)
        if self.start == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.start)


cdef class Launcher:
    """A loaded kernel as a callable: checks every argument and launches all entries.

    ``launcher(*args)`` takes a tensor or a number for each parameter that is not in ``artifact.out_idx``; those are
    allocated and returned (one tensor, or a list of several). Raises ArgumentError, LaunchError.
    device_type: DLPack device type of the tensors.
    """
    cdef readonly object artifact
    cdef readonly object loaded
    cdef readonly object adapter
    cdef readonly int device_type
    cdef object plan
    cdef object workspaces
    cdef list memory
    cdef list output_names
    cdef bint has_streams
    cdef bint plain  # calls can be checked here
    cdef launch_function launch
    cdef void *state
    cdef Input *inputs
    cdef Scalar *scalars
    cdef tc_tensor_spec *tensors
    cdef tc_symbol_spec *symbols
    cdef tc_entry_spec *entries
    cdef int32_t *outputs
    cdef int32_t n_inputs, n_tensors, n_scalars, n_symbols, n_entries, n_outputs, n_workspaces, n_slots, n_strides
    cdef size_t words

    def __init__(self, artifact, loaded, adapter, int device_type):
        self.plain = False
        self.plan = None
        plan = make_plan(artifact, device_type)
        self.artifact, self.loaded, self.adapter, self.device_type = artifact, loaded, adapter, device_type
        self.workspaces = Workspaces(artifact.workspaces, adapter)
        self.has_streams = overrides_streams(adapter)
        self.launch, self.state = NULL, NULL
        if not callable(loaded.launch):
            self.launch = <launch_function>PyCapsule_GetPointer(loaded.launch, "tilecore.launch")
            self.state = <void *><uintptr_t>loaded.state
        self.memory = []
        self.plain = True
        self._lay_out(plan)
        self.plan = plan

    def __call__(self, *args, **keywords):
        cdef int64_t stack[STACK_WORDS]
        cdef int64_t *words = stack
        cdef Call call
        cdef int32_t i
        if self.plan is None:
            raise RuntimeError("this launcher is not initialised: __init__ was not called, or failed")
        if keywords:
            args = by_position(self.plan, args, keywords)
        if not self.plain or PyTuple_GET_SIZE(args) != self.n_inputs:
            return self.ask(args)
        if self.words > STACK_WORDS:
            words = <int64_t *>PyMem_Malloc(self.words * sizeof(int64_t))
            if words == NULL:
                raise MemoryError()
        self.place(&call, words)
        try:
            return self.run(<PyObject *>args, &call)
        finally:
            for i in range(call.held):
                PyBuffer_Release(&call.buffers[i])
            if words != stack:
                PyMem_Free(words)

    cdef void place(self, Call *call, int64_t *words) noexcept:
        call.slots = words
        call.grids = call.slots + self.n_slots
        call.strides = call.grids + 4 * self.n_entries
        call.tensors = <tc_tensor *>(call.strides + self.n_strides)
        call.spans = <tc_span *>(call.tensors + self.n_tensors)
        call.buffers = <Py_buffer *>(call.spans + self.n_tensors)
        call.held = 0

    cdef object run(self, PyObject *args, Call *call):
        cdef int64_t *symbols = call.slots + (self.n_slots - self.n_symbols)
        cdef int64_t *scalars = symbols - self.n_scalars
        cdef int64_t work, blocks
        cdef int32_t i, device_index = 0
        cdef list results = None
        if self.read(args, call, scalars) != TC_OK:
            return self.ask(<tuple>args)
        for i in range(self.n_symbols):
            if tc_bind_symbol(&self.symbols[i], self.tensors, call.tensors, scalars, &symbols[i]) != TC_OK:
                return self.ask(<tuple>args)
        if self.device_type != HOST_TYPE:
            device_index = self.index_of(call)
        if self.n_outputs:
            results = []
            if self.make_outputs(call, symbols, device_index, results) != TC_OK:
                return self.ask(<tuple>args)
        if self.check(args, call, symbols, device_index) != TC_OK:
            return self.ask(<tuple>args)
        if tc_fill_grids(self.entries, self.n_entries, symbols, call.grids, &work, &blocks) != TC_OK:
            return self.ask(<tuple>args)
        stream = self.adapter.current_stream(device_index) if self.has_streams else 0
        if self.n_workspaces:
            kept = self.take_workspaces(call, symbols, device_index, stream)
        if blocks:
            self.start(call.slots, call.grids, stream, work)
        if results is None:
            return None
        return results[0] if self.n_outputs == 1 else results

    cdef int read(self, PyObject *args, Call *call, int64_t *scalars) except -1:
        """Read every argument; checks what does not depend on the symbols."""
        cdef int32_t i, number
        cdef PyObject *value
        for i in range(self.n_inputs):
            value = <PyObject *>PyTuple_GET_ITEM(<tuple>args, i)
            number = self.inputs[i].number
            if self.inputs[i].is_tensor:
                if self.read_tensor(value, number, call) != TC_OK:
                    return TC_ASK
            elif read_scalar(value, &self.scalars[number], &scalars[number]) != TC_OK:
                return TC_ASK
        return TC_OK

    cdef int read_tensor(self, PyObject *value, int32_t number, Call *call) except -1:
        cdef PyObject *kind = <PyObject *>Py_TYPE(<object>value)
        cdef tc_tensor *tensor = &call.tensors[number]
        cdef tc_exchange *exchange
        if kind != _recent_type and is_numpy(kind):
            if self.read_buffer(value, number, call) != TC_OK:
                return TC_ASK
        else:
            exchange = exchange_of(kind)
            if exchange == NULL:
                return TC_ASK
            if exchange.borrow(value, tensor) != 0:
                PyErr_Clear()
                return TC_ASK
        call.slots[number] = <int64_t><uintptr_t>(<char *>tensor.data + tensor.byte_offset)
        if tensor.device.type != self.device_type:
            if self.device_type != HOST_TYPE or (
                tensor.device.type != HOST_PAGE_LOCKED and tensor.device.type != HOST_PAGE_LOCKED_OTHER
            ):
                return TC_ASK
        return tc_check_kind(&self.tensors[number], tensor)

    cdef int read_buffer(self, PyObject *value, int32_t number, Call *call) except -1:
        cdef Py_buffer *buffer = &call.buffers[call.held]
        cdef tc_tensor *tensor = &call.tensors[number]
        cdef tc_tensor_spec *spec = &self.tensors[number]
        cdef int32_t axis
        try:
            PyObject_GetBuffer(<object>value, buffer, PyBUF_FORMAT | PyBUF_STRIDES)
        except (BufferError, ValueError):
            return TC_ASK
        call.held += 1
        if buffer.ndim != spec.rank or (spec.written and buffer.readonly) or buffer.itemsize <= 0:
            return TC_ASK
        if not dtype_of_format(buffer.format, buffer.itemsize, &tensor.dtype):
            return TC_ASK
        tensor.data, tensor.byte_offset, tensor.rank = buffer.buf, 0, buffer.ndim
        tensor.device.type, tensor.device.index = HOST_TYPE, 0
        tensor.shape = <int64_t *>buffer.shape
        tensor.strides = call.strides
        call.strides += buffer.ndim
        for axis in range(buffer.ndim):
            if buffer.strides[axis] % buffer.itemsize:
                return TC_ASK
            # numpy's buffers do not keep the strides of such axes, and a symbol may be read from one
            if spec.strides != NULL and buffer.shape[axis] < 2:
                return TC_ASK
            tensor.strides[axis] = buffer.strides[axis] // buffer.itemsize
        return TC_OK

    cdef int32_t index_of(self, Call *call) noexcept:
        """Device index of the first tensor argument."""
        cdef int32_t i
        for i in range(self.n_inputs):
            if self.inputs[i].is_tensor:
                return call.tensors[self.inputs[i].number].device.index
        return 0

    cdef int make_outputs(self, Call *call, int64_t *symbols, int32_t device_index, list results) except -1:
        cdef int32_t i, axis, number
        cdef int64_t size
        cdef tc_tensor_spec *spec
        for i in range(self.n_outputs):
            number = self.outputs[i]
            spec = &self.tensors[number]
            sizes = []
            for axis in range(spec.rank):
                if tc_size(&spec.shape[axis], symbols, &size) != TC_OK or size < 0:
                    return TC_ASK
                if axis == spec.rank - 1 and spec.packed > 1:
                    if size % spec.packed:
                        return TC_ASK
                    size //= spec.packed
                sizes.append(size)
            made = self.adapter.empty(tuple(sizes), self.output_names[i], device_index)
            results.append(made)
            if self.read_tensor(<PyObject *>made, number, call) != TC_OK:
                return TC_ASK
        return TC_OK

    cdef int check(self, PyObject *args, Call *call, int64_t *symbols, int32_t device_index) except -1:
        cdef int32_t i
        cdef tc_tensor *tensor
        cdef tc_span *span
        for i in range(self.n_tensors):
            tensor, span = &call.tensors[i], &call.spans[i]
            if tc_check_tensor(&self.tensors[i], tensor, symbols, span) != TC_OK:
                return TC_ASK
            if self.device_type != HOST_TYPE and tensor.device.index != device_index:
                return TC_ASK
        for i in range(self.n_inputs):
            if self.inputs[i].is_tensor and self.may_negate(&self.tensors[self.inputs[i].number], call, self.inputs[i].number):
                negated = getattr(<object>PyTuple_GET_ITEM(<tuple>args, i), "is_neg", None)
                if negated is not None and negated():
                    return TC_ASK
        return tc_check_overlap(self.tensors, call.spans, self.n_tensors)

    cdef bint may_negate(self, tc_tensor_spec *spec, Call *call, int32_t number) noexcept:
        cdef tc_span *span = &call.spans[number]
        return span.high > span.low and (spec.strides != NULL or span.high - span.low == spec.bits // 8)

    cdef object take_workspaces(self, Call *call, int64_t *symbols, int32_t device_index, stream):
        cdef int32_t i
        values = {name: symbols[number] for name, number in self.plan.symbol_index.items()}
        addresses, owners = self.workspaces.get(values, device_index, stream)
        for i in range(self.n_workspaces):
            call.slots[self.n_tensors + i] = <int64_t><uintptr_t>addresses[i]
        return owners

    cdef object ask(self, tuple args):
        """The call by way of the checker, which raises or lays out the arguments."""
        call = bind(self.plan, args, self.adapter, self.workspaces, self.has_streams)
        if call.blocks:
            self.start(
                <int64_t *><uintptr_t>address_of(call.slots),
                <int64_t *><uintptr_t>address_of(call.grids),
                call.stream,
                call.work,
            )
        if not call.results:
            return None
        return call.results[0] if len(call.results) == 1 else call.results

    cdef int start(self, int64_t *slots, int64_t *grids, stream, int64_t work) except -1:
        cdef int code
        cdef void *handle
        if self.launch == NULL:
            code = self.loaded.launch(<uintptr_t>slots, <uintptr_t>grids, stream) or 0
        else:
            handle = <void *><uintptr_t>stream
            if 0 <= work <= GIL_KEPT:
                code = self.launch(self.state, slots, grids, handle)
            else:
                with nogil:
                    code = self.launch(self.state, slots, grids, handle)
        if code != 0:
            sizes = [grids[i] for i in range(4 * self.n_entries)]
            raise launch_failure(self.artifact.name, self.artifact.entries, self.loaded, code, sizes)
        return 0

    cdef void *take(self, size_t size) except NULL:
        cdef _Memory memory = _Memory(size)
        self.memory.append(memory)
        return memory.start

    def _lay_out(self, plan):
        """Turn the plan into C records."""
        cdef int32_t i
        index = plan.symbol_index
        numbers = {param: number for number, param in enumerate(plan.tensors)}
        scalars = {param: number for number, param in enumerate(plan.scalars)}
        self.n_inputs, self.n_tensors, self.n_scalars = len(plan.inputs), len(plan.tensors), len(plan.scalars)
        self.n_symbols, self.n_entries, self.n_outputs = len(plan.symbols), len(plan.entries), len(plan.outputs)
        self.n_workspaces, self.n_slots, self.n_strides = len(plan.workspaces), plan.slot_count, 0
        self.inputs = <Input *>self.take(self.n_inputs * sizeof(Input))
        self.scalars = <Scalar *>self.take(self.n_scalars * sizeof(Scalar))
        self.tensors = <tc_tensor_spec *>self.take(self.n_tensors * sizeof(tc_tensor_spec))
        self.symbols = <tc_symbol_spec *>self.take(self.n_symbols * sizeof(tc_symbol_spec))
        self.entries = <tc_entry_spec *>self.take(self.n_entries * sizeof(tc_entry_spec))
        self.outputs = <int32_t *>self.take(self.n_outputs * sizeof(int32_t))
        for i, param in enumerate(plan.inputs):
            self.inputs[i].is_tensor = isinstance(plan.params[param], TensorParam)
            self.inputs[i].number = numbers[param] if param in numbers else scalars[param]
        for i, param in enumerate(plan.scalars):
            set_scalar(&self.scalars[i], plan.params[param].dtype)
        for i, param in enumerate(plan.tensors):
            self._lay_out_tensor(&self.tensors[i], plan.params[param], index)
        for i, symbol in enumerate(plan.symbols):
            self._lay_out_symbol(&self.symbols[i], symbol, numbers, scalars)
        for i, entry in enumerate(plan.entries):
            for axis in range(3):
                self._lay_out_dim(&self.entries[i].grid[<int>axis], entry.grid[axis], index)
            self._lay_out_dim(&self.entries[i].shared, entry.shared_bytes, index)
            self.entries[i].work = entry.work
        for i, param in enumerate(plan.outputs):
            self.outputs[i] = numbers[param]
        self.output_names = [storage_dtypes(plan.params[param])[0] for param in plan.outputs]
        self.words = self.n_slots + 4 * self.n_entries + self.n_strides
        self.words += self.n_tensors * (sizeof(tc_tensor) + sizeof(tc_span) + sizeof(Py_buffer)) // sizeof(int64_t)

    cdef int _lay_out_tensor(self, tc_tensor_spec *spec, param, index) except -1:
        cdef tc_dim *dims
        cdef int32_t axis
        codes = [FACTS[name].dlpack for name in storage_dtypes(param)]
        spec.code, spec.bits = codes[0]
        spec.other_code = codes[len(codes) - 1][0]
        spec.rank, spec.packed, spec.align = len(param.shape), param.packed, param.align
        spec.written = "w" in param.access
        dims = <tc_dim *>self.take(spec.rank * sizeof(tc_dim))
        for axis in range(spec.rank):
            self._lay_out_dim(&dims[axis], param.shape[axis], index)
        spec.shape = dims
        if param.strides is not None:
            dims = <tc_dim *>self.take(spec.rank * sizeof(tc_dim))
            for axis in range(spec.rank):
                self._lay_out_dim(&dims[axis], param.strides[axis], index)
            spec.strides = dims
        self.n_strides += spec.rank
        return 0

    cdef int _lay_out_symbol(self, tc_symbol_spec *spec, symbol, numbers, scalars) except -1:
        if symbol.kind == "scalar":
            spec.source, spec.index = TC_FROM_SCALAR, scalars[symbol.param]
        else:
            spec.source = TC_FROM_SHAPE if symbol.kind == "shape" else TC_FROM_STRIDE
            spec.index = numbers[symbol.param]
        spec.axis, spec.scale, spec.offset = symbol.axis, symbol.scale, symbol.offset
        spec.low, spec.high = max(symbol.low, -(2**63)), min(symbol.high, 2**63 - 1)
        return 0

    cdef int _lay_out_dim(self, tc_dim *out, dim, index) except -1:
        cdef int64_t *code
        cdef int32_t i
        tree = dim if isinstance(dim, int) else dim.tree
        program = compile_dim(dim, index)
        if not program.fits:
            self.plain = False
        elif isinstance(tree, int):
            out.value = tree
        elif isinstance(tree, str):
            out.value, out.is_symbol = index[tree], 1
        else:
            out.length = len(program.words)
            code = <int64_t *>self.take(out.length * sizeof(int64_t))
            for i in range(out.length):
                code[i] = program.words[i]
            out.code = code
        return 0


cdef int set_scalar(Scalar *spec, str dtype) except -1:
    kind = FACTS[dtype].kind
    spec.kind = SCALAR_OTHER
    if kind == "bool":
        spec.kind = SCALAR_BOOL
    elif kind in ("int", "uint"):
        low, high = integer_range(dtype)
        # larger values, which only uint64 has, are left to the checker
        spec.kind, spec.low, spec.high = SCALAR_INT, low, min(high, 2**63 - 1)
    elif dtype in ("float32", "tfloat32"):
        spec.kind = SCALAR_FLOAT32
    elif dtype == "float64":
        spec.kind = SCALAR_FLOAT64
    return 0


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


def address_of(array):
    """Address of a ctypes array."""
    from ctypes import addressof

    return addressof(array)


def run_program(words, values):
    """The value of a program of dim_program.py for these symbols; None where the checker would be asked."""
    cdef int64_t[32] symbols
    cdef int64_t out = 0
    cdef int32_t i
    cdef _Memory code = _Memory(len(words) * sizeof(int64_t))
    for i in range(len(words)):
        (<int64_t *>code.start)[i] = words[i]
    for i in range(min(len(values), 32)):
        symbols[i] = values[i]
    if tc_run(<int64_t *>code.start, <int32_t>len(words), symbols, &out) != TC_OK:
        return None
    return out
