"""The walk over thread IR visits what kernels have, with the arguments of calls by name, and refuses what is not in the
tables of nodes and calls; kernels of every kind of work have nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tilecore.codegen.source_emitter import SourceEmitter
from tilecore.errors import LimitError, LoweringError, UnsupportedError
from tilecore.ir import nodes
from tilecore.ir.build import const, load, op_name, seq, store
from tilecore.ir.nodes import AllocBuffer, Broadcast, Call, Evaluate, IRModule, Op, PrimFunc, Var, tirx
from tilecore.ir.register_call import register_call
from tilecore.ir.thread_calls import ATOMIC_ELEMENT, BARRIER, COPY_ASYNC, SHUFFLE, THREAD_CALLS
from tilecore.ir.thread_nodes import PART, THREAD_NODES
from tilecore.ir.thread_ops import thread_call, thread_statement
from tilecore.ir.thread_walk import ThreadWalk, check_thread_ir, nodes_inside, read_call, unknown_nodes
from tilecore.ir.verify import Verifier
from tilecore.ir.visit import collect

sys.path.insert(0, str(Path(__file__).parents[2]))
from replay import replay

OWN = register_call("acme.own")
TX = Var("tx", "int32")


def buffer(name: str, size: int, dtype: str = "float32", scope: str = "global") -> Var:
    return tirx.decl_buffer((size,), dtype, name, scope=scope, layout=None)


A, S = buffer("A", 64), buffer("S", 64, scope="shared")


class Lines(ThreadWalk):
    """A small generator that shares nothing with the emitters: values are text, statements are lines."""

    def __init__(self):
        self.lines = []

    def visit_integer(self, node):
        return str(int(node.value))

    def visit_floating(self, node):
        return str(float(node.value))

    def visit_variable(self, node):
        return str(node.name)

    def visit_arithmetic(self, node):
        return f"({type(node).__name__} {self.visit(node.a)} {self.visit(node.b)})"

    def visit_load(self, node):
        return f"{node.source.name}[{self.visit(node.indices[0])}]"

    def visit_store(self, node):
        self.lines.append(f"{node.buffer.name}[{self.visit(node.indices[0])}] <- {self.visit(node.value)}")

    def call_barrier(self, arguments):
        self.lines.append("barrier")

    def call_shuffle(self, arguments):
        return f"shuffle.{arguments['kind']} {self.visit(arguments['value'])} {self.visit(arguments['lane'])}"

    def call_atomic_element(self, arguments):
        element = arguments.element("element")
        return f"atomic.{arguments['kind']} {element.source.name} {self.visit(arguments['value'])}"


def test_a_generator_over_the_walk():
    shuffled = thread_call(SHUFFLE, [load(S, [TX + 1]), 4, "xor", 32], dtype="float32")
    walk = Lines()
    walk.visit(
        seq([store(S, load(A, [TX]) * load(A, [TX]), [TX]), thread_statement(BARRIER), store(A, shuffled, [TX])])
    )
    assert walk.lines == [
        "S[tx] <- (Mul A[tx] A[tx])",
        "barrier",
        "A[tx] <- shuffle.xor S[(Add tx 1)] 4",
    ]
    atomic = thread_call(ATOMIC_ELEMENT, [load(A, [TX]), const(1.0, "float32"), "add", "relaxed"], dtype="float32")
    assert walk.visit(atomic) == "atomic.add A 1.0"


class Seen(ThreadWalk):
    """Names of the kinds of nodes and of the calls that it visits, and the buffers whose elements are read."""

    def __init__(self):
        self.names, self.read = [], []

    def visit(self, node):
        self.names.append(op_name(node) or type(node).__name__)
        return super().visit(node)

    def visit_load(self, node):
        self.read.append(str(node.source.name))
        self.visit_inside(node)

    def own_call(self, node):
        self.visit_inside(node)


def test_elements_of_calls_are_not_read():
    seen = Seen()
    seen.visit(thread_statement(COPY_ASYNC, [load(S, [TX]), load(A, [TX + 1]), 16, const(True, "bool")]))
    assert seen.read == []
    assert seen.names == ["Evaluate", COPY_ASYNC, "Var", "Add", "Var", "IntImm", "IntImm"]


def test_arguments_by_name():
    statement = thread_statement(COPY_ASYNC, [load(S, [TX]), load(A, [TX]), 16, const(True, "bool")])
    arguments = read_call(statement)
    assert arguments.call is THREAD_CALLS[COPY_ASYNC]
    assert arguments["size"] == 16
    assert arguments.element("source").source.same_as(A)
    printed = read_call(thread_call("tile.print", ["x", load(A, [TX]), TX]))
    assert printed["message"] == "x"
    assert len(printed.rest) == 2
    assert read_call(load(A, [TX])) is None
    assert read_call(Call(OWN, [TX], ret_ty="int32")) is None


def test_every_kind_of_node_is_one_of_tvms_classes_with_these_fields():
    for name, kind in THREAD_NODES.items():
        node = getattr(nodes, name, None) or getattr(tirx, name)
        assert [f.name for f in kind.fields if not hasattr(node, f.name)] == [], name


def test_the_emitter_has_a_method_for_every_kind_of_node():
    for name, kind in THREAD_NODES.items():
        assert kind.role == PART or hasattr(SourceEmitter, kind.emit_method), name


@pytest.mark.parametrize(
    "value", [Broadcast(const(1, "int32"), 4), Call(Op.get("tirx.tvm_storage_sync"), [], ret_ty="int32")]
)
def test_what_is_not_thread_ir_is_an_error(value):
    with pytest.raises(LoweringError, match=r"thread IR has a (node|call of) .*, which is not part of it"):
        ThreadWalk().visit(Evaluate(value))
    function = PrimFunc([], Evaluate(value)).with_attr("global_symbol", "k")
    assert [type(node) for node in unknown_nodes(function)] == [type(value)]
    with pytest.raises(LoweringError, match="which is not part of it"):
        check_thread_ir(IRModule({"k": function}))


def test_the_pass_after_which_an_unknown_call_was_there_first_is_named():
    function = PrimFunc([], Evaluate(Call(Op.get("tirx.tvm_storage_sync"), [], ret_ty="int32")))
    module = IRModule({"k": function.with_attr("global_symbol", "k")})
    with pytest.raises(LoweringError, match=r"not part of it \(since pass swizzle\)"):
        check_thread_ir(module, {"tvm_storage_sync": "pass swizzle"})
    verifier = Verifier()
    verifier.verify(PrimFunc([], Evaluate(thread_call(BARRIER))), "pass one")
    verifier.verify(function, "pass two")
    assert verifier.origins == {BARRIER: "pass one", "tvm_storage_sync": "pass two"}


def test_calls_of_a_backends_own_are_for_its_own_method():
    call = Evaluate(Call(OWN, [TX], ret_ty="void"))
    check_thread_ir(IRModule({"k": PrimFunc([], call).with_attr("global_symbol", "k")}))
    with pytest.raises(LoweringError, match=r"a call of acme\.own"):
        ThreadWalk().visit(call)
    seen = Seen()
    seen.visit(call)
    assert seen.names == ["Evaluate", "acme.own", "Var"]


def test_the_walk_goes_into_every_statement():
    inner = seq([AllocBuffer(S), store(S, const(1.0, "float32"), [TX])])
    assert len(list(nodes_inside(inner))) == 2
    assert len(collect(inner, AllocBuffer)) == 1


@pytest.mark.parametrize("kernel", replay.KERNELS)
@pytest.mark.parametrize("place", ["cuda-sm_80", "cuda-sm_90a", "opencl"])
def test_kernels_of_the_examples_have_no_other_nodes_and_calls(place, kernel):
    if not replay.installed(place):
        pytest.skip(f"the package of {place} is not installed")
    from tilecore.compiler import lower
    from tilecore.jit.request import make_request
    from tilecore.target_report.files import module_of

    request = make_request(target=replay.TARGETS[place])
    module_name = replay.ROOT / "examples" / f"{kernel}.py"
    func = getattr(module_of(module_name), kernel)(*replay.KERNELS[kernel]).ir
    try:
        module, _ = lower(func, request.backend, request.target, request.options)
    except (LimitError, UnsupportedError):
        pytest.skip(f"{place} refuses it")
    for function in module.functions.values():
        assert unknown_nodes(function) == []
        seen = Seen()
        seen.visit(function.body)
        assert "BufferStore" in seen.names
