"""Compilation of a program's statements into steps, which need no Python to run.

A step is one operation with its arguments and the names of its results. docs/porting.md lists the
operations, conformance/schema/neutral.schema.json is the form's schema.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from conformance.neutral import constants
from conformance.neutral.names import Names
from conformance.neutral.values import literal, sequence
from conformance.program.program import OTHER_DEVICE, Program, Statement

FORM = 1
"""Version of the form; it changes when a reader of the old one would misread the new one."""

LONGEST_LOOP = 100
"""A loop over literals is written out; one of more rounds than this has no neutral form."""

# Names of syntax that has no neutral form; other syntax is named after its class in `ast`.
_WORDS = {
    ast.If: "an if statement",
    ast.IfExp: "a conditional expression",
    ast.BoolOp: "`and` or `or`",
    ast.While: "a while loop",
    ast.Try: "a try statement",
    ast.Raise: "a raise statement",
    ast.ClassDef: "a class",
    ast.JoinedStr: "an f-string",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.Return: "a return before the function's end",
    ast.Starred: "a starred expression",
    ast.Set: "a set",
    ast.Global: "a global statement",
    ast.Nonlocal: "a nonlocal statement",
    ast.Yield: "a generator",
    ast.YieldFrom: "a generator",
}


class NotNeutral(Exception):
    """A program that has no neutral form; `line` counts within `Program.paste()`."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what} has no neutral form")
        self.line, self.what = line, what


def neutral(program: Program) -> dict[str, Any]:
    """Return the program in the neutral form (schema/neutral.schema.json).

    Every statement keeps its number, so that traces agree statement by statement. Raises
    NotNeutral for a program that has no such form, ProgramError for one that does not parse.
    """
    assigned = {name for statement in program.statements for name in statement.assigns}
    imported = {name for statement in program.statements for name in statement.imports}
    given = {OTHER_DEVICE} if program.names_other_device else set()
    compiler = _Compiler(Names((assigned | given) - imported))
    return {
        "form": FORM,
        **program.about,
        "source": program.paste(),
        "statements": [compiler.statement(statement) for statement in program.statements],
    }


