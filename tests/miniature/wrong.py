"""Always wrong: in everything, or at one level only."""

import warnings

from impl import ones, tensor, zeros

from .wrapping import Namespace


def _other_values(*size, **keywords):
    return ones(*size, **keywords) + 1


def _other_flag(*size, **keywords):
    return ones(*size, **{**keywords, "requires_grad": True})


def _other_version(*size, **keywords):
    return ones(*size, **keywords).mul_(1)


def _other_warnings(*size, **keywords):
    warnings.warn("ones are not what they were", stacklevel=2)
    return ones(*size, **keywords)


def _other_tensor(*data, **keywords):
    return tensor(*data, **keywords).detach() + 1


values = Namespace(ones=_other_values)
graph = Namespace(ones=_other_flag)
memory = Namespace(ones=_other_version)
diagnostics = Namespace(ones=_other_warnings)
always = Namespace(tensor=_other_tensor, zeros=ones, ones=zeros)
