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
from cpython.object cimport PyObject, PyTypeObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New
from cpython.ref cimport Py_TYPE
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.math cimport isinf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uintptr_t
from libc.string cimport memcpy

import sys

from tilecore.dtypes import FACTS
from tilecore.tensors import torch_state
from tilecore.runtime.arguments import bind, by_position, makes_arrays, makes_plainly
from tilecore.artifact.records import TensorParam
from tilecore.runtime.call_plan import make_plan, storage_dtypes
from tilecore.artifact.dim_program import compile_dim
from tilecore.tensors.dlpack import HANDLE_KINDS, HOST, HOST_KINDS
from tilecore.runtime.launch_failure import launch_failure
from tilecore.runtime.launcher_py import GIL_KEPT as _GIL_KEPT
from tilecore.runtime.launcher_py import overrides_streams
from tilecore.runtime.scalars import integer_range
from tilecore.tensors.views import empty_array
from tilecore.runtime.workspaces import Workspaces

INTERFACE = 7  # of call_plan.py, when this was written

ctypedef int (*launch_function)(void *, const int64_t *, const int64_t *, void *) noexcept nogil
ctypedef int (*device_function)(void *, const int64_t *, const int64_t *, int, void *) noexcept nogil

cdef enum:
    STACK_WORDS = 512  # a call that needs more takes it from the heap
    KNOWN_TYPES = 64

cdef int64_t GIL_KEPT = _GIL_KEPT
cdef int HOST_TYPE = HOST
cdef int HOST_PAGE_LOCKED = HOST_KINDS[1]
cdef int HOST_PAGE_LOCKED_OTHER = HOST_KINDS[2]

include "_launch_records.pxi"
include "_launch_torch.pxi"
include "_launch_reading.pxi"


cdef struct Call:
    int64_t *slots
    int64_t *grids
    int64_t *strides
    tc_tensor *tensors
    tc_span *spans
    Py_buffer *buffers
    int32_t held  # buffers to give back
    tc_exchange *exchange  # of the first argument that has one
    bint is_plain  # nothing records torch's operations, as was asked for one of its tensors


cdef struct MadeKind:
    TorchKind kind
    int32_t device_index


cdef int shape_of(tc_tensor_spec *spec, int64_t *symbols, int64_t *shape) noexcept:
    """The sizes of an output as its tensor has them: the last axis of a packed one counts bytes."""
    cdef int32_t axis
    if spec.rank > MOST_AXES:
        return TC_ASK
    for axis in range(spec.rank):
        if tc_size(&spec.shape[axis], symbols, &shape[axis]) != TC_OK or shape[axis] < 0:
            return TC_ASK
    if spec.rank and spec.packed > 1:
        if shape[spec.rank - 1] % spec.packed:
            return TC_ASK
        shape[spec.rank - 1] //= spec.packed
    return TC_OK


cdef extern from "Python.h":
    void PyType_Modified(PyTypeObject *)


