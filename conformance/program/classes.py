"""Classes of a program: the optional parts of PyTorch that a port needs in order to run it.

A rule states its class in its metadata. A program may need others beside it, which its source
shows: an example of a core rule with complex numbers is a program of the class *complex*, and a
port of the core alone owes nothing there.
"""

from __future__ import annotations

import re

from conformance.base.classes import CLASSES, CORE
from conformance.program.program import Program

_WORDS = {
    "complex": "complex complex32 complex64 complex128 chalf cfloat cdouble polar fft stft istft "
    "imag conj is_conj is_neg conj_physical resolve_conj resolve_neg view_as_complex",
    "forward": "forward_ad fwAD jvp make_dual unpack_dual dual_level",
    "func": "functorch vmap",
    "modules": "Module optim",
    "sparse": "sparse sparse_coo_tensor to_sparse SparseAdam",
    "autocast": "autocast GradScaler",
    "device": "meta cuda other_device",
    "threads": "threading Thread asyncio concurrent",
    "extension": "library custom_op as_subclass _make_subclass __torch_function__ "
    "__torch_dispatch__ TorchFunctionMode TorchDispatchMode",
    "serialisation": "pickle deepcopy save load",
    "distributions": "distributions",
}
"""Words of a source that show a class, by class."""

assert {CORE, *_WORDS} == set(CLASSES)
_CLASS_OF = {word: name for name, words in _WORDS.items() for word in words.split()}
_SIGNS = {
    "complex": re.compile(r"\d[jJ]\b"),
    "func": re.compile(r"\btorch\.func\b"),
    "modules": re.compile(r"\bnn\.(?!Parameter\b)[A-Z]"),
    "extension": re.compile(r"\(torch\.Tensor\):"),
}
"""Signs of a class that are more than a word."""

_COMMENT = re.compile(r"#.*")
_WORD = re.compile(r"[A-Za-z_]\w+")


def classes_of(program: Program) -> tuple[str, ...]:
    """The optional classes that a program needs beside *core*, in the order of the classes."""
    dtypes = [program.dtype or "", *(given.dtype for given in program.givens)]
    text = "\n".join([_COMMENT.sub("", program.source), *dtypes])
    found = {_CLASS_OF.get(word) for word in set(_WORD.findall(text))}
    found |= {name for name, sign in _SIGNS.items() if sign.search(text)}
    found.add(program.of_class)
    return tuple(name for name in CLASSES if name in found and name != CORE)
