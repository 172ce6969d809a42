"""torch.save and torch.load of impl: files of torch, and files that are not to be trusted."""

from __future__ import annotations

import io
import pickle
import warnings
import zipfile
from collections import OrderedDict
from fractions import Fraction
from typing import Any

import pytest

import impl
from impl.weights_only import renamed

torch = pytest.importorskip("torch")


def contents(library: Any) -> dict[str, Any]:
    """The content of the files, made by either library."""
    x = library.arange(4.0)
    module = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.BatchNorm1d(3))
    optimiser = library.optim.Adam(module.parameters())
    module(library.ones(4, 2)).sum().backward()
    optimiser.step()
    tagged = library.ones(2, requires_grad=True)
    tagged.tag = "w"
    kinds = "float32 float64 float16 bfloat16 complex64 complex128 int8 int16 int64 uint8 bool"
    return {
        "base": x,
        "view": x[1:3],
        "parameter": library.nn.Parameter(library.ones(2)),
        "frozen": library.nn.Parameter(library.ones(2, 3).t(), requires_grad=False),
        "tagged": tagged,
        "kinds": [library.ones(2, dtype=getattr(library, kind)) for kind in kinds.split()],
        "conjugated": library.tensor([1 + 2j]).conj(),
        "sparse": library.eye(2).to_sparse(),
        "small": [library.tensor(3.0), library.ones(0, 2)],
        "state": module.state_dict(),
        "optimiser": optimiser.state_dict(),
        "plain": [x.size(), library.float64, library.device("cpu"), {1, 2}, 1j, b"xy", None],
        "storage": library.ones(1).untyped_storage(),
    }


def shown(value: Any) -> Any:
    """A loaded value as plain data that both libraries have in common."""
    if isinstance(value, dict):
        kept = OrderedDict((k, shown(v)) for k, v in value.items())
        return type(value).__name__, kept, dict(getattr(value, "_metadata", {}))
    if type(value) is list:
        return [shown(v) for v in value]
    if hasattr(value, "requires_grad") and hasattr(value, "is_sparse"):
        dense = value.to_dense()
        place = () if value.is_sparse else (value.stride(), value.storage_offset())
        flags = value.requires_grad, value.is_conj(), value._version, value.is_sparse
        name = type(value).__name__, str(value.dtype), tuple(value.shape)
        return *name, *place, *flags, getattr(value, "tag", None), str(dense.tolist())
    return list(value) if "torage" in type(value).__name__ else repr(value)


