"""Layers that learn the size of their input from the first call."""

from __future__ import annotations

from typing import Any

from impl.creation import tensor
from impl.dtypes import int64
from impl.modes import no_grad
from impl.nn.modules import conv
from impl.nn.modules.instance_norm import (
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from impl.nn.modules.linear import Linear
from impl.nn.modules.module import Module
from impl.nn.modules.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, _BatchNorm
from impl.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from impl.tensor import Tensor


class LazyModuleMixin(Module):
    """What a layer without sizes has besides its class: before the first call or when a state is
    loaded its parameters get values, and then it becomes an ordinary layer, `cls_to_become`
    (torch.nn.modules.lazy.LazyModuleMixin)."""

    cls_to_become: type[Module] | None = None

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _lazy_load_hook(self, state_dict, prefix, *_) -> None:
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if is_lazy(value) and given is not None and not is_lazy(given):
                with no_grad():
                    value.materialize(given.shape)

    def initialize_parameters(self, *args, **kwargs) -> None:
        """Give the parameters values that suit an input; a subclass says how."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no values yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(self, module, args, kwargs=None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _without_values(self, bias: bool, dtype) -> None:
        self.register_parameter("weight", UninitializedParameter(dtype=dtype))
        if bias:
            self.register_parameter("bias", UninitializedParameter(dtype=dtype))

    def _give_values(self, weight, bias) -> None:
        self.weight.materialize(weight)
        if self.bias is not None:
            self.bias.materialize(bias)


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose `in_features` is the last size of its first input (torch.nn.LazyLinear)."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(0, 0, False)
        self._without_values(bias, dtype)
        self.out_features = out_features

    def reset_parameters(self) -> None:
        """Draw weight and bias, once there are any."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        """Take the size of the input's last dimension."""
        width = input.size(-1)
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = width
                self._give_values((self.out_features, width), (self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if width != self.weight.size(-1):
                raise AssertionError(
                    f"The in_features inferred from input: {width} is not equal to in_features "
                    f"from self.weight: {self.weight.size(-1)}"
                )
            self.in_features = width


# -- convolutions -------------------------------------------------------------------------------


class _LazyConvolution(LazyModuleMixin, conv._Convolution):
    """A convolution whose `in_channels` are those of its first input."""

    def _channels_of(self, input: Tensor) -> int:
        rank, unbatched = input._raw.ndim, self.ndim + 1
        if rank not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.size(rank - unbatched)

    def reset_parameters(self) -> None:
        """Draw weight and bias, once there are any."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args, **kwargs) -> None:
        """Take the number of the input's channels."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._channels_of(input)
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        first, second = self.out_channels, self.in_channels // self.groups
        if self.transposed:
            first, second = self.in_channels, self.out_channels // self.groups
        self._give_values((first, second, *self.kernel_size), (self.out_channels,))
        self.reset_parameters()


def _lazy_convolution(kind: type[Any], *settings: tuple[str, Any]) -> type[Any]:
    defaults = {**dict(settings), "padding_mode": "zeros", "device": None, "dtype": None}

    class Lazy(_LazyConvolution, kind):
        cls_to_become = kind

        def __init__(self, out_channels: int, kernel_size, *args, **kwargs) -> None:
            given = {**defaults, **dict(zip(defaults, args, strict=False)), **kwargs}
            bias = given.pop("bias")
            super().__init__(0, 0, kernel_size, bias=False, **given)
            self._without_values(bias, given["dtype"])
            self.out_channels = out_channels

    name = Lazy.__name__ = Lazy.__qualname__ = f"Lazy{kind.__name__}"
    Lazy.__doc__ = f"`{kind.__name__}` with the channels of its first input (torch.nn.{name})."
    return Lazy


_PLAIN = (("stride", 1), ("padding", 0), ("dilation", 1), ("groups", 1), ("bias", True))
_TRANSPOSED = (*_PLAIN[:2], ("output_padding", 0), *_PLAIN[3:], ("dilation", 1))

LazyConv1d = _lazy_convolution(conv.Conv1d, *_PLAIN)
LazyConv2d = _lazy_convolution(conv.Conv2d, *_PLAIN)
LazyConv3d = _lazy_convolution(conv.Conv3d, *_PLAIN)
LazyConvTranspose1d = _lazy_convolution(conv.ConvTranspose1d, *_TRANSPOSED)
LazyConvTranspose2d = _lazy_convolution(conv.ConvTranspose2d, *_TRANSPOSED)
LazyConvTranspose3d = _lazy_convolution(conv.ConvTranspose3d, *_TRANSPOSED)


# -- normalisations -----------------------------------------------------------------------------


class _LazyNorm(LazyModuleMixin, _BatchNorm):
    """A normalisation whose `num_features` are the channels of its first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self._without_values(bias, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(dtype=dtype)
            self.running_var = UninitializedBuffer(dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64)

    def reset_parameters(self) -> None:
        """Set weight, bias and statistics to their beginning, once there are any."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        """Take the number of the input's channels."""
        if not self.has_uninitialized_params():
            return
        shape = (input.shape[1],)
        self.num_features = shape[0]
        if self.affine:
            self._give_values(shape, shape)
        if self.track_running_stats:
            self.running_mean.materialize(shape)
            self.running_var.materialize(shape)
        self.reset_parameters()


def _lazy_norm(kind: type[Any]) -> type[Any]:
    name = f"Lazy{kind.__name__}"
    checked = {rule: value for rule, value in vars(kind).items() if rule in ("ranks", "spatial")}
    fields = {
        "__doc__": f"`{kind.__name__}` with the channels of its first input (torch.nn.{name}).",
        "__module__": __name__,
        "cls_to_become": kind,
        **checked,
    }
    return type(name, (_LazyNorm, *kind.__bases__), fields)


LazyBatchNorm1d = _lazy_norm(BatchNorm1d)
LazyBatchNorm2d = _lazy_norm(BatchNorm2d)
LazyBatchNorm3d = _lazy_norm(BatchNorm3d)
LazyInstanceNorm1d = _lazy_norm(InstanceNorm1d)
LazyInstanceNorm2d = _lazy_norm(InstanceNorm2d)
LazyInstanceNorm3d = _lazy_norm(InstanceNorm3d)
