"""Gradients of operations: by a function in Python, or by another kernel that is an operation itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilecore.artifact.records import TensorParam
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.runtime.call_plan import CallPlan, may_have_gradient
from tilecore.tensors.torch_state import has_tangent
from tilecore.torch_ops.schema import writes_arguments

# How a gradient's parameter is named, for a tensor x.
_PREFIXES, _SUFFIXES = ("d", "grad_", "d_", "g"), ("_grad",)

Backward = Callable[..., Any]


def require_no_writes(plan: CallPlan, why: str) -> None:
    """Raises UnsupportedError for a kernel that writes its arguments. why: a verb's phrase, of what the rule does."""
    written = writes_arguments(plan)
    if written:
        raise UnsupportedError(
            f"{plan.name} writes its arguments: the rule {why}",
            found=f"{', '.join(written)} {'are' if len(written) > 1 else 'is'} written",
            expected="results that the call allocates",
            hint="compile the kernel with out_idx, for the parameters that it writes",
        )


def missing_gradient(name: str) -> Backward:
    """The backward of an operation that has none: an error, where torch would go on without the gradient."""

    def backward(ctx: Any, *gradients: Any) -> Any:
        raise UnsupportedError(
            f"the gradient of {name} is needed, and the operation has none",
            expected=f'a rule for it: kernel.torch_op("{name}", backward=...)',
            hint="or detach the tensors that need no gradient: x.detach(), torch.no_grad()",
        )

    return backward


