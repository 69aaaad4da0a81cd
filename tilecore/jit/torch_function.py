"""Functions under ``@tilecore.jit(torch_op="namespace::name")``: calls go to an operation of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore.errors import ArgumentError, TilecoreError, UnsupportedError
from tilecore.jit.compile import ir_of
from tilecore.jit.declared_kernel import declared_artifact, device_type_of
from tilecore.jit.eager import declarations
from tilecore.jit.eager_call import arguments_of
from tilecore.jit.impl import JITImpl
from tilecore.jit.overload_names import overload_name
from tilecore.jit.request import ir_key
from tilecore.nearest import did_you_mean
from tilecore.runtime.call_plan import CallPlan, make_plan
from tilecore.tensors.torch_state import not_traced

if TYPE_CHECKING:
    from tilecore.torch_ops import OpSource, TorchOpRules

PROBED_SIZE = 1024  # of each T.const, for which an eager function is run to see its parameters


class TorchFunction(JITImpl):
    """A function under ``@tilecore.jit(torch_op=...)``.

    Mode "kernel" and "eager": the operation ``op`` is registered where the function is defined, and a call is a call
    of the operation. Mode "lazy": a call with Python values returns the operation for these values, which is the
    overload of the name that they spell: ``matmul(64, 64)`` is ``torch.ops.mylib.matmul.M64_N64``. ``compile`` gives
    the kernels.
    """

    def __init__(self, func: Any, settings: Mapping[str, Any], name: object, rules: TorchOpRules) -> None:
        super().__init__(func, settings)
        from tilecore.torch_ops.names import parse_name

        self._op_name = parse_name(name)
        self._called = str(getattr(func, "__name__", func))
        self._rules = rules
        self._arguments: tuple[str, ...] = ()  # of the operation
        self._optional: frozenset[str] = frozenset()  # those that a call may leave out
        self.op: Any = None
        if self.mode != "lazy":
            from tilecore.torch_ops import register_op

            self.op = register_op(self._op_name, self._source(), self._rules_for())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.op is None:
            return self._op_of_values(args, kwargs)
        if kwargs or len(args) != len(self._arguments):
            left_out = [name for name in self._arguments[len(args) :] if name not in kwargs]
            wrong = [name for name in kwargs if name not in self._arguments]
            if wrong or len(args) > len(self._arguments) or not self._optional.issuperset(left_out):
                raise self._misfit(len(args), wrong, left_out)
        return self.op(*args, **kwargs)

    def _misfit(self, count: int, wrong: list[str], left_out: list[str]) -> ArgumentError:
        """The error for arguments that are not those of the operation.

        count: of those by position. wrong: unknown names. left_out: arguments that the call does not give.
        """
        fixed = [name for name in self.signature.parameters if name not in self._arguments]
        if count > len(self._arguments) and not wrong:
            wrong = fixed[:1]
        missing = [name for name in left_out if name not in self._optional]
        problem = f"it has no argument {wrong[0]!r}" if wrong else f"{count} arguments were given"
        return ArgumentError(
            f"{self._called}() is the operation {self._op_name} of torch: "
            + (f"{', '.join(missing)} is missing" if missing and not wrong else problem),
            expected=f"{self._called}({', '.join(self._arguments)})",
            hint=None if not wrong else self._hint_on(wrong[0], fixed),
        )

    not_traced(
        _misfit, "the arguments of a call do not fit the operation: call it outside of the program for the error"
    )

    def _hint_on(self, name: str, fixed: list[str]) -> str | None:
        """What to do about a name that is no argument of the operation. fixed: parameters that keep their default."""
        if name not in fixed or self.mode == "kernel":
            return did_you_mean(name, self._arguments)
        return (
            f"the parameter {name} keeps its default there. Annotated as a number of the kernel, as in "
            f"{name}: T.float32, it is an argument; or make an operation for another value: "
            f'{self._called}.compile(..., {name}=...).torch_op("{self._op_name.namespace}::another_name")'
        )

    def _identity(self, func: Any) -> Any:
        """Equal for the function and a later definition that says the same, as when a cell of a notebook runs again.
        func: its tile IR."""
        return ir_key(func, self.request()), self.func_source if self.mode == "eager" else ""

    # -- operations -------------------------------------------------------------------------------------------

    def _rules_for(self, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> TorchOpRules:
        """The rules, with the compiled kernel for a backward that is under ``@tilecore.jit`` itself."""
        backward = self._rules.backward
        if not isinstance(backward, JITImpl):
            return self._rules
        if backward.mode == "eager":
            raise ArgumentError(
                f"backward={backward.func.__name__} is an eager kernel, which has no parameters before it is called",
                expected="a T.prim_func, a function that returns one, a compiled kernel, or backward(ctx, *gradients)",
            )
        return replace(self._rules, backward=backward.compile(*args, **(kwargs or {})))

    def _op_of_values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from tilecore.torch_ops import op_of_kernel

        bound = arguments_of(self._called, self.signature, args, kwargs)
        overload = self._op_name.overload or overload_name(bound.arguments)
        name = self._op_name._replace(overload=overload)
        return op_of_kernel(self.compile(*args, **kwargs), str(name), self._rules_for(args, kwargs))

    not_traced(_op_of_values, "make the operation of these values outside of the program, and call it inside")

    def _source(self) -> OpSource:
        from tilecore.torch_ops import OpSource, fake_of, optional_arguments

        request = self.request()
        device = request.backend.adapters[request.adapter].torch_device()
        run = super().__call__
        func = ir_of(self.func) if self.mode == "kernel" else self._probed()
        plan, identity = self._plan_of(func), self._identity(func)
        names = self._arguments = plan.argument_names
        if self.mode == "kernel":
            return OpSource(plan, run, fake_of(plan, device), device, identity)
        self._require_defaults(names)
        defaults = {name: p.default for name, p in self.signature.parameters.items() if p.default is not p.empty}
        positional = [n for n, p in self.signature.parameters.items() if p.kind is p.POSITIONAL_ONLY]

        def call(*args: Any) -> Any:
            given = dict(zip(names, args, strict=True))
            return run(*[given.pop(name) for name in positional], **given)

        identity = (identity, sorted((name, repr(value)) for name, value in defaults.items()))
        self._optional = optional_arguments(plan, defaults)
        return OpSource(plan, call, self._fake_of_sizes(plan, device), device, identity, defaults)

    def _plan_of(self, func: Any) -> CallPlan:
        request = self.request()
        return make_plan(declared_artifact(func, request), device_type_of(request))

    def _require_defaults(self, names: tuple[str, ...]) -> None:
        """What is no parameter of the kernel keeps its default in the operation."""
        fixed = {name: p for name, p in self.signature.parameters.items() if name not in names}
        without = [name for name, p in fixed.items() if p.default is p.empty]
        if without:
            raise UnsupportedError(
                f"{self._called} cannot be an operation of torch: no argument of it gives {without[0]!r}",
                expected=f"a default for {', '.join(without)}, or tensors and numbers of the kernel only",
            )

    def _fake_of_sizes(self, declared: CallPlan, device: str) -> Any:
        """The fake implementation of an eager function: the tile IR for the sizes of the call says what it returns.
        Sizes are constants of eager kernels, so that torch traces a program for each."""
        from tilecore.language.annotations import TensorType
        from tilecore.torch_ops import fake_of
        from tilecore.torch_ops.schema import schema_of

        fakes: dict[Any, Any] = {}

        def fake(*args: Any) -> Any:
            given = dict(zip(declared.argument_names, args, strict=True))
            types = {n: TensorType(tuple(map(int, v.shape)), v.dtype) for n, v in given.items() if hasattr(v, "shape")}
            key = tuple((name, kind.shape, str(kind.dtype)) for name, kind in types.items())
            if key not in fakes:
                plan = self._plan_of(self.get_tir(**{**given, **types}))
                if schema_of(plan, "") != schema_of(declared, ""):
                    raise UnsupportedError(
                        f"{declared.name} takes or writes other tensors for these sizes than it does for others",
                        found=schema_of(plan, declared.name),
                        expected=schema_of(declared, declared.name),
                    )
                fakes[key] = fake_of(plan, device)
            return fakes[key](*args)

        return fake

    def _probed(self) -> Any:
        """The tile IR of an eager function for arbitrary sizes. Raises UnsupportedError where it has none for these."""
        _, sizes = declarations(self.func)
        try:
            return self.get_tir(**dict.fromkeys(sizes, PROBED_SIZE))
        except TilecoreError as error:
            raise UnsupportedError(
                f"{self._called} cannot be an operation of torch before its first call: its parameters are not known",
                found=f"for sizes of {PROBED_SIZE}: {error.message}",
                hint=f"register the kernels of the sizes in use: {self._called}.compile(...)"
                f'.torch_op("{self._op_name}")',
            ) from error
