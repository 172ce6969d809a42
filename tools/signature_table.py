"""The table of torch's signatures: its maker.

`python tools/signature_table.py` writes `impl/arg_parser/signatures.txt` and, with the calls that
are there, `conformance/signatures/torch.txt`, from the torch that is installed; `--check` only says
which lines differ. Functions without a public name, which torch's Python code calls
(`_nn.mse_loss`, `_VF.einsum`), functions over lists (`_VF._foreach_add`) and the methods of
`METHODS` (`_Tensor.to_sparse`) stand in the first only.

PythonArgParser reads its signatures from strings, which stand in `libtorch_python.so` one after the
other, in the order in which they are tried: `sum(Tensor input, IntArrayRef[1]? dim, ...)`. The
table has the same text, with `int[]` for `IntArrayRef` and the like. A linker may have merged the
string of `sin` into that of `asin`, whose end it is. Methods without parameters
have no string; torch is asked which they are. A new function is entered with an empty call: and
has no program until a call that torch accepts stands after the tab.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from impl.arg_parser.signature import Signature

ROOT = Path(__file__).parent.parent
PARSED = ROOT / "impl/arg_parser/signatures.txt"
CALLED = ROOT / "conformance/signatures/torch.txt"

SPACES = {
    "": torch,
    "fft": torch.fft,
    "linalg": torch.linalg,
    "nn.functional": torch.nn.functional,
    "special": torch.special,
    "Tensor": torch.Tensor,
}
HIDDEN = {"_VF": torch._C._VariableFunctions, "_nn": torch._C._nn}
CALLED_FROM = (
    torch.functional,
    torch.nn.functional,
    torch._tensor,
    torch.nn.utils.rnn,
    torch.nn.modules.module,
)

EXCLUDED = re.compile(
    r"^_|cudnn|miopen|mkldnn|fbgemm|quantize|fake_quant|qparams|^q_|^qscheme|sparse|crow_ind|ccol_ind|col_ind|"
    r"row_ind|int_repr|hash_tensor|autocast|vulkan|parse_(ir|schema)|import_ir|anomaly|^ipu$|^xpu$|^mtia$|"
    r"^to_(dense|padded_tensor|dlpack)$|^(indices|values)(_copy)?$|coalesce|^batch_norm_|_threads$|"
    r"has_torch_function|^sym_constrain|^(spmm|smm|dsmm|hsmm|hspmm|saddmm|sspaddmm|slice_inverse)$|"
    r"^(fork|wait|from_file|from_numpy|frombuffer|merge_type_from_type_comment|unify_type_list)$|"
    r"^(pin_memory|record_stream|as_subclass|map_|map2_|apply_|const_data_ptr|data_ptr)$|"
    r"^(histogramdd|native_norm|set_flush_denormal|retain_grad)$|"
    r"^(get_default_dtype|is_inference_mode_enabled|tolist|untyped_storage)$"
)
"""Functions of sparse or quantised tensors, of other devices, of the JIT, of files and threads, of
the other backends of an operator; and those that read their arguments without the parser."""

METHODS = (
    "coalesce",
    "data_ptr",
    "dense_dim",
    "indices",
    "is_coalesced",
    "map2_",
    "map_",
    "pin_memory",
    "retain_grad",
    "sparse_dim",
    "sparse_mask",
    "to_dense",
    "to_sparse",
    "tolist",
    "untyped_storage",
    "values",
    "_is_view",
)
"""Excluded methods whose arguments `impl` reads all the same."""

FUNCTIONS = re.compile(
    r"_foreach_(?!powsum)\w+|_is_(all|any)_true|_standard_gamma|_neg_view|_weight_norm|"
    r"_is_zerotensor|_sample_dirichlet|_dirichlet_grad"
)
"""Functions of torch without documentation that `impl` has."""

ON_CUDA = re.compile("grouped_mm|scaled_mm|scaled_addmm")

HAND_WRITTEN = {
    "is_grad_enabled": ["()"],
}
"""Signatures that are no string of the library: the function reads its arguments in C."""

ALIASES = {"nn.functional.logsigmoid": "log_sigmoid", "_nn._parse_to": "to"}
"""Names of functions that torch's strings call otherwise."""

NUMBERS_AS_TENSORS = re.compile(
    r"(add|sub|subtract|mul|multiply|div|divide|true_divide|floor_divide|copy_|to)_?"
)
"""`should_allow_numbers_as_tensors` of PyTorch's `python_arg_parser.cpp`: code, and no string."""