def guarded(op: Any, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for torch's key Autograd in place of ``function``, torch's own or that of an operation without a
    gradient, which is called where a gradient is asked for.

    It refuses what would go wrong: forward mode, for which there is no rule, so that results would count as constants,
    and transformations of torch.func, with an error that names them.
    """
    import torch

    below, grad_mode, forward = torch._C._after_autograd_keyset, torch.is_grad_enabled, torch.autograd.forward_ad

    def call(keyset: Any, *args: Any) -> Any:
        if getattr(forward, "_current_level", 0) >= 0 and has_tangent(args):
            raise UnsupportedError(
                f"{name} has no derivative in forward mode (torch.func.jvp, torch.autograd.forward_ad)",
                found="a tensor with a tangent",
                expected="reverse mode, as of tensor.backward() and torch.autograd.grad, with backward=... as its rule",
            )
        if not grad_mode() or not any(getattr(value, "requires_grad", False) for value in args):
            with torch._C._AutoDispatchBelowAutograd():
                return op.redispatch(keyset & below, *args)
        try:
            return function(keyset, *args)
        except RuntimeError as error:
            if "setup_context staticmethod" not in str(error):
                raise
            raise UnsupportedError(
                f"{name} cannot be differentiated by torch.func (grad, vjp, jacrev, hessian)",
                expected="tensor.backward() or torch.autograd.grad",
            ) from error

    return call


def writes_numbers(plan: CallPlan) -> bool:
    """Whether the kernel writes an argument of floating point, which could have a gradient."""
    names = set(writes_arguments(plan))
    return any(may_have_gradient(plan.tensor(param)) for param in plan.tensors if plan.params[param].name in names)


def without_gradient(name: str) -> Callable[..., Any]:
    """The function for torch's key Autograd of an operation that writes its arguments, where a gradient is asked for:
    an error, as torch would go on without the kernel's part of it."""

    def call(keyset: Any, *args: Any) -> Any:
        raise UnsupportedError(
            f"{name} writes its arguments, and operations that do have no gradient",
            found="a tensor that requires a gradient",
            expected="a call under torch.no_grad(), or tensors without a gradient: x.detach()",
            hint="for a gradient compile the kernel with out_idx, and give its operation a rule: backward=...",
        )

    return call


def save_all(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
    """The ``setup_context`` that keeps the tensors among the arguments, then the results."""
    tensors = [value for value in inputs if hasattr(value, "dtype")]
    ctx.save_for_backward(*tensors, *(value for value in _results(output) if value is not None))


def _results(output: Any) -> Sequence[Any]:
    """What an operation returned, one result or several, as a sequence."""
    return output if isinstance(output, (tuple, list)) else (output,)


def counted(backward: Backward, plan: CallPlan, name: str) -> Backward:
    """The user's function ``backward``, whose results are counted: torch's error would count arguments of its own."""
    names = [plan.params[param].name for param in plan.inputs]

    def call(ctx: Any, *gradients: Any) -> Any:
        found = backward(ctx, *gradients)
        count = len(found) if isinstance(found, (tuple, list)) else 1
        if count < len(names):
            raise ArgumentError(
                f"the backward of {name} returned too few gradients",
                found=f"{count}",
                expected=f"{len(names)}, one for each of {', '.join(names)}; None for numbers, and where there is none",
            )
        return tuple(found) if isinstance(found, (tuple, list)) else found

    return call


class KernelGradient:
    """The gradient by another kernel, whose parameters say by their names what they are.

    Of an operation with arguments ``A, B`` and the result ``C``: ``A``, ``B`` and ``C`` are the tensors and numbers of
    the call, ``dC`` (or ``grad_C``, ``C_grad``) the gradient of the result. Its own results (out_idx) are ``dA``,
    ``dB``.
    op: the operation of the backward kernel.
    """

    def __init__(self, forward: CallPlan, backward: CallPlan, op: Any) -> None:
        self.op = op
        self.forward = forward
        self.name = backward.name
        self.arguments = [self._source(backward.params[param].name) for param in backward.inputs]
        self.results = [self._argument(backward.params[param].name) for param in backward.outputs]
        written = writes_arguments(backward)
        if written or not self.results:
            raise ArgumentError(
                f"backward={backward.name}: its results must be tensors that the call allocates",
                found=f"{', '.join(written) or 'no parameter'} {'are' if len(written) > 1 else 'is'} written",
                expected=f"out_idx for the gradients of {forward.name}'s arguments",
            )

    def _names(self, params: Sequence[int]) -> dict[str, int]:
        return {self.forward.params[param].name: place for place, param in enumerate(params)}

    def _source(self, name: str) -> tuple[str, int]:
        """Where an argument of the backward kernel comes from: ("argument" | "result" | "gradient", its place)."""
        arguments, results = self._names(self.forward.inputs), self._names(self.forward.outputs)
        if name in arguments:
            return "argument", arguments[name]
        if name in results:
            return "result", results[name]
        if (of := _differentiated(name, results)) is not None:
            return "gradient", results[of]
        gradients = [f"d{result}" for result in results]
        raise ArgumentError(
            f"backward={self.name}: its parameter {name!r} is none of the call's",
            expected=", ".join([*arguments, *results, *gradients]),
            hint="parameters of the backward kernel are found by their names: dC is the gradient of the result C",
        )

    def _argument(self, name: str) -> int:
        """The argument whose gradient a result of the backward kernel is."""
        tensors = {n: p for n, p in self._names(self.forward.inputs).items() if self._is_tensor(p)}
        of = _differentiated(name, tensors)
        if of is None:
            raise ArgumentError(
                f"backward={self.name}: its result {name!r} is the gradient of no argument",
                expected=", ".join(f"d{tensor}" for tensor in tensors),
            )
        return tensors[of]

    def _is_tensor(self, place: int) -> bool:
        return isinstance(self.forward.params[self.forward.inputs[place]], TensorParam)

    def setup(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        sources = {"argument": inputs, "result": _results(output)}
        kept = [sources[kind][place] for kind, place in self.arguments if kind in sources]
        ctx.numbers = [None if hasattr(value, "dtype") else value for value in kept]
        ctx.save_for_backward(*(value for value in kept if hasattr(value, "dtype")))

    def backward(self, ctx: Any, *gradients: Any) -> Any:
        tensors, numbers = iter(ctx.saved_tensors), iter(ctx.numbers)
        arguments = []
        for kind, place in self.arguments:
            if kind == "gradient":
                arguments.append(gradients[place].contiguous())
                continue
            number = next(numbers)
            arguments.append(next(tensors) if number is None else number)
        computed = self.op(*arguments)
        by_argument = dict(zip(self.results, _results(computed), strict=True))
        self._require(ctx.needs_input_grad, by_argument)
        given = [by_argument.get(place) for place in range(len(self.forward.inputs))]
        return given[0] if len(given) == 1 else tuple(given)

    def _require(self, needed: Sequence[bool], computed: dict[int, Any]) -> None:
        missing = [place for place, is_needed in enumerate(needed) if is_needed and place not in computed]
        if missing:
            names = [self.forward.params[self.forward.inputs[place]].name for place in missing]
            raise UnsupportedError(
                f"the gradient of {', '.join(names)} is needed, and backward={self.name} computes none",
                expected=", ".join(f"a result d{name}" for name in names),
                hint=f"or pass {names[0]}.detach()",
            )


def _differentiated(name: str, tensors: Any) -> str | None:
    """The tensor whose gradient a parameter of this name is."""
    for tensor in tensors:
        if name in (*(prefix + tensor for prefix in _PREFIXES), *(tensor + suffix for suffix in _SUFFIXES)):
            return str(tensor)
    return None
