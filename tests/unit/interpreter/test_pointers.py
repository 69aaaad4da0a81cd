"""Pointers in the interpreter reach known tensors only: what an address is refused for, and when."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, InterpreterError, LanguageError, OutOfBoundsError
from tilecore.interpreter import interpret


@T.prim_func
def doubled(P: T.Tensor((1,), T.ptr), Y: T.Tensor((8,), "float32"), used: T.int32):
    with T.Kernel(1):
        X = T.make_tensor(P[0], (8,), "float32")
        if used:
            for i in T.Parallel(8):
                Y[i] = X[i] * 2
                X[i] = 0


def run(address, used=1, **_):
    y = np.zeros(8, np.float32)
    interpret(doubled.ir, np.array([address], np.int64), y, used)
    return y


def test_an_address_in_a_named_array():
    x = np.arange(10, dtype=np.float32)
    with tilecore.reachable(x):
        y = run(x.ctypes.data + 8)
    assert y.tolist() == (np.arange(2, 10) * 2).tolist()
    assert x.tolist() == [0, 1, *[0] * 8]


def test_an_address_in_a_live_tensor_of_torch_or_of_the_call():
    torch = pytest.importorskip("torch")
    x = torch.arange(8, dtype=torch.float32)
    assert run(x.data_ptr()).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    y = np.arange(8, dtype=np.float32)
    interpret(doubled.ir, np.array([y.ctypes.data], np.int64), y, 1)  # its own output
    assert y.tolist() == [0] * 8


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (lambda x: 0, "whose pointer is null"),
        (lambda x: 64, "that of no known tensor"),
        (lambda x: x.ctypes.data + 16, "beyond the tensor"),
        (lambda x: x.ctypes.data + 2, "not aligned"),
    ],
)
def test_what_is_refused_where_an_element_is_accessed(address, words):
    x = np.ones(8, np.float32)
    with tilecore.reachable(x), pytest.raises((OutOfBoundsError, LanguageError), match=words):
        run(address(x))
    if words != "not aligned":
        with tilecore.reachable(x):
            run(address(x), used=0)  # no element is accessed
    assert (x[:4] == 1).all()


def test_memory_that_is_read_only_is_not_written():
    x = np.ones(8, np.float32)
    x.flags.writeable = False
    with tilecore.reachable(x), pytest.raises(LanguageError, match="read-only"):
        run(x.ctypes.data)
    assert (x == 1).all()


@pytest.mark.parametrize("transform", ["vmap", "grad", "functionalize", "jvp", "fake"])
def test_tensors_without_memory_that_are_alive_elsewhere(transform):
    """An error's traceback, for one, keeps the tensors of a transformation."""
    torch = pytest.importorskip("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    kept, x = [], torch.ones(3)

    def keep(tensor):
        kept.append(tensor)
        return tensor.sum()

    {
        "vmap": lambda: torch.vmap(keep)(x[None]),
        "grad": lambda: torch.func.grad(keep)(x),
        "functionalize": lambda: torch.func.functionalize(keep)(x),
        "jvp": lambda: torch.func.jvp(keep, (x,), (x,)),
        "fake": lambda: kept.append(FakeTensorMode().from_tensor(x)),
    }[transform]()
    assert kept
    unknown = np.ones(8, np.float32)
    with pytest.raises(InterpreterError, match="no known tensor"):
        run(unknown.ctypes.data)


def test_outside_of_the_context_an_array_is_unknown():
    x = np.ones(8, np.float32)
    with tilecore.reachable(x):
        pass
    with pytest.raises(InterpreterError, match="no known tensor"):
        run(x.ctypes.data)
    with pytest.raises(ArgumentError, match="takes tensors"), tilecore.reachable(3):
        pass
