"""Normalisation by the statistics of each channel: of a batch, or of each example."""

from __future__ import annotations

import warnings
from typing import Any

from impl.core.dtypes import int64
from impl.core.registry import C
from impl.factories.creation import tensor
from impl.nn import functional as F
from impl.nn.modules.families import by_dimension, check_rank, layer_class
from impl.nn.modules.module import Module
from impl.nn.modules.normalization import _Affine
from impl.tensor.tensor import Tensor


class _NormBase(_Affine):
    """Parameters and running statistics of a normalisation of channels."""

    _version = 2  # since version 2 the state has `num_batches_tracked`
    _ndim: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        factory = {"device": device, "dtype": dtype}
        self._register_affine(num_features, factory, weight=affine, bias=affine and bias)
        mean = variance = count = None
        if track_running_stats:
            mean = C.zeros(num_features, **factory)
            variance = C.ones(num_features, **factory)
            count = tensor(0, dtype=int64, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running mean to zeros, the running variance to ones, and the count to zero."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set weight, bias and running statistics to their initial values."""
        self.reset_running_stats()
        self._reset_affine(self.affine)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest) -> None:
        old = local_metadata.get("version") is None or local_metadata["version"] < 2
        if old and self.track_running_stats:
            state_dict.setdefault(f"{prefix}num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    def _check_input_dim(self, input: Tensor) -> None:
        check_rank(input, *((2, 3) if self._ndim == 1 else (self._ndim + 2,)))

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        from_batch = self.training or (self.running_mean is None and self.running_var is None)
        tracked = not self.training or self.track_running_stats
        mean, variance = (self.running_mean, self.running_var) if tracked else (None, None)
        settings = from_batch, factor, self.eps
        return F.batch_norm(input, mean, variance, self.weight, self.bias, *settings)


class SyncBatchNorm(_BatchNorm):
    """Over (N, C, ...), by the statistics of all processes of a group; without one, which impl does
    not have, by those of the batch (torch.nn.SyncBatchNorm)."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        settings = num_features, eps, momentum, affine, track_running_stats, device, dtype
        super().__init__(*settings, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module, in which layers of this class stand for all batch normalisations; they have
        the same parameters and buffers."""
        result: Any = module
        if isinstance(module, _BatchNorm):
            settings = module.eps, module.momentum, module.affine, module.track_running_stats
            has_bias = module.bias is not None
            result = SyncBatchNorm(module.num_features, *settings, process_group, bias=has_bias)
            if module.affine:
                result.weight, result.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(result, name, getattr(module, name))
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


_UNTRACKED = (
    "Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. If "
    "state_dict is a checkpoint saved before 0.4.0, this may be expected because {kind} does not "
    "track running stats by default since 0.4.0. Please remove these keys from state_dict. If the "
    "running stats are actually needed, instead set track_running_stats=True in {kind} to enable "
    "them. See the documentation of {kind} for details."
)


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        settings = num_features, eps, momentum, affine, track_running_stats, device, dtype
        super().__init__(*settings, bias=bias)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            held = [f"{prefix}{name}" for name in ("running_mean", "running_var")]
            held = [key for key in held if key in state_dict]
            if held:
                kind, names = type(self).__name__, " and ".join(f'"{key}"' for key in held)
                rest[-1].append(_UNTRACKED.format(names=names, kind=kind))
            for key in held:
                del state_dict[key]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def forward(self, input: Tensor) -> Tensor:
        batched = self._ndim + 2
        check_rank(input, batched - 1, batched)
        dim = input.dim() - batched + 1
        channels = input.size(dim)
        if channels != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features "
                    f"({self.num_features}), but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        from_input = self.training or not self.track_running_stats
        settings = from_input, 0.0 if self.momentum is None else self.momentum, self.eps
        statistics = self.running_mean, self.running_var
        batch = input if dim else input.unsqueeze(0)
        result = F.instance_norm(batch, *statistics, self.weight, self.bias, *settings)
        return result if dim else result.squeeze(0)


BatchNorm1d = layer_class((_BatchNorm,), "BatchNorm1d", "Over (N, C) or (N, C, L)", _ndim=1)
BatchNorm2d, BatchNorm3d = by_dimension(_BatchNorm, "BatchNorm{}d", "Over {}", (2, 3))
InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = by_dimension(
    _InstanceNorm, "InstanceNorm{}d", "Over {}, or over one example of it"
)
