"""Operators of a Library on both libraries: schemas, the choice of kernels, and refusals."""

import gc
import itertools
import re

import pytest
from made_programs import outcome

import impl
import impl.utils._python_dispatch

torch = pytest.importorskip("torch")
LIBRARIES = (torch, impl)
_names = itertools.count()


def agree(function):
    """Assert that a function of a library does the same on both; returns what."""
    expected, found = (_outcome(function, library) for library in LIBRARIES)
    assert found == expected
    return found


def _outcome(function, library):
    result, told = outcome(library, function)
    if isinstance(result, dict) and "message" in result:
        for end in (" If you are a Facebook", " Available functions"):  # those of the build
            result["message"] = result["message"].partition(end)[0]
    return result, told


@pytest.mark.parametrize(
    "schema",
    [
        'f(Tensor x, int[] d=[1,2], str s="a", ScalarType? t=None, float k=0.1) -> Tensor',
        "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "f(Tensor(a -> *) x) -> Tensor(a)[]",
        "f(Tensor(a!)[] xs, bool b=False, int[2] e=1) -> ()",
        "f(Tensor x) -> (Tensor a, int b)",
        "f(Tensor x) -> Tensor out",
        "f(Tensor?[] x, Scalar s, Device? d=None, Generator? g=None) -> bool",
        "f (Tensor x) -> Tensor",
        "f(Tensor x, *) -> Tensor",
        "f() -> Tensor[]",
        "f",
        "f(Tensor x",
        "f(",
        "f(Tensor x) -> ",
        "f(Tensor x, int[ y) -> Tensor",
        "(Tensor x) -> Tensor",
        "3(Tensor x) -> Tensor",
        "f(Tensor x; int y) -> Tensor",
        "f(Tensor x) -> Tensor foo bar",
        "f(Tensor x=3) -> Tensor",
        "f(Tensor x, bool c=maybe) -> Tensor",
        "f(Tensor(a! x) -> Tensor",
        "f(Tensor x) Tensor",
        "f(Tensor x, Foo[] y) -> Tensor",
        "f(Tensor x) -> Nope",
    ],
)
def test_schemas_are_read_as_in_torch(schema):
    """To the same text, or to the same error with the same place."""

    def read(library):
        owner = library.library.Library("impl_schemas", "FRAGMENT")
        owner.define(schema)
        packet = library.ops.impl_schemas.f
        return str(getattr(packet, packet.overloads()[0])._schema)

    agree(read)
    gc.collect()


KERNELS = {
    "cpu": ("CPU", lambda lib, x: x * 2),
    "cut": ("CPU", lambda lib, x: x.detach() * 2),
    "all": ("CompositeExplicitAutograd", lambda lib, x: x.detach() * 3),
    "composite": ("CompositeImplicitAutograd", lambda lib, x: x * 4),
    "autograd": ("Autograd", lambda lib, x: x * 5),
    "autograd_cpu": ("AutogradCPU", lambda lib, x: x * 6),
    "fall": ("Autograd", None),
    "meta": ("Meta", lambda lib, x: x.new_empty(3)),
}
CALLS = {
    "recorded": lambda lib, f: f(lib.ones(2, requires_grad=True)),
    "plain": lambda lib, f: f(lib.ones(2)),
    "no_grad": lambda lib, f: lib.no_grad()(f)(lib.ones(2, requires_grad=True)),
    "inference": lambda lib, f: lib.inference_mode()(lambda: f(lib.ones(2)))(),
    "inference tensor": lambda lib, f: f(lib.inference_mode()(lib.ones)(2)),
    "meta": lambda lib, f: f(lib.ones(2, device="meta")).shape,
    "sparse": lambda lib, f: f(lib.ones(2).to_sparse()).to_dense(),
    "backward": lambda lib, f: _gradient(lib, f),
    "vmap": lambda lib, f: lib.vmap(f)(lib.ones(2, 2)),
    "grad": lambda lib, f: lib.func.grad(lambda t: f(t).sum())(lib.ones(2)),
    "jvp": lambda lib, f: lib.func.jvp(f, (lib.ones(2),), (lib.ones(2),)),
    "dual": lambda lib, f: _dual(lib, f),
    "mode": lambda lib, f: _seen(lib, f),
}