KINDS = (
    (r"c10::List<::std::optional<Tensor>>", "Tensor[]"),
    (r"::?std::array<bool,(\d)>", r"bool[\1]"),
    (r"ArrayRef<double>", "float[]"),
    (r"ArrayRef<Scalar>|ScalarList", "Number[]"),
    (r"TensorList\[(\d+)\]", r"Tensor[\1]"),
    (r"TensorList", "Tensor[]"),
    (r"SymIntArrayRef\[(\d+)\]", r"SymInt[\1]"),
    (r"SymIntArrayRef", "SymInt[]"),
    (r"IntArrayRef\[(\d+)\]", r"int[\1]"),
    (r"IntArrayRef", "int[]"),
    (r"int64_t", "int"),
    (r"double", "float"),
    (r"ScalarType", "dtype"),
    (r"Scalar", "Number"),
    (r"Device", "device"),
    (r"MemoryFormat", "memory_format"),
    (r"Layout", "layout"),
    (r"c10::string_view|std::string_view|std::string", "str"),
    (r"PyObject\*", "object"),
    (r"DimnameList", "name[]"),
    (r"Dimname", "name"),
)


_OWN_TENSOR = re.compile(r"\bTensor(\|Number)? input\b|\b(Tensor|Number) self\b")
_STRING = re.compile(
    rb"(?<!\w)(\w+)(\((?:(?:\*, )?[\w:<>\[\]?*]+ \w+[,=)][\x20-\x7e]*|\*?\))(?:\|deprecated)?)\0"
)


