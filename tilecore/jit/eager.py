"""Compiles eager kernels: the function's body is the kernel, and the tensors of a call set its shapes."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tilecore.compilation_cache.source_key import source_key
from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError
from tilecore.frontend.signature import annotations_of, check_parameters, definition_of, evaluate_strings
from tilecore.jit.argument_key import are_compared, key_of
from tilecore.jit.eager_call import LEFT_OUT, POINTER, EagerCall, bound_arguments, described, split_constants
from tilecore.jit.surroundings import Surroundings
from tilecore.language.annotations import TensorType, is_pointer
from tilecore.signatures import signature_of

if TYPE_CHECKING:
    from tilecore.jit.kernel import JITKernel


def is_eager(function: FunctionType) -> bool:
    """Does the function itself, not one inside it, open a T.Kernel or declare a tensor?"""
    from tilecore.frontend.source import parse_function

    try:
        _, definition = parse_function(function)
    except (LanguageError, SyntaxError):
        return False
    return any(_declares(node) for node in _own_nodes(definition))


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


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        named, constants = split_constants(self.signature, kwargs)
        bound = bound_arguments(self.function.__name__, self.signature, args, named, whole=True)
        kernel, names = self._kernel(EagerCall(self._types(bound), constants))
        return kernel(*(bound[name] for name in names))

    def compile(self, *args: Any, **kwargs: Any) -> JITKernel:
        """The kernel for these arguments. Tensors may be given as T.Tensor types, or left out where T.const sizes are
        given by their names: ``matmul.compile(M=64, N=64, K=32, block_M=16)``."""
        return self._kernel(self.call_of(args, kwargs))[0]

    def get_tir(self, *args: Any, **kwargs: Any) -> Any:
        """The tile IR for the arguments of :meth:`compile`."""
        return self._elaborate(self.call_of(args, kwargs))[0]

    def job_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """The tile IR for the arguments of :meth:`compile`, and the positions of its outputs."""
        ir, _, outputs = self._elaborate(self.call_of(args, kwargs))
        return ir, outputs

    def call_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> EagerCall:
        """What these arguments ask to be compiled; tensors may be left out."""
        named, constants = split_constants(self.signature, kwargs)
        bound = bound_arguments(self.function.__name__, self.signature, args, named, whole=False)
        return EagerCall(self._types(bound), constants)

    def key_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """What tells the kernels apart in memory: values, sizes by name, and tensors by shape and element type."""
        return self._key(self.call_of(args, kwargs))

    @staticmethod
    def _key(call: EagerCall) -> tuple[Any, ...]:
        types = tuple((name, _key_of(value)) for name, value in call.types.items())
        return (*types, *sorted(call.constants.items()))

    def _kernel(self, call: EagerCall) -> tuple[JITKernel, tuple[str, ...]]:
        values, state = self._key(call), self._surroundings.now()
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

        request = self.request()
        elaborate_once = functools.lru_cache(maxsize=1)(lambda: self._elaborate(call))
        source = source_key(self.function, (), described(call.types, _plain))
        key = request.key_from(source, eager=True, constants=dict(call.constants))
        kernel = compile_ir(lambda: elaborate_once()[0], request, key, lambda: elaborate_once()[2])
        outputs = set(kernel.artifact.out_idx)
        return kernel, tuple(p.name for i, p in enumerate(kernel.params) if i not in outputs)

    def _elaborate(self, call: EagerCall) -> tuple[Any, tuple[str, ...], tuple[int, ...]]:
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
    return TensorType(tuple(int(s) for s in shape), DType(kind))


def _key_of(value: Any) -> Any:
    if isinstance(value, TensorType):
        return ("tensor", value.shape, str(value.dtype))
    return key_of(value)


def _plain(value: Any) -> Any:
    return ("tensor", tuple(value.shape), str(value.dtype)) if isinstance(value, TensorType) else value