def call_in_c(cls):
    """Calls of objects of ``cls``, a subclass of Launcher, go to Launcher's own function in C, although ``cls`` defines
    ``__call__`` in Python for those who look at the class. Returns ``cls``."""
    if not (isinstance(cls, type) and issubclass(cls, Launcher)):
        raise TypeError("call_in_c takes a subclass of Launcher")
    (<PyTypeObject *>cls).tp_call = (<PyTypeObject *>Launcher).tp_call
    PyType_Modified(<PyTypeObject *>cls)
    return cls


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
    cdef _Records records
    cdef list output_names
    cdef bint has_streams
    cdef bint tensor_streams
    cdef bint makes_arrays
    cdef bint makes_plainly  # outputs are what the contract's ``empty`` makes: torch's
    cdef _Memory made  # of each output the kind of the last one, and the device that was asked for
    cdef bint takes_tensors
    cdef bint has_handles  # for addresses
    cdef launch_function launch
    cdef device_function launch_on  # one of the two, where the launch is native
    cdef void *state
    cdef size_t words  # of memory that a call takes

    def __init__(self, artifact, loaded, adapter, int device_type):
        self.plan = None
        plan = make_plan(artifact, device_type, loaded.sizes)
        self.artifact, self.loaded, self.adapter, self.device_type = artifact, loaded, adapter, device_type
        self.workspaces = Workspaces(artifact.workspaces, adapter)
        self.has_streams = overrides_streams(adapter)
        self.tensor_streams = self.has_streams and adapter.tensor_streams
        self.makes_arrays = makes_arrays(adapter, device_type)
        self.makes_plainly = makes_plainly(adapter)
        self.made = _Memory(len(plan.outputs) * sizeof(MadeKind))
        self.takes_tensors = loaded.takes_tensors
        self.has_handles = device_type in HANDLE_KINDS
        self.launch, self.launch_on, self.state = NULL, NULL, NULL
        if not callable(loaded.launch):
            if loaded.on_device:
                self.launch_on = <device_function>PyCapsule_GetPointer(loaded.launch, "tilecore.launch_on_device")
            else:
                self.launch = <launch_function>PyCapsule_GetPointer(loaded.launch, "tilecore.launch")
            self.state = <void *><uintptr_t>loaded.state
        self.output_names = [storage_dtypes(plan.params[param])[0] for param in plan.outputs]
        self.records = _Records(plan)
        self.words = self.records.n_slots + self.records.n_sizes + 4 * self.records.n_entries + self.records.n_strides
        self.words += self.records.n_tensors * (sizeof(tc_tensor) + sizeof(tc_span) + sizeof(Py_buffer)) // sizeof(int64_t)
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
        if not self.records.plain or PyTuple_GET_SIZE(args) != self.records.n_inputs:
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
        call.grids = call.slots + self.records.n_slots + self.records.n_sizes
        call.strides = call.grids + 4 * self.records.n_entries
        call.tensors = <tc_tensor *>(call.strides + self.records.n_strides)
        call.spans = <tc_span *>(call.tensors + self.records.n_tensors)
        call.buffers = <Py_buffer *>(call.spans + self.records.n_tensors)
        call.held = 0
        call.exchange = NULL
        call.is_plain = False

    cdef object run(self, PyObject *args, Call *call):
        cdef int64_t *symbols = call.slots + (self.records.n_slots - self.records.n_symbols)
        cdef int64_t *scalars = symbols - self.records.n_scalars
        cdef int64_t work, blocks
        cdef int32_t i, device_index = 0
        cdef void *stream
        cdef list results = None
        cdef object kept = ()
        if self.read(args, call, scalars) != TC_OK:
            return self.ask(<tuple>args)
        if call.exchange != NULL and not call.is_plain and torch_is_plain() != TC_OK:
            return self.ask(<tuple>args)
        for i in range(self.records.n_symbols):
            if tc_bind_symbol(&self.records.symbols[i], self.records.tensors, call.tensors, scalars, &symbols[i]) != TC_OK:
                return self.ask(<tuple>args)
        if self.device_type != HOST_TYPE:
            device_index = self.index_of(call)
        if self.records.n_outputs:
            results = []
            if self.make_outputs(call, symbols, device_index, results) != TC_OK:
                return self.ask(<tuple>args)
        if self.check(args, call, symbols, device_index, results) != TC_OK:
            return self.ask(<tuple>args)
        if tc_fill_grids(self.records.entries, self.records.n_entries, symbols, call.grids, &work, &blocks) != TC_OK:
            return self.ask(<tuple>args)
        for i in range(self.records.n_sizes):
            if tc_size(&self.records.sizes[i], symbols, &call.slots[self.records.n_slots + i]) != TC_OK:
                return self.ask(<tuple>args)
        stream = self.stream_of(call, device_index) if self.has_streams else NULL
        if self.records.n_workspaces:
            kept = self.take_workspaces(call, symbols, device_index, <uintptr_t>stream)
        if blocks:
            tensors = self.tensors_of(args, results, kept) if self.takes_tensors else None
            self.start(call.slots, call.grids, device_index, stream, work, tensors)
            if call.exchange != NULL:
                self.note_writes(args)
        if results is None:
            return None
        return results[0] if self.records.n_outputs == 1 else results

    cdef int read(self, PyObject *args, Call *call, int64_t *scalars) except -1:
        """Read every argument; checks what does not depend on the symbols."""
        cdef int32_t i, number
        cdef PyObject *value
        for i in range(self.records.n_inputs):
            value = <PyObject *>PyTuple_GET_ITEM(<tuple>args, i)
            number = self.records.inputs[i].number
            if self.records.inputs[i].is_tensor:
                if self.read_tensor(value, number, call) != TC_OK:
                    return TC_ASK
            elif read_scalar(value, &self.records.scalars[number], &scalars[number]) != TC_OK:
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
            if self.read_exchanged(value, kind, tensor, exchange, call) != TC_OK:
                return TC_ASK
        call.slots[number] = <int64_t><uintptr_t>(<char *>tensor.data + tensor.byte_offset)
        if tensor.device.type != self.device_type:
            if self.device_type != HOST_TYPE or (
                tensor.device.type != HOST_PAGE_LOCKED and tensor.device.type != HOST_PAGE_LOCKED_OTHER
            ):
                return TC_ASK
        return tc_check_kind(&self.records.tensors[number], tensor)

    cdef int read_exchanged(
        self, PyObject *value, PyObject *kind, tc_tensor *tensor, tc_exchange *exchange, Call *call
    ) except -1:
        """Read a tensor by torch's functions, or by the exchange of its library."""
        cdef bint of_torch = is_torch(kind)
        cdef bint has_fields = of_torch and exchange == torch_now.exchange and not self.has_handles
        if call.exchange == NULL:
            call.exchange = exchange
        if has_fields and not call.is_plain:
            if torch_is_plain() != TC_OK:
                return TC_ASK
            call.is_plain = True
        if not has_fields or describe(value, tensor) != TC_OK:
            if exchange.borrow(value, tensor) != 0:
                PyErr_Clear()
                return TC_ASK
            if has_fields:
                learn(value, tensor)
        return tensor_is_plain(value) if of_torch else TC_OK

    cdef int read_buffer(self, PyObject *value, int32_t number, Call *call) except -1:
        cdef Py_buffer *buffer = &call.buffers[call.held]
        cdef tc_tensor *tensor = &call.tensors[number]
        cdef tc_tensor_spec *spec = &self.records.tensors[number]
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
        for i in range(self.records.n_inputs):
            if self.records.inputs[i].is_tensor:
                return call.tensors[self.records.inputs[i].number].device.index
        return 0

    cdef void *stream_of(self, Call *call, int32_t device_index) except? NULL:
        """The stream to launch on: that of the tensors' library where the adapter follows it."""
        cdef void *stream = NULL
        if self.tensor_streams and call.exchange != NULL and call.exchange.current_stream != NULL:
            if call.exchange.current_stream(self.device_type, device_index, &stream) == 0:
                return stream
            PyErr_Clear()
        return <void *><uintptr_t>self.adapter.current_stream(device_index)

    cdef int make_outputs(self, Call *call, int64_t *symbols, int32_t device_index, list results) except -1:
        cdef int32_t i, number
        cdef int64_t[MOST_AXES] shape
        cdef tc_tensor_spec *spec
        cdef MadeKind *known
        # every tensor that the call passes is a numpy array: they are read by their buffers
        cdef bint arrays = self.makes_arrays and call.held and call.held == self.records.n_tensors - self.records.n_outputs
        for i in range(self.records.n_outputs):
            number = self.records.outputs[i]
            spec = &self.records.tensors[number]
            if shape_of(spec, symbols, shape) != TC_OK:
                return TC_ASK
            known = &(<MadeKind *>self.made.start)[i]
            made = None
            if call.is_plain and known.kind.is_known and known.device_index == device_index:
                made = new_tensor(spec.rank, shape, &known.kind)
            is_asked = made is None
            if is_asked:
                sizes = tuple([shape[axis] for axis in range(spec.rank)])
                if arrays:
                    made = empty_array(sizes, self.output_names[i])
                else:
                    made = self.adapter.empty(sizes, self.output_names[i], device_index)
            results.append(made)
            if self.read_tensor(<PyObject *>made, number, call) != TC_OK:
                return TC_ASK
            if is_asked and self.makes_plainly and call.is_plain:
                known.device_index = device_index
                kind_of(<PyObject *>made, &known.kind)
        return TC_OK

    cdef int check(self, PyObject *args, Call *call, int64_t *symbols, int32_t device_index, list results) except -1:
        cdef int32_t i
        cdef tc_tensor *tensor
        cdef tc_span *span
        for i in range(self.records.n_tensors):
            tensor, span = &call.tensors[i], &call.spans[i]
            if tc_check_tensor(&self.records.tensors[i], tensor, symbols, span) != TC_OK:
                return TC_ASK
            if self.device_type != HOST_TYPE and tensor.device.index != device_index:
                return TC_ASK
        if tc_check_overlap(self.records.tensors, call.spans, self.records.n_tensors) == TC_OK:
            return TC_OK
        return self.check_buffers(args, results) if self.has_handles else TC_ASK

    cdef int check_buffers(self, PyObject *args, list results) except -1:
        """TC_OK where every tensor has a buffer of its own: the handles of two may be closer than their sizes."""
        buffers = set()
        for tensor in self.tensors_of(args, results, ()):
            if not is_torch(<PyObject *>Py_TYPE(tensor)):
                return TC_ASK
            buffers.add(tensor.untyped_storage().data_ptr())
        return TC_OK if len(buffers) == self.records.n_tensors else TC_ASK

    cdef int note_writes(self, PyObject *args) except -1:
        """Tell torch which of its tensors the kernel wrote."""
        cdef int32_t i
        cdef PyObject *value
        for i in range(self.records.n_inputs):
            if self.records.inputs[i].is_tensor and self.records.tensors[self.records.inputs[i].number].written:
                value = <PyObject *>PyTuple_GET_ITEM(<tuple>args, i)
                if is_torch(<PyObject *>Py_TYPE(<object>value)):
                    note_write(value)
        return 0

    cdef object take_workspaces(self, Call *call, int64_t *symbols, int32_t device_index, stream):
        cdef int32_t i
        values = {name: symbols[number] for name, number in self.plan.symbol_index.items()}
        addresses, owners = self.workspaces.get(values, device_index, stream)
        for i in range(self.records.n_workspaces):
            call.slots[self.records.n_tensors + i] = <int64_t><uintptr_t>addresses[i]
        return owners

    cdef tuple tensors_of(self, PyObject *args, list results, object workspaces):
        """The tensors and the workspaces of a call, as objects in the order of their slots."""
        cdef int32_t i
        cdef list tensors = [None] * self.records.n_tensors
        for i in range(self.records.n_inputs):
            if self.records.inputs[i].is_tensor:
                tensors[self.records.inputs[i].number] = <object>PyTuple_GET_ITEM(<tuple>args, i)
        for i in range(self.records.n_outputs):
            tensors[self.records.outputs[i]] = results[i]
        return (*tensors, *workspaces)

    cdef object ask(self, tuple args):
        """The call by way of the checker, which raises or lays out the arguments."""
        call = bind(self.plan, args, self.adapter, self.workspaces, self.has_streams)
        if call.blocks:
            self.start(
                <int64_t *><uintptr_t>address_of(call.slots),
                <int64_t *><uintptr_t>address_of(call.grids),
                call.device,
                <void *><uintptr_t>call.stream,
                call.work,
                call.tensors,
            )
            torch_state.note_writes(call.written)
        return call.returned()

    cdef int start(
        self, int64_t *slots, int64_t *grids, int32_t device_index, void *stream, int64_t work, tuple tensors
    ) except -1:
        cdef int code
        if self.launch == NULL and self.launch_on == NULL:
            code = self.start_in_python(<uintptr_t>slots, <uintptr_t>grids, device_index, <uintptr_t>stream, tensors)
        elif 0 <= work <= GIL_KEPT:
            code = self.native(slots, grids, device_index, stream)
        else:
            with nogil:
                code = self.native(slots, grids, device_index, stream)
        if code != 0:
            sizes = [grids[i] for i in range(4 * self.records.n_entries)]
            raise launch_failure(self.artifact.name, self.artifact.entries, self.loaded, code, sizes)
        return 0

    cdef inline int native(self, int64_t *slots, int64_t *grids, int32_t device_index, void *stream) noexcept nogil:
        if self.launch_on != NULL:
            return self.launch_on(self.state, slots, grids, device_index, stream)
        return self.launch(self.state, slots, grids, stream)

    cdef int start_in_python(self, slots, grids, device_index, stream, tensors) except? -1:
        if self.takes_tensors:
            where = (device_index, stream) if self.loaded.on_device else (stream,)
            return self.loaded.launch(slots, grids, *where, tensors) or 0
        if self.loaded.on_device:
            return self.loaded.launch(slots, grids, device_index, stream) or 0
        return self.loaded.launch(slots, grids, stream) or 0


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