def main() -> None:
    """Write the tables, or with `--check` print the lines that would change."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, print the differences")
    lines = signature_lines()
    calls = dict(line.split("\t") for line in CALLED.read_text().splitlines())
    hidden = ("_Tensor.", *(f"{space}." for space in HIDDEN))
    public = [line for line in lines if not line.startswith(hidden)]
    if parser.parse_args().check:
        print(*(f"- {line}" for line in calls if line not in public), sep="\n")
        print(*(f"+ {line}" for line in public if line not in calls), sep="\n")
        return
    PARSED.write_text("".join(f"{line}\n" for line in lines))
    CALLED.write_text("".join(f"{line}\t{calls.get(line, '')}\n" for line in public))


def signature_lines() -> list[str]:
    """The lines of the table, by namespace and name, deprecated overloads after the others."""
    written = texts()
    lines = []
    for space, owner in SPACES.items():
        prefix = f"{space}." if space else ""
        for name in sorted(dir(owner)):
            found = getattr(owner, name)
            parsed = inspect.isbuiltin(found) or inspect.ismethoddescriptor(found)
            if parsed and not EXCLUDED.search(name):
                lines += [f"{prefix}{name}{text}" for text in signatures(space, name, written)]
    for space, name in sorted(set(hidden_functions())):
        lines += [f"{space}.{name}{text}" for text in signatures(space, name, written)]
    for name in METHODS:
        lines += [f"_Tensor.{name}{text}" for text in signatures("Tensor", name, written)]
    return lines


def hidden_functions() -> Iterator[tuple[str, str]]:
    """The space and the name of each function that torch's Python code calls and that no public
    name has."""
    yield from (("_VF", name) for name in dir(HIDDEN["_VF"]) if FUNCTIONS.fullmatch(name))
    public = [vars(torch), vars(torch.nn.functional)]
    for module in CALLED_FROM:
        called = re.findall(r"\b(_C\._nn|_VF|torch)\.(\w+)\(", inspect.getsource(module))
        for owner, name in set(called):
            space = "_nn" if owner == "_C._nn" else "_VF"
            found = getattr(HIDDEN[space], name, None)
            usual = any(found is value for names in public for value in names.values())
            excluded = EXCLUDED.search(name.lstrip("_")) or ON_CUDA.search(name)
            if found is not None and not excluded and (name.startswith("_") or not usual):
                yield space, name


def signatures(space: str, name: str, written: dict[str, list[str]]) -> list[str]:
    """The signatures of a public function or method, without its name, as they are tried.

    A function and a method of one name have their strings in common. Where several are tried, the
    error for arguments that fit none lists them; else the method is the one without a tensor of its
    own. The errors leave out deprecated signatures, which are tried last.
    """
    public = f"{space}.{name}" if space else name
    if public in HAND_WRITTEN:
        return HAND_WRITTEN[public]
    if space == "Tensor" and takes_nothing(name):
        return ["()"]
    base = f"{space}_{name}" if space in ("fft", "linalg", "special") else name
    word = ALIASES.get(public, base)
    found = written.get(word, [])
    tails = [t for longer, texts in written.items() if longer.endswith(word) for t in texts]
    shown = listed(space, name)
    deprecated = [text for text in found if text.endswith("|deprecated")]
    if shown:
        usual = [t for t in reversed([*found, *tails]) if not t.endswith("|deprecated")]
        printed = {str(Signature(name, text[1:-1])): text for text in usual}
        visible = [printed[text] for text in shown if text in printed]
    else:
        visible = [text for text in found if text not in deprecated]
    if base == name and (not shown or deprecated):
        methods = space == "Tensor"
        shared = hasattr(torch if methods else torch.Tensor, name)
        ours = [t for t in found if not shared or bool(_OWN_TENSOR.search(t)) != methods]
        visible = visible if shown else [text for text in visible if text in ours]
        deprecated = [text for text in deprecated if text in ours]
    made = [*(visible or refusing_alike(space, name, tails)), *deprecated]
    if NUMBERS_AS_TENSORS.fullmatch(word):
        made = [re.sub(r"\bTensor(?=\?? )", "Tensor|Number", text) for text in made]
    return made


def refusing_alike(space: str, name: str, candidates: list[str]) -> list[str]:
    """The first of the signatures with which the parser would refuse the same calls as torch."""
    parsed = {text: Signature(name, text[1:-1]) for text in candidates if text[-1] == ")"}
    keywords = {parameter.name for s in parsed.values() for parameter in s.parameters}
    probes = [(0, {}), (40, {}), *((0, {keyword: object()}) for keyword in sorted(keywords))]
    owner = (SPACES | HIDDEN)[space]
    own = (torch.zeros(()),) if space == "Tensor" else ()

    def refusal(function: Callable[..., object], *first: object) -> list[str]:
        texts = []
        for number, named in probes:
            try:
                function(*first, *[object()] * number, **named)
                texts.append("")
            except (TypeError, RuntimeError) as error:
                texts.append(str(error))
        return texts

    theirs = refusal(getattr(owner, name), *own)
    alike = [
        text
        for text, signature in parsed.items()
        if refusal(lambda *args, match=signature.match, **named: match(args, named)) == theirs
    ]
    return alike[:1]


def listed(space: str, name: str) -> list[str]:
    """The signatures that torch lists for arguments that fit none, in the order of trial."""
    owner = (SPACES | HIDDEN)[space]
    own = (torch.zeros(()),) if space == "Tensor" else ()
    try:
        getattr(owner, name)(*own, *[object()] * 40)
    except TypeError as error:
        _, _, expected = str(error).partition(", but expected ")
        return re.findall(r"\(.*\)", expected.replace(" or ", "\n"))
    except (RuntimeError, IndexError, ValueError):
        pass
    return []


def takes_nothing(name: str) -> bool:
    """Whether a method has no parameters, in which case torch has no parser for it."""
    try:
        getattr(torch.Tensor, name)(torch.zeros(()), 1)
    except TypeError as error:
        return f"TensorBase.{name}() takes no arguments" in str(error)
    except (RuntimeError, IndexError, ValueError):
        return False
    return False


def texts() -> dict[str, list[str]]:
    """The texts of the signatures in torch's library, by the names that stand before them."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_python.so"
    found: dict[str, list[str]] = {}
    for name, text in _STRING.findall(library.read_bytes()):
        if b"->" in text or text.endswith(b"|hidden"):  # a schema of the JIT; nothing for users
            continue
        translated = in_notation_of_the_table(text.decode())
        if translated not in (known := found.setdefault(name.decode(), [])):
            known.append(translated)
    return found


def in_notation_of_the_table(text: str) -> str:
    """A signature with the table's names for types; a default of None makes the type nullable."""
    for pattern, kind in KINDS:
        text = re.sub(rf"(?<![\w:<]){pattern}(?!\w)", kind, text)
    return re.sub(r"([\w\]]) (\w+=None)", r"\1? \2", text)


if __name__ == "__main__":
    main()
