"""Execution on ports that lack fields or names, or have numbers and classes of their own."""

import types
import weakref

import numpy as np
import pytest
from made_steps import steps

from conformance.backends import TorchShaped


# A user's port ----------------------------------------------------------------------------------
class OddTensor:
    """A tensor with the essentials, many missing attributes, and others that raise."""

    requires_grad = False
    is_leaf = True
    grad = None
    dtype = "torch.float32"

    def __init__(self, values):
        self.values = values
        self.shape = (len(values),)

    def backward(self):
        raise NotImplementedError("backward is not there yet")

    def tolist(self):
        return list(self.values)

    @property
    def _version(self):
        raise ValueError("no version today")

    def stride(self):
        raise NotImplementedError

    def __repr__(self):
        raise RuntimeError("no repr")

    __slots__ = ("shape", "values")


class OddError(Exception):
    def __str__(self):
        raise RuntimeError("not even a message")


def odd_port() -> TorchShaped:
    namespace = types.ModuleType("odd")
    namespace.Tensor = OddTensor
    namespace.tensor = OddTensor

    def slip(x):
        return x.no_such_attribute

    def weird():
        raise OddError

    namespace.slip, namespace.weird = slip, weird
    namespace.nn = types.ModuleType("odd.nn")
    return TorchShaped("odd", namespace)


def test_a_port_lacks_fields_without_breaking_the_harness():
    (step,) = steps("x = torch.tensor([1.0, 2.0])", odd_port())
    assert step.changed["x"] == {
        "kind": "tensor",
        "shape": [2],
        "dtype": "float32",
        "values": [1.0, 2.0],
        "grad": None,
        "requires_grad": False,
        "is_leaf": True,
        "version": {"error": {"type": "ValueError", "message": "no version today"}},
    }


def test_what_a_port_lacks_is_named():
    made = steps(
        "x = torch.tensor([1.0])\n"
        "torch.amax(x)\n"
        "x.exp()\n"
        "x.backward()\n"
        "torch.nn.functional\n"
        "import torch.nn.functional as F\n"
        "torch.slip(x)\n"
        "torch.weird()\n"
        "None.exp()\n",
        odd_port(),
    )
    assert [(s.error or {}).get("lacks") for s in made] == [
        None,
        "torch.amax",
        "Tensor.exp",
        "backward is not there yet",
        "torch.functional",
        "torch.nn.functional",
        None,
        None,
        None,
    ]
    assert made[7].error["type"] == "OddError" and "RuntimeError" in made[7].error["message"]


def test_a_ports_own_numbers_are_read_as_pythons():
    class Port(OddTensor):
        requires_grad = np.bool_(True)
        is_leaf = np.bool_(False)
        grad_fn = None
        retains_grad = np.bool_(False)
        output_nr = np.int64(1)
        _version = np.int32(2)

        def stride(self):
            return (np.int64(1),)

        def storage_offset(self):
            return np.int64(0)

    namespace = types.ModuleType("port")
    namespace.Tensor = OddTensor
    namespace.tensor = lambda values: Port([np.float32(v) for v in values])
    namespace.wrong = lambda: Port(["a"])

    def short():
        made = Port([1.0])
        made.shape = (2,)
        return made

    namespace.short = short
    source = "x = torch.tensor([0.5, 2.0])\ny = torch.wrong()\nz = torch.short()"
    one, two, three = steps(source, TorchShaped("port", namespace))
    x = one.changed["x"]
    assert (x["values"], x["strides"], x["version"]) == ([0.5, 2.0], [1], 2)
    assert (x["requires_grad"], x["is_leaf"], x["output_nr"]) == (True, False, 1)
    assert "no numbers" in two.changed["y"]["values"]["error"]["message"]
    assert "1 values for the shape (2,)" in three.changed["z"]["values"]["error"]["message"]


def test_what_a_namespace_of_classes_lacks_is_named():
    class Namespace:
        tensor = OddTensor
        Tensor = OddTensor

        class nn:
            class functional:
                pass

    made = steps(
        "torch.amax\ntorch.nn.functional.relu\nimport torch.nn.functional as F\nF.relu\n"
        "class Mine: pass\nMine.relu\n",
        TorchShaped("classes", Namespace),
    )
    assert [(s.error or {}).get("lacks") for s in made] == [
        "torch.amax",
        "torch.relu",
        None,
        "torch.relu",
        None,
        None,
    ]


def test_a_gradient_that_allows_no_weak_reference_is_known_again():
    class Port(OddTensor):
        __slots__ = ("grad",)

        def __init__(self, values):
            super().__init__(values)
            self.grad = None

        def backward(self):
            self.grad = self.grad or OddTensor([1.0])

    namespace = types.ModuleType("port")
    namespace.Tensor = OddTensor
    namespace.tensor = Port
    made = steps(
        "x = torch.tensor([1.0])\nx.backward()\nx.grad.values[0] = 2.0\nx.grad = None",
        TorchShaped("port", namespace),
    )
    with pytest.raises(TypeError):
        weakref.ref(OddTensor([1.0]))
    assert [s.changed["x"]["grad"] and s.changed["x"]["grad"]["same"] for s in made] == [
        None,
        False,
        True,
        None,
    ]
