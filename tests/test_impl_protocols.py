"""Python's and NumPy's protocols: data, indices, buffers, storages, names of classes, versions."""

import array

import numpy as np
import pytest

import impl as torch
from impl.torch_version import TorchVersion


class Index:
    """An object with `__index__`."""

    def __index__(self):
        return 1


# -- indices ------------------------------------------------------------------------------------


def test_numbers_in_lists_and_arrays_are_cast_to_indices():
    """Floats and small integers; only bool and uint8 are masks."""
    x = torch.arange(4.0)
    for index in ([1.5], np.array([1.5]), np.array([1], np.int8), [True, 1.5][1:]):
        assert x[index].tolist() == [1]
    assert x[[True, False, True, False]].tolist() == [0, 2]
    assert x[np.array([])].shape == (0,)
    x[[2.9]] = 7
    assert x.tolist() == [0, 1, 7, 3]


def test_an_object_with_index_is_an_integer():
    """In brackets, also among others, and in slices."""
    x = torch.arange(6.0).reshape(2, 3)
    assert x[Index()].tolist() == [3, 4, 5] and x[0, Index()].item() == 1
    x[Index(), 0] = 9
    assert x[:, 0].tolist() == [0, 9]


def test_a_size_is_a_tuple_of_indices():
    """As any tuple, so it selects."""
    x = torch.arange(6.0).reshape(2, 3)
    assert x[torch.Size([1])].tolist() == [3, 4, 5] and x[torch.Size([1, 2])].item() == 5


@pytest.mark.parametrize("index", [np.bool_(True), np.float32(1), (None, np.bool_(True)), 1.5])
def test_other_scalars_are_no_indices(index):
    """NumPy's bool and floats are named with their module."""
    with pytest.raises(IndexError, match=r"valid indices \(got (numpy\.bool|numpy\.float32|float)"):
        torch.ones(2, 2)[index]


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_scalars_of_numpy_are_found_in_a_tensor():
    """`in`, for numbers of every kind."""
    x = torch.arange(4.0)
    assert np.int64(2) in x and np.float16(3) in x and np.complex64(1) in x
    assert np.uint8(7) not in x


# -- data ---------------------------------------------------------------------------------------


def test_tensors_among_the_elements_stand_for_numbers():
    """Of one element, whatever their dimensions; they take part in the promotion."""
    made = torch.tensor([torch.zeros(1, dtype=torch.complex128), 2.0])
    assert made.dtype is torch.complex128 and made.tolist() == [0, 2]
    assert torch.tensor([torch.ones(1, 1), 2]).tolist() == [1, 2]
    assert torch.tensor([[3], torch.tensor([2])]).tolist() == [[3], [2]]
    with pytest.raises(TypeError, match="only integer tensors of a single element"):
        torch.tensor([torch.tensor([1, 2]), torch.tensor([3, 4])])


def test_a_copied_array_keeps_its_strides():
    """Of a dense array; negative strides and another byte order are refused."""
    transposed = np.arange(6.0).reshape(2, 3).T
    assert torch.tensor(transposed).stride() == (1, 3)
    assert torch.as_tensor(transposed, dtype=torch.float32).stride() == (1, 3)
    assert torch.Tensor(transposed).stride() == (1, 3)
    with pytest.raises(ValueError, match="At least one stride in the given numpy array is neg"):
        torch.tensor(transposed[::-1])
    with pytest.raises(ValueError, match="byte order different from the native byte order"):
        torch.from_numpy(np.array([1.0], ">f4"))


def test_the_legacy_constructor_reads_arrays_and_tensors():
    """It shares their memory; a 0-dim integer is a size; `torch.Tensor` takes any dtype."""
    memory = np.ones(2, np.float32)
    torch.Tensor(memory)[0] = 5
    assert memory.tolist() == [5, 1]
    assert torch.Tensor(np.array(3)).shape == (3,)
    assert torch.Tensor(torch.tensor([1, 2])).dtype is torch.int64
    with pytest.raises(TypeError, match=r"expected TensorOptions\(dtype=float"):
        torch.FloatTensor(torch.tensor([1, 2]))


def test_buffers_are_read_by_asarray():
    """Bytes, and buffers with a format of their own; the memory is shared unless copied."""
    assert torch.asarray(b"xy").dtype is torch.uint8
    assert torch.asarray(array.array("d", [1.0, 2.0])).dtype is torch.float64
    memory = bytearray(b"ab")
    torch.asarray(memory)[0] = 99
    assert memory == b"cb"
    with pytest.raises(ValueError, match="must be a multiple of element size"):
        torch.asarray(b"xyz", dtype=torch.float32)
    with pytest.raises(TypeError, match="must be real number, not ellipsis"):
        torch.asarray(..., dtype=torch.float32)


def test_frombuffer_names_what_is_missing():
    """In the words of the parser."""
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "dtype"'):
        torch.frombuffer(b"x")


@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_arrays_of_a_tensor():
    """np.array copies, np.asarray and a conversion to the same dtype share; 0-dim arrays are
    copied by asarray."""
    x = torch.arange(3.0)
    copied, shared, converted = np.array(x), np.asarray(x), x.__array__(np.float32)
    x.add_(1)
    assert copied.tolist() == [0, 1, 2]
    assert shared.tolist() == converted.tolist() == [1, 2, 3]
    scalar = torch.ones(2)[0]
    other = torch.asarray(scalar.numpy())
    scalar.add_(1)
    assert other.item() == 1


