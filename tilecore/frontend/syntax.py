"""Inserts the hooks into a function's syntax tree: which statement and expression calls which hook."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError, Location
from tilecore.frontend.assigned_names import names_bound_twice, target_names
from tilecore.frontend.liveness import assigned_in, carried_names, stores_of
from tilecore.frontend.python_state import MUTATING

if TYPE_CHECKING:
    from tilecore.ir.spans import SpanTable

HOOKS = "__tc"
SPANS = "__tc_spans"

_AUGMENTED = {
    ast.Add: "iadd",
    ast.Sub: "isub",
    ast.Mult: "imul",
    ast.Div: "itruediv",
    ast.FloorDiv: "ifloordiv",
    ast.Mod: "imod",
    ast.Pow: "ipow",
    ast.LShift: "ilshift",
    ast.RShift: "irshift",
    ast.BitOr: "ior",
    ast.BitAnd: "iand",
    ast.BitXor: "ixor",
    ast.MatMult: "imatmul",
}


class Rewriter(ast.NodeTransformer):
    """Inserts the hooks into a definition, in place."""

    def __init__(self, spans: SpanTable) -> None:
        self.spans = spans
        self.counter = 0
        self.rebound: set[str] = set()
        self.declares = False  # in the annotation of a name
        self.carried: dict[ast.stmt, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self.finally_depth = 0  # how many `try` with a `finally` enclose the statement within the loop
        self.depth: str | None = (
            None  # in a nested function: the variable with the number of blocks that were open at its call
        )

    def top(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        """The outermost definition: no decorators, no annotations (the signature is read from the function)."""
        rewritten = self._function(definition)
        rewritten.decorator_list = []
        rewritten.returns = None
        arguments = rewritten.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            argument.annotation = None
        for star in (arguments.vararg, arguments.kwarg):
            if star is not None:
                star.annotation = None
        return rewritten

    # -- helpers ---------------------------------------------------------------------------------------------

    def _new_name(self, stem: str) -> str:
        self.counter += 1
        return f"__tc_{stem}{self.counter}"

    def _hook(self, name: str, *args: ast.expr, at: ast.AST) -> ast.Call:
        call = ast.Call(ast.Attribute(ast.Name(HOOKS, ast.Load()), name, ast.Load()), list(args), [])
        return ast.copy_location(call, at)

    def _name(self, name: str) -> ast.Name:
        return ast.Name(name, ast.Load())

    def _lambda(self, body: ast.expr) -> ast.Lambda:
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.copy_location(ast.Lambda(empty, body), body)

    def _mark_place(self, statement: ast.stmt) -> ast.stmt:
        index = ast.Constant(self.spans.add(statement))
        return ast.copy_location(ast.Expr(self._hook("at", self._name(SPANS), index, at=statement)), statement)

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The rewritten statements. A statement's own names end with it, and those after it take the same ones again: a
        long function has few variables, which are listed at every loop of the kernel."""
        block: list[ast.stmt] = []
        counter = self.counter
        for statement in statements:
            self.counter = counter
            if isinstance(statement, (ast.Pass, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)):
                block.append(statement)
                continue
            block.append(self._mark_place(statement))
            rewritten = self.visit(statement)
            block.extend(rewritten if isinstance(rewritten, list) else [rewritten])
        return block

    def _block_in(self, finally_depth: int, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The rewritten statements, around which there are ``finally_depth`` `try` with a `finally` in the loop."""
        outer, self.finally_depth = self.finally_depth, finally_depth
        block = self._block(statements)
        self.finally_depth = outer
        return block

    # -- definitions -----------------------------------------------------------------------------------------

    def _function(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        outer = self.rebound, self.carried
        self.rebound = names_bound_twice(definition)
        self.carried = carried_names(definition)
        definition.body = self._block_in(0, definition.body)
        if self.depth is not None:  # a nested function: its `return` leaves only blocks that it opened itself
            depth = ast.Assign([ast.Name(self.depth, ast.Store())], self._hook("depth", at=definition))
            definition.body.insert(0, ast.copy_location(depth, definition))
        self.rebound, self.carried = outer
        return definition

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        outer, self.depth = self.depth, self._new_name("depth")
        rewritten = self._function(node)
        self.depth = outer
        return rewritten

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        value = self.visit(node.value) if node.value else ast.Constant(None)
        depth = ast.Constant(None) if self.depth is None else self._name(self.depth)
        return ast.copy_location(ast.Return(self._hook("return_", value, depth, at=node)), node)

    # -- control flow ----------------------------------------------------------------------------------------

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        names = ast.Constant(target_names(node.target))  # type: ignore[arg-type]
        orelse = ast.Constant(bool(node.orelse))
        unpacked = ast.Constant(isinstance(node.target, (ast.Tuple, ast.List)))
        iterator = self._hook(
            "for_", self._iterable(node.iter), names, self._probe(node), orelse, unpacked, at=node.iter
        )
        item = self._new_name("item")
        assigned = self._targets(node.target, item, node)
        target = ast.copy_location(ast.Name(item, ast.Store()), node.target)
        loop = ast.For(target, iterator, [*assigned, *self._block_in(0, node.body)], self._block(node.orelse))
        return [ast.copy_location(loop, node)]

    def _targets(self, target: ast.expr, item: str, node: ast.stmt) -> list[ast.stmt]:
        """The assignments of a loop's item to its target."""
        if isinstance(target, ast.Name):
            old = self._lambda(self._name(target.id)) if target.id in self.rebound else ast.Constant(None)
            value = self._hook("assign_item", self._name(item), old, at=target)
            return [ast.copy_location(ast.Assign([target], value), node)]
        if isinstance(target, (ast.Tuple, ast.List)):
            parts, unpacked = self._parts(target, self._name(item), node)
            inner = [e.value if isinstance(e, ast.Starred) else e for e in target.elts]
            pairs = zip(inner, parts, strict=True)
            return [unpacked, *(s for element, part in pairs for s in self._targets(element, part, node))]
        return self._assign(target, self._name(item), node)

    def _iterable(self, node: ast.expr) -> ast.expr:
        """The loop's iterable; ``range(...)`` may have bounds that only the kernel knows."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            arguments = [self.visit(a) for a in node.args]
            return self._hook("range_", node.func, *arguments, at=node)
        return self.visit(node)

    def visit_While(self, node: ast.While) -> ast.stmt:
        if _has_walrus(node.test):
            return self._while_with_walrus(node)
        condition = self._lambda(self._condition(node.test))
        orelse = ast.Constant(bool(node.orelse))
        always = isinstance(node.test, ast.Constant) and bool(node.test.value)
        leaves, jumps = ast.Constant(not always or can_leave(node)), ast.Constant(has_jumps(node))
        iterator = self._hook("while_", condition, self._probe(node), orelse, leaves, jumps, at=node.test)
        target = ast.Name(self._new_name("while"), ast.Store())
        loop = ast.For(target, iterator, self._block_in(0, node.body), self._block(node.orelse))
        return ast.copy_location(loop, node)

    def _while_with_walrus(self, node: ast.While) -> ast.stmt:
        """A condition that assigns a name cannot stand in a lambda: it is evaluated in the loop, at its head."""
        step = self._new_name("while")
        iterator = self._hook("while_steps", self._probe(node), ast.Constant(bool(node.orelse)), at=node.test)
        holds = ast.Call(ast.Attribute(self._name(step), "holds", ast.Load()), [self._condition(node.test)], [])
        leave = ast.If(ast.UnaryOp(ast.Not(), ast.copy_location(holds, node.test)), [ast.Break()], [])
        loop = ast.For(
            ast.Name(step, ast.Store()), iterator, [ast.copy_location(leave, node), *self._block_in(0, node.body)], []
        )
        return ast.copy_location(loop, node)

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        state = self._new_name("if")
        sides = tuple(tuple(sorted(stores_of(body))) for body in (node.body, node.orelse))
        assigned = ast.copy_location(ast.Constant(sides), node)  # type: ignore[arg-type]
        test = self._hook("if_", self._condition(node.test), self._probe(node), assigned, at=node.test)
        begin = ast.copy_location(ast.Assign([ast.Name(state, ast.Store())], test), node)

        def guarded_side(enter: str, body: list[ast.stmt]) -> ast.stmt:
            check = ast.Call(ast.Attribute(self._name(state), enter, ast.Load()), [], [])
            leave = ast.Expr(ast.Call(ast.Attribute(self._name(state), "leave", ast.Load()), [], []))
            return ast.copy_location(ast.If(check, [*self._block(body), ast.copy_location(leave, node)], []), node)

        statements = [begin, guarded_side("enter_then", node.body)]
        if node.orelse:
            statements.append(guarded_side("enter_else", node.orelse))
        done = ast.Expr(ast.Call(ast.Attribute(self._name(state), "done", ast.Load()), [], []))
        statements.append(ast.copy_location(done, node))
        return statements

    def visit_Match(self, node: ast.Match) -> ast.Match:
        """Python runs it: its subject is known while the kernel is built."""
        node.subject = self._hook("matched", self.visit(node.subject), at=node.subject)
        for case in node.cases:
            case.guard = case.guard and self._condition(case.guard)
            case.body = self._block(case.body)
        return node

    def _probe(self, node: ast.stmt) -> ast.expr:
        """The arguments of a Probe (frontend/branches.py) of the names whose values flow out of, or around, the
        statement."""
        names, after = self.carried.get(node, ((), ()))
        pairs = [ast.Tuple([ast.Constant(name), self._lambda(self._name(name))], ast.Load()) for name in names]
        assigned_names = tuple(sorted(assigned_in(node)))
        constants = (ast.Constant(assigned_names), ast.Constant(after))  # type: ignore[arg-type]
        return ast.Tuple([ast.Tuple(list[ast.expr](pairs), ast.Load()), *constants], ast.Load())

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        return self._jump("break_", node)

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        return self._jump("continue_", node)

    def _jump(self, hook: str, node: ast.stmt) -> ast.stmt:
        condition = self._hook(hook, ast.copy_location(ast.Constant(self.finally_depth > 0), node), at=node)
        return ast.copy_location(ast.If(condition, [node], []), node)

    def visit_Try(self, node: ast.Try) -> list[ast.stmt]:
        """Python runs it: exceptions are raised and caught while the kernel is built."""
        depth, finally_depth = self._new_name("depth"), self.finally_depth + bool(node.finalbody)
        begin = ast.Assign([ast.Name(depth, ast.Store())], self._hook("depth", at=node))
        node.body, node.orelse = self._block_in(finally_depth, node.body), self._block_in(finally_depth, node.orelse)
        for handler in node.handlers:
            check = ast.Expr(self._hook("caught", self._name(depth), at=handler))
            handler.body = [ast.copy_location(check, handler), *self._block_in(finally_depth, handler.body)]
        if node.finalbody:
            note = ast.copy_location(ast.Expr(self._hook("finally_", at=node.finalbody[0])), node.finalbody[0])
            node.finalbody = [note, *self._block(node.finalbody)]
        return [ast.copy_location(begin, node), node]

    def visit_TryStar(self, node: Any) -> list[ast.stmt]:  # from Python 3.11 on
        return self.visit_Try(node)

    def visit_With(self, node: ast.With) -> ast.stmt:
        items = []
        for item in node.items:
            names = target_names(item.optional_vars) if item.optional_vars else ()
            named = ast.Constant(names)  # type: ignore[arg-type]
            unpacked = ast.Constant(isinstance(item.optional_vars, (ast.Tuple, ast.List)))
            entered = self.visit(item.context_expr)
            manager = self._hook("with_", entered, named, unpacked, self._probe(node), at=item.context_expr)
            items.append(ast.withitem(manager, item.optional_vars))
        return ast.copy_location(ast.With(items, self._block(node.body)), node)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        message = self._lambda(self.visit(node.msg)) if node.msg else ast.Constant(None)
        return ast.copy_location(ast.Expr(self._hook("assert_", self._condition(node.test), message, at=node)), node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if not isinstance(node.value, ast.Call):
            return node
        return ast.copy_location(ast.Expr(self._hook("statement", self.visit(node.value), at=node)), node)

    # -- assignments -----------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self._assign(node.targets[0], value, node)
        temporary = self._new_name("value")
        statements: list[ast.stmt] = [ast.copy_location(ast.Assign([ast.Name(temporary, ast.Store())], value), node)]
        for target in node.targets:
            statements.extend(self._assign(target, self._name(temporary), node))
        return statements

    def _assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            old = self._lambda(self._name(target.id)) if target.id in self.rebound else ast.Constant(None)
            bound = self._hook("bind", ast.Constant(target.id), value, old, at=node)
            return [ast.copy_location(ast.Assign([target], bound), node)]
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._unpack(target, value, node)
        before, value = self._evaluate_first(value, node)
        if isinstance(target, ast.Subscript):
            where = (self._base(target.value), self.visit(target.slice))
            return [*before, self._statement("store", *where, value, at=node)]
        assert isinstance(target, ast.Attribute)
        name = ast.Constant(target.attr)
        return [*before, self._statement("store_attribute", self._base(target.value), name, value, at=node)]

    def _statement(self, hook: str, *args: ast.expr, at: ast.stmt) -> ast.stmt:
        return ast.copy_location(ast.Expr(self._hook(hook, *args, at=at)), at)

    def _evaluate_first(self, value: ast.expr, node: ast.stmt) -> tuple[list[ast.stmt], ast.expr]:
        """The value, evaluated before the parts of the target, which a call in it could change."""
        if isinstance(value, (ast.Name, ast.Constant)):
            return [], value
        temporary = self._new_name("value")
        return [ast.copy_location(ast.Assign([ast.Name(temporary, ast.Store())], value), node)], self._name(temporary)

    def _parts(self, target: ast.Tuple | ast.List, value: ast.expr, node: ast.stmt) -> tuple[list[str], ast.stmt]:
        """The names of the parts, and the statement that unpacks the value into them."""
        parts = [self._new_name("part") for _ in target.elts]
        stores: list[ast.expr] = []
        for part, element in zip(parts, target.elts, strict=True):
            name: ast.expr = ast.Name(part, ast.Store())
            stores.append(ast.Starred(name, ast.Store()) if isinstance(element, ast.Starred) else name)
        return parts, ast.copy_location(ast.Assign([ast.Tuple(stores, ast.Store())], value), node)

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        parts, unpacked = self._parts(target, value, node)
        statements: list[ast.stmt] = [unpacked]
        for part, element in zip(parts, target.elts, strict=True):
            inner = element.value if isinstance(element, ast.Starred) else element
            statements.extend(self._assign(inner, self._name(part), node))
        return statements

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        """``target op= value``: evaluates the target's parts, its old value and ``value``, and then stores."""
        operator = ast.Constant(_AUGMENTED[type(node.op)])
        if isinstance(node.target, ast.Name):
            old = self._hook("read", self._name(node.target.id), at=node.target)
            result = self._hook("augment", operator, old, self.visit(node.value), at=node)
            return self._assign(node.target, result, node)
        statements: list[ast.stmt] = []

        def assign_temporary(value: ast.expr) -> ast.expr:
            name = self._new_name("value")
            statements.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), node))
            return self._name(name)

        base = assign_temporary(self._base(node.target.value))
        if isinstance(node.target, ast.Subscript):
            index, hooks = assign_temporary(self.visit(node.target.slice)), ("item_to_update", "store")
        else:
            index, hooks = ast.Constant(node.target.attr), ("attribute_to_update", "store_attribute")
        before_update = assign_temporary(self._hook(hooks[0], base, index, at=node))
        result = self._hook("augment", operator, before_update, self.visit(node.value), at=node)
        return [*statements, self._statement(hooks[1], base, index, result, at=node)]

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        return [self._delete(target, node) for target in node.targets]

    def _delete(self, target: ast.expr, node: ast.Delete) -> ast.stmt:
        if isinstance(target, ast.Subscript):
            return self._statement("delete_item", self._base(target.value), self.visit(target.slice), at=node)
        if isinstance(target, ast.Attribute):
            name = ast.Constant(target.attr)
            return self._statement("delete_attribute", self._base(target.value), name, at=node)
        return ast.copy_location(ast.Delete([target]), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if not isinstance(node.target, ast.Name):
            return self._assign(node.target, self.visit(node.value), node) if node.value else []
        name = ast.Constant(node.target.id)
        self.declares = True
        annotation = self._lambda(self.visit(node.annotation))
        self.declares = False
        if node.value is None:
            old = self._lambda(self._name(node.target.id))
            value: ast.expr = self._hook("annotate", name, annotation, old, at=node)
            return [ast.copy_location(ast.Assign([node.target], value), node)]
        value = self._hook("annotated", annotation, self.visit(node.value), at=node)
        return self._assign(node.target, value, node)

    # -- expressions -----------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The current value of a name: a T.alloc_var is read here. A declaration keeps the names of sizes."""
        return self._hook("read", node, at=node) if isinstance(node.ctx, ast.Load) and not self.declares else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        node.value = self._base(node.value)
        return self._hook("read", node, at=node) if isinstance(node.ctx, ast.Load) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._hook("item", self._base(node.value), self.visit(node.slice), at=node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        function = node.func
        if isinstance(function, ast.Attribute):
            name = ast.Constant(function.attr)
            base = self._base(function.value)
            if function.attr in MUTATING:
                node.func = self._hook("method", base, name, at=function)
            else:
                function.value = base
        elif isinstance(function, ast.Name) and function.id in ("next", "print"):
            node.func = self._hook(f"{function.id}_", function, at=function)
        else:
            node.func = self._base(function)
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [self.visit(k) for k in node.keywords]
        return node

    def _base(self, node: ast.expr) -> ast.expr:
        """The object that is called, indexed or whose attribute is taken: the object itself, not its value."""
        if isinstance(node, ast.Name):
            return node
        if isinstance(node, ast.Attribute):
            node.value = self._base(node.value)
            return node
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        old = self._lambda(self._name(node.target.id)) if node.target.id in self.rebound else ast.Constant(None)
        node.value = self._hook("walrus", ast.Constant(node.target.id), self.visit(node.value), old, at=node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        is_and = isinstance(node.op, ast.And)
        if any(_has_walrus(value) for value in node.values[1:]):
            return self._operands_with_walrus(node, is_and)
        first, *others = (self.visit(value) for value in node.values)
        return self._hook("and_operand" if is_and else "or_operand", first, *map(self._operand, others), at=node)

    def _operand(self, node: ast.expr) -> ast.expr:
        """An operand that is evaluated conditionally. Calls in it may change Python data, so they are watched."""
        calls = any(isinstance(part, ast.Call) and not _is_hook(part) for part in ast.walk(node))
        return self._hook("OperandWithCalls", self._lambda(node), at=node) if calls else self._lambda(node)

    def _condition(self, node: ast.expr) -> ast.expr:
        """An expression that is used as a condition: only its truth matters."""
        if not isinstance(node, ast.BoolOp) or any(_has_walrus(value) for value in node.values[1:]):
            return self.visit(node)  # type: ignore[no-any-return]
        first, *others = (self._condition(value) for value in node.values)
        hook = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._hook(hook, first, *map(self._operand, others), at=node)

    def _operands_with_walrus(self, node: ast.BoolOp, is_and: bool) -> ast.expr:
        """`and` or `or` with a name assigned in a later operand: Python must know which operands it evaluates."""
        value = self.visit(node.values[-1])
        for operand in reversed(node.values[:-1]):
            name = self._new_name("operand")
            named_operand = ast.NamedExpr(ast.Name(name, ast.Store()), self.visit(operand))
            test = self._hook("decided", ast.copy_location(named_operand, operand), at=operand)
            sides = (value, self._name(name)) if is_and else (self._name(name), value)
            value = ast.copy_location(ast.IfExp(test, *sides), node)
        return value

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return self._hook("not_", self._condition(node.operand), at=node)
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            return self._hook("negate", self.visit(node.operand), at=node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.Div):
            return self._hook("divide", self.visit(node.left), self.visit(node.right), at=node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if _has_walrus(node.body) or _has_walrus(node.orelse):
            node.test = self._hook("decided", self.visit(node.test), at=node.test)
            node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
            return node
        then, orelse = self._operand(self.visit(node.body)), self._operand(self.visit(node.orelse))
        return self._hook("choose", self._condition(node.test), then, orelse, at=node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1:
            if isinstance(node.ops[0], (ast.In, ast.NotIn)):
                hook = "contains" if isinstance(node.ops[0], ast.In) else "lacks"
                return self._hook(hook, self.visit(node.left), self.visit(node.comparators[0]), at=node)
            return self.generic_visit(node)  # type: ignore[return-value]
        signs = ast.copy_location(ast.Constant(tuple(type(op).__name__ for op in node.ops)), node)  # type: ignore[arg-type]
        left, right, *others = (node.left, *node.comparators)
        if any(_has_walrus(other) for other in others):
            raise LanguageError(
                "a name is assigned (`:=`) in an operand that runs only where the comparisons before it hold",
                hint="assign it before, in a statement of its own",
                location=Location(self.spans.file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset),
            )
        operands = (self._operand(self.visit(x)) for x in others)
        return self._hook("chain", signs, self.visit(left), self.visit(right), *operands, at=node)


def _is_hook(call: ast.Call) -> bool:
    """Is it a call of a hook, inserted by the rewriting?"""
    function = call.func
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == HOOKS


def _has_walrus(node: ast.expr) -> bool:
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))


def can_leave(loop: ast.While) -> bool:
    """Is there a statement in the loop's body that ends it?"""
    return _has(loop, (ast.Break,), (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom))


def has_jumps(loop: ast.While) -> bool:
    """Is there a `break` or a `continue` of the loop in its body?"""
    return _has(loop, (ast.Break, ast.Continue), ())


def _has(loop: ast.While, outside_inner_loops: tuple[type[ast.AST], ...], any_of: tuple[type[ast.AST], ...]) -> bool:
    """Has the loop's body a statement of these kinds? outside_inner_loops: outside inner loops only; any_of:
    anywhere."""

    def within(node: ast.AST, inner: bool) -> bool:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return False
        if isinstance(node, any_of) or (isinstance(node, outside_inner_loops) and not inner):
            return True
        is_loop = isinstance(node, (ast.For, ast.While))
        body = set(map(id, node.body)) if is_loop else set()  # type: ignore[attr-defined]
        return any(within(child, inner or id(child) in body) for child in ast.iter_child_nodes(node))

    return any(within(statement, False) for statement in loop.body)
