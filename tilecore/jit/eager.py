"""Compiles eager kernels: the function's body is the kernel, and the tensors of a call set its shapes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tilecore.compilation_cache.source_key import SourceKey, source_key
from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError
from tilecore.frontend.signature import annotations_of, check_parameters, definition_of, evaluate_strings
from tilecore.jit.argument_key import are_compared, key_of
from tilecore.jit.call_cache import CallCache
from tilecore.jit.call_text import call_text
from tilecore.jit.eager_call import LEFT_OUT, POINTER, EagerCall, bound_arguments, described, split_constants
from tilecore.jit.surroundings import Surroundings
from tilecore.language.annotations import TensorType, is_pointer, row_major_strides
from tilecore.signatures import signature_of
from tilecore.stage_times import recording, stage

if TYPE_CHECKING:
    from tilecore.jit.elaborate_eager import Elaborated
    from tilecore.jit.kernel import JITKernel


def is_eager(function: FunctionType) -> bool:
    """Is the function's body a kernel, not a function that returns a T.prim_func?

    Then the function itself, not one inside it, opens a T.Kernel, declares a tensor in its body or its signature, or
    makes a T.const or an output (T.empty); the T.Kernel may stand in a macro that it calls.
    """
    from tilecore.frontend.source import parse_function

    try:
        _, definition = parse_function(function)
    except (LanguageError, SyntaxError):
        return False
    if any(_is_prim_func(node) for node in ast.walk(definition) if node is not definition):
        return False
    arguments = definition.args
    annotations = [a.annotation for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    if any(_is_tensor_type(annotation) for annotation in annotations):
        return True
    return any(_declares(node) or _makes_size_or_output(node, function) for node in _own_nodes(definition))


def declarations(function: FunctionType) -> tuple[list[str], list[str]]:
    """The names that an eager function's body declares as tensors, and those of its T.const sizes."""
    from tilecore.frontend.source import parse_function

    _, definition = parse_function(function)
    tensors, sizes = [], []
    for node in _own_nodes(definition):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _declares(node):
            tensors.append(node.target.id)
        elif isinstance(node, ast.Call) and _last_name(node.func) == "const":
            texts = [argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)]
            sizes += [name for text in texts if isinstance(text, str) for name in text.replace(",", " ").split()]
    return tensors, sizes


def _own_nodes(definition: Any) -> Any:
    pending = list(definition.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(node))


def _declares(node: ast.AST) -> bool:
    if isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items]
        return any(isinstance(c, ast.Call) and _last_name(c.func) == "Kernel" for c in calls)
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return "Tensor" in ast.dump(node.annotation)
    return False


def _is_prim_func(node: ast.AST) -> bool:
    """Is it a function under ``@T.prim_func``?"""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(_last_name(d.func if isinstance(d, ast.Call) else d) == "prim_func" for d in decorators)


def _is_tensor_type(annotation: ast.expr | None) -> bool:
    """Is it ``T.Tensor(...)`` or ``T.Tensor[...]``?"""
    kind = annotation.func if isinstance(annotation, ast.Call) else getattr(annotation, "value", None)
    is_applied = isinstance(annotation, (ast.Call, ast.Subscript))
    return is_applied and kind is not None and _last_name(kind) in ("Tensor", "StridedTensor", "Buffer")


def _makes_size_or_output(node: ast.AST, function: FunctionType) -> bool:
    """Is it a call of T.const or T.empty? Other modules have functions of these names."""
    if not isinstance(node, ast.Call) or _last_name(node.func) not in ("const", "empty"):
        return False
    names = inspect.getclosurevars(function)
    path = ast.unparse(node.func).split(".")
    value: Any = {**names.builtins, **names.globals, **names.nonlocals}.get(path[0])
    for attribute in path[1:]:
        value = getattr(value, attribute, None)
    return str(getattr(value, "__module__", "")).startswith("tilecore.language")


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


_Argument = Callable[[tuple[Any, ...], dict[str, Any]], Any]