def _gradient(lib, f):
    x = lib.ones(2, requires_grad=True)
    return lib.autograd.grad(f(x).sum(), x, allow_unused=True)


def _dual(lib, f):
    forward = lib.autograd.forward_ad
    with forward.dual_level():
        return forward.unpack_dual(f(forward.make_dual(lib.ones(2), lib.ones(2)))).tangent


def _seen(lib, f):
    seen = []

    class Mode(lib.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = lib.ones(2, requires_grad=True)
    with Mode():
        y = f(x)
    return [name for name in seen if "detach" not in name], y


@pytest.mark.parametrize(
    "chosen",
    [
        "composite",
        "all",
        "cpu",
        "cut",
        "autograd",
        "cpu composite",
        "all composite",
        "cpu all",
        "cpu autograd",
        "cpu autograd_cpu",
        "cpu autograd autograd_cpu",
        "composite autograd",
        "cpu fall",
        "cut fall",
        "cpu meta",
        "all meta",
        "",
    ],
)
@pytest.mark.parametrize("call", CALLS)
def test_the_kernel_for_a_call_is_chosen_as_in_torch(chosen, call):
    """For each set of registered kernels: results, histories, gradients, tangents and warnings."""
    name = f"k{next(_names)}"

    def run(library):
        owner = library.library.Library("impl_kernels", "FRAGMENT")
        owner.define(f"{name}(Tensor x) -> Tensor")
        for word in chosen.split():
            key, kernel = KERNELS[word]
            fall = library.library.fallthrough_kernel
            owner.impl(name, (lambda x, k=kernel: k(library, x)) if kernel else fall, key)
        return CALLS[call](library, getattr(library.ops.impl_kernels, name))

    agree(run)


REFUSALS = {
    "a kind": lambda lib, owner: lib.library.Library("impl_no", "OTHER"),
    "a reserved namespace": lambda lib, owner: lib.library.Library("prim", "DEF"),
    "an analysis": lambda lib, owner: owner.define("g(Tensor x) -> Tensor", "PURE_FUNCTION"),
    "a key": lambda lib, owner: owner.impl("f", lambda x: x, "Nope"),
    "a name that is none": lambda lib, owner: owner.impl(3, lambda x: x, "CPU"),
    "a kernel": lambda lib, owner: owner.impl("f", 3, "CPU"),
    "a fallback": lambda lib, owner: owner.fallback(lambda op, *args: None, "CPU"),
    "a formula without operator": lambda lib, owner: lib.library.register_autograd(3, abs),
    "a formula by keyword": lambda lib, owner: lib.library.register_autograd(
        "impl_refusals::kw", lambda ctx, g: g, lib=owner
    ),
    "a rule by keyword": lambda lib, owner: lib.library.register_vmap(
        "impl_refusals::kw", lambda info, dims, x, y: (x, 0), lib=owner
    ),
    "a formula of a view": lambda lib, owner: lib.library.register_autograd(
        "impl_refusals::view", lambda ctx, g: g, lib=owner
    ),
    "a second fake": lambda lib, owner: [
        lib.library.register_fake("impl_refusals::f", lambda x: x, lib=owner),
        lib.library.register_fake("impl_refusals::f", abs, lib=owner, allow_override=False),
    ],
    "a device": lambda lib, owner: lib.library.impl("impl_refusals::f", "gpu", abs, lib=owner),
    "a short name": lambda lib, owner: lib.library.define("g", "(Tensor x) -> Tensor"),
    "a name of a number": lambda lib, owner: lib.library.define(3, "(Tensor x) -> Tensor"),
    "a wrap": lambda lib, owner: lib.library.wrap_triton(abs),
    "no argument": lambda lib, owner: lib.ops.impl_refusals.f(),
    "a wrong argument": lambda lib, owner: lib.ops.impl_refusals.f(3),
    "another argument": lambda lib, owner: lib.ops.impl_refusals.f(lib.ones(1), y=3),
    "none by keyword": lambda lib, owner: lib.ops.impl_refusals.kw(lib.ones(1), z=lib.ones(1)),
    "a destroyed library": lambda lib, owner: [owner._destroy(), owner.impl("f", abs, "CPU")],
    "a destroyed operator": lambda lib, owner: [owner._destroy(), lib.ops.impl_refusals.f],
}


@pytest.mark.parametrize("refused", REFUSALS)
def test_refusals_are_torchs(refused):
    """Class and text, but for the places in files."""

    def run(library):
        owner = library.library.Library("impl_refusals", "FRAGMENT")
        owner.define("f(Tensor x) -> Tensor")
        owner.define("kw(Tensor x, *, Tensor y) -> Tensor")
        owner.define("view(Tensor(a) x) -> Tensor(a)")
        try:
            REFUSALS[refused](library, owner)
        except Exception as error:
            place = re.sub(r" registered at \S+", "", str(error))
            return type(error).__name__, place
        finally:
            owner._destroy()
        return None

    found, _ = agree(run)
    assert found != "None"


def test_lists_and_numbers_reach_the_kernel_as_the_schema_says():
    """A tuple as a list, a number as a list of the size, an integer as a float."""
    name = f"n{next(_names)}"

    def run(library):
        owner = library.library.Library("impl_arguments", "FRAGMENT")
        owner.define(f"{name}(Tensor x, int[2] n, float k=1., *, bool b=True) -> int[]")
        seen = []

        def kernel(x, n, *rest, **named):
            seen.append((n, rest, named))
            return tuple(n)

        owner.impl(name, kernel, "CPU")
        op = getattr(library.ops.impl_arguments, name)
        x = library.ones(1)
        return [op(x, 3), op(x, (3, 4), 2), op(x, [5, 6], b=False), op(x, 1, k=1.0), seen]

    agree(run)


def test_operators_in_place_under_vmap():
    """Write to each example; a target that is not mapped is refused for a mapped operand."""
    name = f"v{next(_names)}_"

    def run(library):
        owner = library.library.Library("impl_mapped", "FRAGMENT")
        owner.define(f"{name}(Tensor(a!) x, Tensor y) -> Tensor(a!)")
        owner.impl(name, lambda x, y: x.add_(y), "CPU")
        op = getattr(library.ops.impl_mapped, name)
        x, y = library.zeros(2, 3), library.ones(2, 3)
        z = library.vmap(op)(x, y)
        with pytest.raises(RuntimeError, match="more elements than `self`"):
            library.vmap(op, (None, 0))(x[0], y)
        return z is x, x

    agree(run)


def test_a_library_is_freed_with_its_last_reference():
    """Its operators, kernels and namespace are given up, and may be taken again."""
    for _ in range(2):
        owner = impl.library.Library("impl_freed", "DEF")
        owner.define("f(Tensor x) -> Tensor")
        owner.impl("f", lambda x: x * 2, "CPU")
        held = impl.ops.impl_freed.f.default
        assert held(impl.ones(1)).item() == 2
        del owner
        with pytest.raises(AttributeError, match="has no attribute 'f'"):
            _ = impl.ops.impl_freed.f
        with pytest.raises(RuntimeError, match="doesn't have a schema registered yet"):
            held(impl.ones(1))


def test_what_there_is_no_dispatcher_for():
    """Is refused, with the reason: kernels of ATen, key sets, inner keys, Triton."""
    owner = impl.library.Library("aten", "IMPL")
    with pytest.raises(NotImplementedError, match=r"operators of ATen"):
        owner.impl("mul.Tensor", lambda x, y: x, "CPU")
    own = impl.library.Library("impl_inner", "FRAGMENT")
    own.define("f(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="kernel for Functionalize"):
        own.impl("f", lambda x: x, "Functionalize")
    with pytest.raises(NotImplementedError, match="with_keyset"):
        own.impl("f", lambda keys, x: x, "CPU", with_keyset=True)
    with pytest.raises(NotImplementedError, match="fallback for all operators"):
        impl.library.Library("_", "IMPL").fallback(lambda op, *args: None, "CPU")
    with pytest.raises(NotImplementedError, match="Triton"):
        impl.library.triton_op("impl_inner::g", lambda x: x, mutates_args=())