def test_dlpack_shares_memory():
    """In both directions; a tensor that requires grad is not exported."""
    x = torch.arange(3.0)
    view, again = np.from_dlpack(x), torch.from_dlpack(x)
    x.add_(1)
    assert view.tolist() == again.tolist() == [1, 2, 3]
    torch.from_dlpack(x.__dlpack__())[0] = 9
    assert x.tolist() == [9, 2, 3]
    assert torch.from_dlpack(np.arange(2)).tolist() == [0, 1]
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        np.from_dlpack(torch.ones(1, requires_grad=True))


# -- storages -----------------------------------------------------------------------------------


def test_an_untyped_storage_is_a_sequence_of_bytes():
    """It is read and written without a new version."""
    x = torch.tensor([1, 2], dtype=torch.int16)
    memory = x.untyped_storage()
    assert memory.tolist() == [1, 0, 2, 0] and len(memory) == memory.size() == 4
    assert memory[2] == 2 and memory[-1] == 0 and memory.device == torch.device("cpu")
    memory[0] = 5
    part = memory[2:4]
    part[0] = 7
    assert x.tolist() == [5, 7] and x._version == 0
    assert isinstance(memory, torch.UntypedStorage) and type(memory).__name__ == "UntypedStorage"
    assert torch.UntypedStorage([1, 2]).tolist() == [1, 2]
    with pytest.raises(IndexError, match="index 9 out of range for storage of size 4"):
        memory[9]
    with pytest.raises(AttributeError, match=r"'torch.storage.UntypedStorage' object has no attr"):
        assert memory.missing


def test_a_typed_storage_has_elements():
    """`Tensor.storage`, which warns, and the legacy classes."""
    x = torch.tensor([1.0, 2.0])
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        memory = x.storage()
    assert memory.tolist() == [1, 2] and memory.dtype is torch.float32
    assert isinstance(memory, torch.FloatStorage) and torch.is_storage(memory)
    memory[0] = 3
    assert x.tolist() == [3, 2]
    assert torch.Tensor(memory).tolist() == torch.ones(1).set_(memory).tolist() == [3, 2]
    assert torch.LongStorage([1]).nbytes() == 8


# -- gradients, operators, names ----------------------------------------------------------------


def test_the_other_name_of_grad_is_checked_as_well():
    """`_grad` is the same property."""
    x = torch.ones(2)
    with pytest.raises(TypeError, match="expected to be a Tensor or None but got grad of type str"):
        x._grad = "s"
    with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
        x._grad = x
    x._grad = torch.zeros(2)
    assert x.grad is x._grad


@pytest.mark.parametrize("left", [[1, 2], (1.0,), None, "a"])
def test_division_of_what_is_no_number(left):
    """Is refused by Python; the method returns NotImplemented."""
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for /: '.*' and 'Tensor'"):
        left / torch.ones(2)
    assert torch.ones(2).__rdiv__(left) is NotImplemented


def test_map_wants_the_same_dtype():
    """Of the other tensors, after none of them requires grad; elements are converted as data."""
    x = torch.ones(2)
    with pytest.raises(TypeError, match=r"map_: expected torch.FloatTensor for 'other' \(got tor"):
        x.map_(torch.ones(2, dtype=torch.float64), lambda a, b: a)
    with pytest.raises(TypeError, match="must be real number, not str"):
        x.apply_(lambda a: "s")


def test_classes_are_named_with_their_module_in_errors():
    """As those of C, while their `__name__` is short."""
    for value, name in (
        (torch.device("cpu"), "torch.device"),
        (torch.Size([1]), "torch.Size"),
        (torch.float32, "torch.dtype"),
        (torch.iinfo(torch.int8), "torch.iinfo"),
        (torch.Generator(), "torch._C.Generator"),
    ):
        with pytest.raises(AttributeError, match=f"'{name}' object has no attribute 'missing'"):
            assert value.missing
        assert type(value).__name__ == name.rpartition(".")[2]


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ((float("nan"),), "unsupported range: 0 -> nan"),
        ((0, 1, float("inf")), "step must be finite but got inf"),
        ((1e30,), "invalid size, possible overflow"),
        ((2**63,), "value cannot be converted to type int64_t without overflow"),
    ],
)
def test_ranges_that_are_not_finite(bounds, said):
    """Are refused before the numbers are counted."""
    with pytest.raises(RuntimeError, match=said):
        torch.arange(*bounds)


@pytest.mark.parametrize(
    ("other", "less", "equal"),
    [
        ("2.9", False, False),
        ("2.15", False, False),
        ("2.15.0+cpu", False, True),
        ("2.16", True, False),
        ((2, 15), False, False),
        ((3,), True, False),
        ("2.15.0rc1", False, False),
        ("2.15.0.post1", True, False),
        ("2.15.0+cpu.1", True, False),
        ("parrot", True, False),
    ],
)
def test_versions_compare_by_their_numbers(other, less, equal):
    """By those of the local version, too; other texts compare as texts."""
    version = TorchVersion("2.15.0+cpu")
    assert (version < other) is less and (version == other) is equal
    assert (version >= other) is not less


def test_assert_close_of_other_values():
    """None, bool, NumPy's arrays and numbers."""
    close = torch.testing.assert_close
    close(np.ones(2), np.ones(2))
    close(np.float32(1), 1.0)
    with pytest.raises(AssertionError, match="Booleans mismatch: True is not False"):
        close(True, False)
    with pytest.raises(AssertionError, match="None mismatch: None is not 3"):
        close(None, 3)
    with pytest.raises(RuntimeError, match=r"Originating a NumberPair\(\) at item"):
        close(3, True)


def test_checks_of_programs():
    """torch._check and its like."""
    torch._check(True)
    with pytest.raises(IndexError, match="why"):
        torch._check_index(False, lambda: "why")
    with pytest.raises(AssertionError, match="why"):
        torch._assert(False, "why")