class EagerKernel:
    """The kernels of one eager function: one for each combination of tensor types and Python values."""

    def __init__(self, function: FunctionType, request: Callable[[], Any]) -> None:
        check_parameters(function, keyword_only=True)
        self.function = function
        self.request = request
        self.signature = signature_of(function)
        self._scalars: dict[str, DType] | None = None
        self._pointers: set[str] = set()
        self._surroundings = Surroundings(function)
        self._kernels: dict[Any, tuple[JITKernel, tuple[str, ...]]] = {}
        self._calls: CallCache[tuple[JITKernel, list[_Argument] | None]] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = self._surroundings.now()
        known = None if self._calls is None else self._calls.get(args, kwargs, state)
        if known is not None:
            kernel, arguments = known
            return kernel(*args) if arguments is None else kernel(*[get(args, kwargs) for get in arguments])
        named, constants = split_constants(self.signature, kwargs)
        bound = bound_arguments(self.function.__name__, self.signature, args, named, whole=True)
        kernel, names = self._kernel(EagerCall(self._types(bound), constants), state)
        self._remember(args, kwargs, state, kernel, names)
        return kernel(*(bound[name] for name in names))

    def _remember(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        state: str | None,
        kernel: JITKernel,
        names: tuple[str, ...],
    ) -> None:
        """Lets the next call with such arguments find the kernel, if the arguments are the kernel's as they are."""
        parameters = self.signature.parameters
        star = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        if state is None or any(parameter.kind in star for parameter in parameters.values()):
            return
        if any(name not in parameters and type(size) is not int for name, size in kwargs.items()):
            return  # a T.const size in a tensor, whose element matters
        calls = self._calls
        if calls is None:
            scalars = {*(self._scalars or ()), *self._pointers}
            numbers = [number for number, name in enumerate(parameters) if name in scalars]
            calls = self._calls = CallCache([*scalars, *numbers], by_type=True)
        if list(parameters)[: len(args)] == list(names):
            calls.put(args, kwargs, state, (kernel, None))
            return
        arguments = [self._argument(name, len(args), kwargs) for name in names]
        known = [get for get in arguments if get is not None]
        if len(known) == len(arguments):
            calls.put(args, kwargs, state, (kernel, known))

    def _argument(self, name: str, count: int, kwargs: dict[str, Any]) -> _Argument | None:
        """What gets an argument of the kernel from a call with ``count`` positional arguments and these named ones, or
        None where it is a default value that is no number."""
        parameters = self.signature.parameters
        place = list(parameters).index(name)
        if place < count:
            return lambda args, _: args[place]
        if name in kwargs:
            return lambda _, kwargs: kwargs[name]
        default = parameters[name].default
        return (lambda *_: default) if type(default) in (int, float, bool) else None

    def compile(self, *args: Any, **kwargs: Any) -> JITKernel:
        """The kernel for these arguments. Tensors may be given as T.Tensor types, or left out where T.const sizes are
        given by their names: ``matmul.compile(M=64, N=64, K=32, block_M=16)``."""
        return self._kernel(self.call_of(args, kwargs), self._surroundings.now())[0]

    def forget_kernels(self) -> None:
        """Forgets the kernels that calls have made."""
        self._kernels.clear()
        self._calls = None

    def get_tir(self, *args: Any, **kwargs: Any) -> Any:
        """The tile IR for the arguments of :meth:`compile`."""
        return self.elaborated(self.call_of(args, kwargs)).func

    def call_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> EagerCall:
        """What these arguments ask to be compiled; tensors may be left out."""
        named, constants = split_constants(self.signature, kwargs)
        bound = bound_arguments(self.function.__name__, self.signature, args, named, whole=False)
        return EagerCall(self._types(bound), constants)

    def source_of(self, call: EagerCall) -> tuple[SourceKey | None, dict[str, Any]]:
        """The source key of the kernel for a call, and the facts that cache keys contain beside it."""
        source = source_key(self.function, (), described(call.types, _plain))
        return source, {"eager": True, "constants": dict(call.constants)}

    def key_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """What tells the kernels apart in memory: values, sizes by name, and tensors by shape and element type."""
        return self._key(self.call_of(args, kwargs))

    @staticmethod
    def _key(call: EagerCall) -> tuple[Any, ...]:
        types = tuple((name, _key_of(value)) for name, value in call.types.items())
        return (*types, *sorted(call.constants.items()))

    def _kernel(self, call: EagerCall, state: str | None) -> tuple[JITKernel, tuple[str, ...]]:
        """(the kernel, the names of its arguments). state: of the surroundings now."""
        values = self._key(call)
        if state is None or not are_compared(values):
            return self._compile(call)
        key = (values, state)
        compiled = self._kernels.get(key)
        if compiled is None:
            compiled = self._kernels[key] = self._compile(call)
        return compiled

    def _types(self, bound: dict[str, Any]) -> dict[str, Any]:
        """Tensors, and scalars and pointers that are parameters of the kernel, as their types; other values as they
        are. A pointer is the same whatever it points to: POINTER."""
        if self._scalars is None:
            self._scalars = {n: kind for n, kind in self._annotations().items() if isinstance(kind, DType)}
            self._pointers = {n for n, kind in self._annotations().items() if is_pointer(kind)}
        return {
            name: POINTER if name in self._pointers else self._type_of(name, value, self._scalars.get(name))
            for name, value in bound.items()
        }

    @staticmethod
    def _type_of(name: str, value: Any, scalar: DType | None) -> Any:
        if value is LEFT_OUT:
            return LEFT_OUT if scalar is None else scalar
        try:
            kind = tensor_type(value)
        except LanguageError as error:
            error.message = f"parameter {name!r}: {error.message}"
            raise
        if scalar is not None and (kind is None or not kind.shape):
            return scalar
        return value if kind is None else kind

    def _annotations(self) -> dict[str, Any]:
        return evaluate_strings(self.function, annotations_of(self.function), None)

    def _compile(self, call: EagerCall) -> tuple[JITKernel, tuple[str, ...]]:
        from tilecore.jit.compile import compile_ir
        from tilecore.jit.layered import by_source

        with recording("a kernel"):
            request = self.request()
            with stage("cache"):
                source, facts = self.source_of(call)
                key, bundle_key = request.key_from(source, **facts), by_source(request, source, **facts)
            name = self.function.__name__
            text = partial(call_text, name, (), call.given())
            kernel = compile_ir(lambda: self.elaborated(call).func, request, key, bundle_key, name, text)
        outputs = set(kernel.artifact.out_idx)
        return kernel, tuple(p.name for i, p in enumerate(kernel.params) if i not in outputs)

    def elaborated(self, call: EagerCall) -> Elaborated:
        """The kernel for a call, built by running the function. Raises LanguageError, ArgumentError."""
        from tilecore.jit.elaborate_eager import elaborate

        return elaborate(self.function, call, self._annotations(), definition_of(self.function))


