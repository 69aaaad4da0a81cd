"""Functions under ``@tilecore.jit(torch_op="namespace::name")``: calls go to an operation of torch."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore.errors import ArgumentError, TilecoreError, UnsupportedError
from tilecore.jit.compile import ir_of
from tilecore.jit.declared_kernel import declared_artifact, device_type_of
from tilecore.jit.eager import declarations
from tilecore.jit.impl import JITImpl
from tilecore.jit.request import ir_key
from tilecore.runtime.call_plan import CallPlan, make_plan
from tilecore.tensors.torch_state import not_traced

if TYPE_CHECKING:
    from tilecore.torch_ops import OpSource, TorchOpRules

PROBED_SIZE = 1024  # of each T.const, for which an eager function is run to see its parameters
_LONGEST_OVERLOAD = 60


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
        self.op: Any = None
        if self.mode != "lazy":
            from tilecore.torch_ops import register_op

            self.op = register_op(self._op_name, self._source(), self._rules_for())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.op is not None:
            return self.op(*args, **kwargs)
        return self._op_of_values(args, kwargs)

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

        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        overload = self._op_name.overload or _spelled(bound.arguments)
        name = self._op_name._replace(overload=overload)
        return op_of_kernel(self.compile(*args, **kwargs), str(name), self._rules_for(args, kwargs))

    not_traced(_op_of_values, "make the operation of these values outside of the program, and call it inside")

    def _source(self) -> OpSource:
        from tilecore.torch_ops import OpSource, fake_of

        request = self.request()
        device = request.backend.adapters[request.adapter].torch_device()
        run = super().__call__
        func = ir_of(self.func) if self.mode == "kernel" else self._probed()
        plan, identity = self._plan_of(func), self._identity(func)
        if self.mode == "kernel":
            return OpSource(plan, run, fake_of(plan, device), device, identity)
        names = plan.argument_names
        self._require_defaults(names)
        positional = [n for n, p in self.signature.parameters.items() if p.kind is p.POSITIONAL_ONLY]

        def call(*args: Any) -> Any:
            given = dict(zip(names, args, strict=True))
            return run(*[given.pop(name) for name in positional], **given)

        return OpSource(plan, call, self._fake_of_sizes(plan, device), device, identity)

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


def _spelled(values: Mapping[str, Any]) -> str:
    """An overload's name for these values: ``M64_N64``; where that is no name, or a long one, a digest."""
    text = "_".join(f"{name}{value}" for name, value in values.items())
    words = re.sub(r"[^A-Za-z0-9_]", "_", text)
    plain = all(isinstance(value, (int, str, bool)) for value in values.values()) and words == text
    if plain and 0 < len(text) <= _LONGEST_OVERLOAD:
        return text
    return "v" + hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()[:16]