class _Compiler:
    """Compiles one program's statements in order, with the names bound so far."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.steps: list[dict[str, Any]] = []
        self.temporaries = 0
        self.offset = 0

    def statement(self, statement: Statement) -> dict[str, Any]:
        """Return one statement of the form."""
        self.steps, self.temporaries, self.offset = [], 0, statement.line - 1
        form: dict[str, Any] = {"line": statement.line, "source": statement.source}
        try:
            for node in ast.parse(statement.source).body:
                if isinstance(node, ast.Expr):
                    form["result"] = self._value(node.value)
                else:
                    self._do(node)
        except RecursionError:
            raise NotNeutral(statement.line, "an expression so deep") from None
        form["steps"] = self.steps
        if statement.unspecified:
            form["unspecified"] = True
        return form

    def _refuse(self, node: ast.AST, what: str | None = None) -> NotNeutral:
        line = self.offset + getattr(node, "lineno", 1)
        return NotNeutral(line, what or _WORDS.get(type(node), f"`{type(node).__name__}`"))

    # Statements.

    def _do(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass():
                return
            case ast.Expr(value=value):
                self._value(value)
            case ast.Import() | ast.ImportFrom():
                self.names.import_(node)
            case ast.Assign(targets=targets, value=value):
                made = self._value(value)
                for target in targets:
                    self._store(target, made)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._store(target, self._value(value))
            case ast.AugAssign():
                self._augment(node)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._delete(target)
            case ast.With(items=items, body=body):
                self._with(items, body)
            case ast.For():
                self._loop(node)
            case ast.FunctionDef(name=name):
                function = self._function(node, node.args, node.body)
                self._store(ast.Name(name, ast.Store()), function)
            case _:
                raise self._refuse(node)

    def _store(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self.names.rebind(name)
                if self._is_fresh(value):
                    self.steps[-1]["to"] = value["ref"] = name
                else:
                    self._step("bind", [value], to=name)
            case ast.Attribute(value=owner, attr=name):
                self._step(f"set.{name}", [self._value(owner), value], to=None)
            case ast.Subscript(value=owner, slice=index):
                self._step(
                    "operator.setitem", [self._value(owner), self._value(index), value], None
                )
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpack(parts, value)
            case _:
                raise self._refuse(target)

    def _is_fresh(self, value: Any) -> bool:
        """Say whether a value is the unnamed result of the last step."""
        name = value.get("ref", "") if isinstance(value, dict) else ""
        return name.startswith("%") and bool(self.steps) and self.steps[-1].get("to") == name

    def _unpack(self, parts: list[ast.expr], value: Any) -> None:
        names = [part.id if isinstance(part, ast.Name) else self._temporary() for part in parts]
        self._step("unpack", [value], to=names)
        for part, name in zip(parts, names, strict=True):
            if isinstance(part, ast.Name):
                self.names.rebind(name)
            else:
                self._store(part, {"ref": name})

    def _augment(self, node: ast.AugAssign) -> None:
        target, kind = node.target, f"operator.i{constants.BINARY[type(node.op)].rstrip('_')}"
        match target:
            case ast.Name(id=name):
                self._step(kind, [{"ref": name}, self._value(node.value)], to=name)
            case ast.Attribute(value=value, attr=name):
                owner = self._value(value)
                old = self._step(f"get.{name}", [owner])
                new = self._step(kind, [old, self._value(node.value)])
                self._step(f"set.{name}", [owner, new], to=None)
            case ast.Subscript(value=value, slice=slice_):
                owner, index = self._value(value), self._value(slice_)
                old = self._step("operator.getitem", [owner, index])
                new = self._step(kind, [old, self._value(node.value)])
                self._step("operator.setitem", [owner, index, new], to=None)

    def _delete(self, target: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self._step("delete", [name], to=None)
            case ast.Attribute(value=owner, attr=name):
                self._step(f"delete.{name}", [self._value(owner)], to=None)
            case ast.Subscript(value=owner, slice=index):
                self._step("operator.delitem", [self._value(owner), self._value(index)], to=None)
            case _:
                raise self._refuse(target)

    def _with(self, items: list[ast.withitem], body: list[ast.stmt]) -> None:
        if not items:
            for node in body:
                self._do(node)
            return
        first, *rest = items
        entered = self._step("with", [self._value(first.context_expr)])
        step = self.steps[-1]
        with self._block() as steps:
            if first.optional_vars is not None:
                self._store(first.optional_vars, entered)
            self._with(rest, body)
        step["body"] = steps

    @contextmanager
    def _block(self) -> Iterator[list[dict[str, Any]]]:
        """Collect the steps made meanwhile in a list of their own."""
        outer, self.steps = self.steps, []
        try:
            yield self.steps
        finally:
            self.steps = outer

    def _loop(self, node: ast.For) -> None:
        """Write out a loop over literals, round by round."""
        if node.orelse or any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(node)):
            raise self._refuse(node, "a loop with break, continue or else")
        for item in self._rounds(node.iter):
            self._store(node.target, item)
            for inner in node.body:
                self._do(inner)

    def _rounds(self, node: ast.expr) -> list[Any]:
        """Return the items of a loop over literals."""
        match node:
            case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
                with suppress(constants.NoConstant, TypeError, ValueError):
                    rounds = range(*(constants.value(arg, self.names) for arg in args))
                    if len(rounds) <= LONGEST_LOOP and self.names.is_builtin("range"):
                        return [literal(number) for number in rounds]
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return [self._value(part) for part in parts]
        raise self._refuse(node, "a loop over anything but a few literals")

    def _function(
        self, node: ast.FunctionDef | ast.Lambda, args: ast.arguments, body: list[ast.stmt]
    ) -> dict[str, Any]:
        """Return the form of a function without control flow."""
        if args.posonlyargs or args.kwonlyargs or args.kwarg or args.defaults:
            raise self._refuse(node, "a parameter with a default or of a special kind")
        if getattr(node, "decorator_list", ()):
            raise self._refuse(node, "a decorator")
        form: dict[str, Any] = {"parameters": [a.arg for a in args.args]}
        if isinstance(node, ast.FunctionDef):
            form["name"] = node.name
        if args.vararg:
            form["rest"] = args.vararg.arg
        outer, parameters = self.names, [*form["parameters"], form.get("rest")]
        inner = {name for part in body for name in _stored(part)}
        self.names = Names({*outer.bound, *parameters, *inner} - {None})
        self.names.imported = {
            k: v for k, v in outer.imported.items() if k not in parameters and k not in inner
        }
        try:
            with self._block() as steps:
                *straight, last = body
                for part in straight:
                    self._do(part)
                form["result"] = None
                if isinstance(last, ast.Return):
                    form["result"] = None if last.value is None else self._value(last.value)
                else:
                    self._do(last)
        finally:
            self.names = outer
        form["steps"] = steps
        return {"function": form}

    # Expressions.

    def _temporary(self) -> str:
        self.temporaries += 1
        return f"%{self.temporaries}"

    def _step(
        self,
        operation: str,
        args: list[Any],
        to: str | list[str] | None = "",
        kwargs: dict[str, Any] | None = None,
    ) -> dict[str, str]:
        """Add a step; its value goes to a temporary unless `to` says otherwise (None: nowhere)."""
        step: dict[str, Any] = {"op": operation, "args": args}
        if kwargs:
            step["kwargs"] = kwargs
        name = self._temporary() if to == "" else to
        if name is not None:
            step["to"] = name
        self.steps.append(step)
        return {"ref": name} if isinstance(name, str) else {}

    def _value(self, node: ast.expr) -> Any:
        """Return the form of an expression's value, after the steps that make it."""
        with suppress(constants.NoConstant):
            return literal(constants.value(node, self.names))
        match node:
            case ast.Name(id=name) if name not in self.names.imported:
                return {"builtin": name} if self.names.is_builtin(name) else {"ref": name}
            case ast.Name() | ast.Attribute() if (path := self.names.path(node)) is not None:
                return {"torch": self._torch(node, path)}
            case ast.Attribute(value=value, attr=name):
                return self._step(f"get.{name}", [self._value(value)])
            case ast.Call():
                return self._call(node)
            case ast.UnaryOp(op=op, operand=operand):
                return self._step(f"operator.{constants.UNARY[type(op)]}", [self._value(operand)])
            case ast.BinOp(left=left, op=op, right=right):
                operands = [self._value(left), self._value(right)]
                return self._step(f"operator.{constants.BINARY[type(op)]}", operands)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compared(op, self._value(left), self._value(right))
            case ast.Compare():
                raise self._refuse(node, "a chained comparison")
            case ast.Subscript(value=value, slice=index):
                return self._step("operator.getitem", [self._value(value), self._value(index)])
            case ast.Slice(lower=lower, upper=upper, step=step):
                parts = (lower, upper, step)
                return {"slice": [None if part is None else self._value(part) for part in parts]}
            case ast.List(elts=parts):
                return sequence("list", [self._value(part) for part in parts])
            case ast.Tuple(elts=parts):
                return sequence("tuple", [self._value(part) for part in parts])
            case ast.Dict(keys=keys, values=values):
                if not all(keys):
                    raise self._refuse(node, "`**` in a dictionary")
                pairs = zip(keys, values, strict=True)
                return {"dict": [[self._value(k), self._value(v)] for k, v in pairs if k]}
            case ast.Lambda(args=args, body=body):
                returned = ast.Return(body, lineno=node.lineno)
                return self._function(node, args, [returned])
        raise self._refuse(node)

    def _compared(self, op: ast.cmpop, left: Any, right: Any) -> dict[str, str]:
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self._step("operator.contains", [right, left])
            return found if isinstance(op, ast.In) else self._step("operator.not_", [found])
        return self._step(f"operator.{constants.COMPARED[type(op)]}", [left, right])

    def _call(self, node: ast.Call) -> dict[str, str]:
        function = node.func
        args: list[Any] = []
        match function:
            case ast.Name(id=name) if self.names.is_builtin(name):
                operation = f"builtin.{name}"
            case _ if (path := self.names.path(function)) is not None:
                operation = f"torch.{self._torch(function, path)}"
            case ast.Attribute(value=owner, attr=name):
                operation = f"method.{name}"
                args.append(self._value(owner))
            case _:
                operation = "call"
                args.append(self._value(function))
        args += [self._value(arg) for arg in node.args]
        kwargs = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self._refuse(node, "`**` in a call")
            kwargs[keyword.arg] = self._value(keyword.value)
        return self._step(operation, args, kwargs=kwargs)

    def _torch(self, node: ast.expr, path: str) -> str:
        """Return the part of a path after `torch`; raises NotNeutral for any other path."""
        root, _, name = path.partition(".")
        if root != "torch" or not name:
            raise self._refuse(node, f"the module `{path.rpartition('.')[0] or path}`")
        return name


def _stored(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