def tensor_type(value: Any) -> TensorType | None:
    """The type of a tensor argument: concrete shape, dtype, strides when not contiguous; None for other values."""
    if isinstance(value, TensorType):
        return value
    if isinstance(value, (int, float, bool, str)) or value is None:
        return None
    shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or kind is None or isinstance(value, type):
        return None
    sizes, strides = tuple(int(s) for s in shape), _strides(value, tuple(int(s) for s in shape))
    dtype = DType(kind)
    if strides is None or dtype.lanes == 1:
        return TensorType(sizes, dtype, strides)
    # of torch's float4_e2m1fn_x2, two elements each
    logical = (*(stride * dtype.lanes for stride in strides[:-1]), strides[-1])
    return TensorType((*sizes[:-1], sizes[-1] * dtype.lanes), dtype.element, logical)


def _strides(value: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of a tensor in elements; None of one that is contiguous, or whose strides are not known here."""
    strides = getattr(value, "stride", None)
    if callable(strides):  # torch's
        steps = tuple(strides())
    else:
        step, size = getattr(value, "strides", None), getattr(value, "itemsize", 0)
        if not isinstance(step, tuple) or not size:
            return None
        steps = tuple(s // size for s in step)  # numpy's are in bytes
    return None if steps == row_major_strides(shape) else steps


def _key_of(value: Any) -> Any:
    if isinstance(value, TensorType):
        return ("tensor", value.shape, str(value.dtype), value.strides)
    return key_of(value)


def _plain(value: Any) -> Any:
    if not isinstance(value, TensorType):
        return value
    kind = ("tensor", tuple(value.shape), str(value.dtype))
    return kind if value.strides is None else (*kind, tuple(value.strides))
