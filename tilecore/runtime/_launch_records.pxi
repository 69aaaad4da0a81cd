# The C records that calls are checked against, made once from a CallPlan. Part of _launcher.pyx.

cdef enum:
    SCALAR_INT = 0
    SCALAR_BOOL = 1
    SCALAR_FLOAT32 = 2
    SCALAR_FLOAT64 = 3
    SCALAR_OTHER = 4


cdef struct Scalar:
    int64_t low
    int64_t high
    int32_t kind


cdef struct Input:
    int32_t is_tensor
    int32_t number  # of the tensor, or of the scalar


cdef class _Memory:
    """Zeroed memory that is freed with its owner."""
    cdef void *start

    def __cinit__(self, size_t size):
        self.start = PyMem_Calloc(1, size if size else 1)
        if self.start == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.start)


cdef class _Records:
    """A plan as C records; ``plain`` is false when some size needs Python."""
    cdef list memory
    cdef bint plain
    cdef Input *inputs
    cdef Scalar *scalars
    cdef tc_tensor_spec *tensors
    cdef tc_symbol_spec *symbols
    cdef tc_entry_spec *entries
    cdef int32_t *outputs
    cdef tc_dim *sizes
    cdef int32_t n_inputs, n_tensors, n_scalars, n_symbols, n_entries, n_outputs, n_workspaces, n_slots, n_sizes, n_strides

    cdef void *take(self, size_t size) except NULL:
        cdef _Memory memory = _Memory(size)
        self.memory.append(memory)
        return memory.start

    def __init__(self, plan):
        cdef int32_t i
        self.memory = []
        self.plain = True
        index = plan.symbol_index
        numbers = {param: number for number, param in enumerate(plan.tensors)}
        scalars = {param: number for number, param in enumerate(plan.scalars)}
        self.n_inputs, self.n_tensors, self.n_scalars = len(plan.inputs), len(plan.tensors), len(plan.scalars)
        self.n_symbols, self.n_entries, self.n_outputs = len(plan.symbols), len(plan.entries), len(plan.outputs)
        self.n_workspaces, self.n_slots, self.n_strides = len(plan.workspaces), plan.slot_count, 0
        self.n_sizes = len(plan.sizes)
        self.sizes = <tc_dim *>self.take(self.n_sizes * sizeof(tc_dim))
        for i, dim in enumerate(plan.sizes):
            self._set_dim(&self.sizes[i], dim, index)
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
            self._set_tensor(&self.tensors[i], plan.params[param], index)
        for i, symbol in enumerate(plan.symbols):
            self._set_symbol(&self.symbols[i], symbol, numbers, scalars)
        for i, entry in enumerate(plan.entries):
            for axis in range(3):
                self._set_dim(&self.entries[i].grid[<int>axis], entry.grid[axis], index)
            self._set_dim(&self.entries[i].shared, entry.shared_bytes, index)
            self.entries[i].longest = entry.longest
        for i, param in enumerate(plan.outputs):
            self.outputs[i] = numbers[param]

    cdef int _set_tensor(self, tc_tensor_spec *spec, param, index) except -1:
        cdef tc_dim *dims
        cdef int32_t axis
        codes = [FACTS[name].dlpack for name in storage_dtypes(param)]
        spec.code, spec.bits = codes[0]
        spec.other_code = codes[len(codes) - 1][0]
        spec.rank, spec.packed, spec.align = len(param.shape), param.packed, param.align
        spec.written = "w" in param.access
        dims = <tc_dim *>self.take(spec.rank * sizeof(tc_dim))
        for axis in range(spec.rank):
            self._set_dim(&dims[axis], param.shape[axis], index)
        spec.shape = dims
        if param.strides is not None:
            dims = <tc_dim *>self.take(spec.rank * sizeof(tc_dim))
            for axis in range(spec.rank):
                self._set_dim(&dims[axis], param.strides[axis], index)
            spec.strides = dims
        self.n_strides += spec.rank
        return 0

    cdef int _set_symbol(self, tc_symbol_spec *spec, symbol, numbers, scalars) except -1:
        if symbol.kind == "scalar":
            spec.source, spec.index = TC_FROM_SCALAR, scalars[symbol.param]
        else:
            spec.source = TC_FROM_SHAPE if symbol.kind == "shape" else TC_FROM_STRIDE
            spec.index = numbers[symbol.param]
        spec.axis, spec.scale, spec.offset = symbol.axis, symbol.scale, symbol.offset
        spec.low, spec.high = max(symbol.low, -(2**63)), min(symbol.high, 2**63 - 1)
        return 0

    cdef int _set_dim(self, tc_dim *out, dim, index) except -1:
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