@pytest.mark.parametrize(("writer", "reader"), [(impl, torch), (torch, impl), (impl, impl)])
@pytest.mark.parametrize("weights_only", [True, False])
def test_either_library_reads_the_files_of_the_other(writer, reader, weights_only, tmp_path):
    """Tensors of all dtypes and kinds, parameters, states and plain data."""
    for library in (torch, impl):
        library.manual_seed(0)
    path = tmp_path / "model.pt"
    saved = contents(writer)
    writer.save(saved, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = reader.load(path, weights_only=weights_only)
    expected = {**saved, "base": saved["base"].clone(), "view": saved["base"][1:3]}
    assert loaded.keys() == expected.keys()
    for library in (torch, impl):
        library.manual_seed(0)
    again = io.BytesIO()
    torch.save(contents(torch), again)
    again.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = torch.load(again)
    for key, value in reference.items():
        assert shown(loaded[key]) == shown(value), key
    loaded["view"].zero_()
    assert loaded["base"].tolist() == [0, 0, 0, 3]


def test_records_are_aligned_as_torchs_are():
    """The bytes of a storage begin at a multiple of 64, so that torch can map them."""
    file = io.BytesIO()
    impl.save([impl.ones(3), impl.ones(5, dtype=impl.int8)], file)
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        assert names[0] == "archive/data.pkl" and names[-1] == "archive/version"
        for info in archive.infolist():
            file.seek(info.header_offset + 26)
            sizes = file.read(4)
            name, extra = (int.from_bytes(sizes[i : i + 2], "little") for i in (0, 2))
            assert (info.header_offset + 30 + name + extra) % 64 == 0


def test_a_file_has_the_name_of_its_path(tmp_path):
    impl.save(impl.ones(1), tmp_path / "weights.v2.pt")
    assert zipfile.ZipFile(tmp_path / "weights.v2.pt").namelist()[0] == "weights.v2/data.pkl"


def test_only_globals_are_renamed():
    """Texts that look like a module stay as they are."""
    pickled = pickle.dumps(["impl", "cimpl.nn\nLinear", impl.float32, b"cimpl\nx\n"], 2)
    changed = renamed(pickled, "impl", "torch")
    assert b"ctorch\nfloat32\n" in changed
    assert pickle.loads(renamed(changed, "torch", "impl"))[:2] == ["impl", "cimpl.nn\nLinear"]


class Evil:
    """An object whose pickle calls a function."""

    def __init__(self, call, *args) -> None:
        self.call, self.args = call, args

    def __reduce__(self):
        return self.call, self.args


@pytest.mark.parametrize(
    "value",
    [
        Evil(print, "pwned"),
        Evil(eval, "1 + 1"),
        Evil(impl.load, "x"),
        Fraction(1, 2),
        impl.nn.Linear(1, 1),
    ],
)
def test_a_file_cannot_name_what_is_not_allowed(value, capsys):
    """Neither functions of Python nor parts of impl that torch would not allow."""
    file = io.BytesIO()
    impl.save(value, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="was not an allowed global by default"):
        impl.load(file)
    assert not capsys.readouterr().out


def test_functions_of_the_system_cannot_be_allowed():
    import os

    file = io.BytesIO()
    impl.save(Evil(os.getcwd), file)
    file.seek(0)
    with (
        impl.serialization.safe_globals([os.getcwd]),
        pytest.raises(pickle.UnpicklingError, match="whose module posix is blocked"),
    ):
        impl.load(file)


def test_wrong_indices_of_a_sparse_tensor_are_found():
    """`weights_only` looks at them, as torch does."""
    file = io.BytesIO()
    i = impl.tensor([[0, 9]])
    impl.save(impl.sparse_coo_tensor(i, impl.ones(2), (3,), check_invariants=False), file)
    file.seek(0)
    with (
        pytest.warns(UserWarning, match="Validating sparse tensor invariants"),
        pytest.raises(RuntimeError, match="size is 3 but found index 9"),
    ):
        impl.load(file)


def test_files_of_other_forms_are_refused():
    """The form before torch 1.6; a directory that is not there."""
    file = io.BytesIO()
    torch.save(torch.ones(1), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    with pytest.raises(NotImplementedError, match=r"before 1\.6"):
        impl.load(file)
    with pytest.raises(RuntimeError, match="Can not safely load weights"):
        impl.load(file, pickle_module=pickle, weights_only=True)
    with pytest.raises(RuntimeError, match="Parent directory"):
        impl.save(impl.ones(1), "/not/there/x.pt")


LOADS = """
load(path, mmap=True)
load(file, mmap=True)
load(file, encoding="ascii")
load(file, map_location="foo")
load(file, map_location=3)
load(cut)
load(3)
load(None)
"""


@pytest.mark.parametrize("text", LOADS.strip().splitlines())
def test_options_and_broken_files_are_torchs(text, tmp_path):
    found = []
    for library in (torch, impl):
        path, file = tmp_path / "x.pt", io.BytesIO()
        library.save([library.ones(2), 3], path)
        library.save([library.ones(2), 3], file)
        file.seek(0)
        cut = io.BytesIO(file.getvalue()[:40])
        names = {"load": library.load, "path": path, "file": file, "cut": cut}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                row = repr(eval(text, names))
            except Exception as error:
                row = f"{type(error).__name__}: {error}"
        found.append([row, *(str(w.message) for w in caught)])
    assert found[0] == found[1]


def test_loading_into_a_module_of_the_meta_device_warns():
    found = []
    for library in (torch, impl):
        module = library.nn.Linear(1, 1, device="meta")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module.load_state_dict(library.nn.Linear(1, 1).state_dict())
        found.append([str(w.message) for w in caught])
    assert found[0] == found[1]
    assert len(found[0]) == 2
