"""Layers that infer the size of their parameters from the first input."""

from __future__ import annotations

from typing import Any

from impl.core.dtypes import int64
from impl.core.grad_mode import no_grad
from impl.factories.creation import tensor
from impl.nn.modules import batchnorm, conv
from impl.nn.modules.families import layer_class
from impl.nn.modules.linear import Linear
from impl.nn.modules.module import Module
from impl.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from impl.tensor.tensor import Tensor


class LazyModuleMixin(Module):
    """Uninitialized parameters of a layer, which the first call or a loaded state materializes.

    The layer's class then becomes `cls_to_become` (torch.nn.modules.lazy.LazyModuleMixin).
    """

    cls_to_become: type[Module] | None = None
    _size: str  # the setting that is inferred; 0 until then

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _lazy_load_hook(self, state_dict, prefix, *_) -> None:
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            key = prefix + name
            if key in state_dict and is_lazy(value) and not is_lazy(state_dict[key]):
                with no_grad():
                    value.materialize(state_dict[key].shape)

    def initialize_parameters(self, *args, **kwargs) -> None:
        """Materialize the parameters for an input; subclasses override this."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer is uninitialized."""
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

    def _register_uninitialized(self, bias: bool, factory: dict[str, Any]) -> None:
        for name in ("weight", "bias") if bias else ("weight",):
            self.register_parameter(name, UninitializedParameter(**factory))

    def _materialize(self, weight, bias) -> None:
        """Give the parameters their shapes. Raises AssertionError for one that has a shape."""
        self._require_uninitialized("weight")
        self.weight.materialize(weight)
        if self.bias is not None:
            self._require_uninitialized("bias")
            self.bias.materialize(bias)

    def _require_uninitialized(self, name: str) -> None:
        if not isinstance(getattr(self, name), UninitializedParameter):
            raise AssertionError(f"self.{name} must be an UninitializedParameter")


class _LazyLayer(LazyModuleMixin):
    def reset_parameters(self) -> None:
        """Set the parameters to their initial values, unless they are uninitialized."""
        if not self.has_uninitialized_params() and getattr(self, self._size) != 0:
            super().reset_parameters()  # type: ignore[misc]


class LazyLinear(_LazyLayer, Linear):
    """`Linear` whose `in_features` is the last size of its first input (torch.nn.LazyLinear)."""

    cls_to_become = Linear
    _size = "in_features"

    def _require_uninitialized(self, name: str) -> None:
        """Nothing is required: a parameter that has a shape has no method `materialize`."""

    def __init__(self, out_features: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(0, 0, False)
        self._register_uninitialized(bias, {"device": device, "dtype": dtype})
        self.out_features = out_features

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        """Take the size of the input's last dimension as `in_features`."""
        width = input.shape[-1]
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = width
                self._materialize((self.out_features, width), (self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if width != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {width} is not equal to in_features "
                    f"from self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = width


class _LazyConvXdMixin(_LazyLayer):
    """A convolution whose `in_channels` are those of its first input."""

    _size = "in_channels"
    _ndim: int

    def _register_unsized(self, out_channels, bias, device, dtype) -> None:
        factory = {"device": device, "dtype": dtype}
        self.weight = UninitializedParameter(**factory)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(**factory)

    def initialize_parameters(self, input: Tensor, *args, **kwargs) -> None:
        """Take the number of the input's channels as `in_channels`."""
        if not self.has_uninitialized_params():
            return
        rank, unbatched = input.dim(), self._ndim + 1
        if rank not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[rank - unbatched]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self._materialize(self._weight_shape(), (self.out_channels,))
        self.reset_parameters()


class _LazyConvolution(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        settings = kernel_size, stride, padding, dilation, groups, False, padding_mode
        super().__init__(0, 0, *settings, device=device, dtype=dtype)
        self._register_unsized(out_channels, bias, device, dtype)


class _LazyTransposedConvolution(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups: int = 1,
        bias: bool = True,
        dilation=1,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        settings = stride, padding, output_padding, groups, False, dilation, padding_mode
        super().__init__(0, 0, kernel_size, *settings, device=device, dtype=dtype)
        self._register_unsized(out_channels, bias, device, dtype)


class _LazyNormBase(_LazyLayer, batchnorm._NormBase):
    """A normalisation whose `num_features` are the channels of its first input."""

    _size = "num_features"

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
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        if affine:
            self._register_uninitialized(bias, factory)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**factory)
            self.running_var = UninitializedBuffer(**factory)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        """Take the number of the input's channels as `num_features`."""
        if not self.has_uninitialized_params():
            return
        shape = (input.shape[1],)
        self.num_features = shape[0]
        if self.affine:
            self._materialize(shape, shape)
        if self.track_running_stats:
            self.running_mean.materialize(shape)
            self.running_var.materialize(shape)
        self.reset_parameters()


def _lazy(base: type, kind: type[Any], *parents: type) -> type[Any]:
    """The lazy variant of a layer, which derives from `parents` or else from the layer."""
    return layer_class(
        (base, *(parents or (kind,))),
        f"Lazy{kind.__name__}",
        f"`{kind.__name__}` with the channels of its first input",
        cls_to_become=kind,
        _ndim=kind._ndim,
    )


LazyConv1d = _lazy(_LazyConvolution, conv.Conv1d)
LazyConv2d = _lazy(_LazyConvolution, conv.Conv2d)
LazyConv3d = _lazy(_LazyConvolution, conv.Conv3d)
LazyConvTranspose1d = _lazy(_LazyTransposedConvolution, conv.ConvTranspose1d)
LazyConvTranspose2d = _lazy(_LazyTransposedConvolution, conv.ConvTranspose2d)
LazyConvTranspose3d = _lazy(_LazyTransposedConvolution, conv.ConvTranspose3d)
LazyBatchNorm1d = _lazy(_LazyNormBase, batchnorm.BatchNorm1d, batchnorm._BatchNorm)
LazyBatchNorm2d = _lazy(_LazyNormBase, batchnorm.BatchNorm2d, batchnorm._BatchNorm)
LazyBatchNorm3d = _lazy(_LazyNormBase, batchnorm.BatchNorm3d, batchnorm._BatchNorm)
LazyInstanceNorm1d = _lazy(_LazyNormBase, batchnorm.InstanceNorm1d, batchnorm._InstanceNorm)
LazyInstanceNorm2d = _lazy(_LazyNormBase, batchnorm.InstanceNorm2d, batchnorm._InstanceNorm)
LazyInstanceNorm3d = _lazy(_LazyNormBase, batchnorm.InstanceNorm3d, batchnorm._InstanceNorm)
