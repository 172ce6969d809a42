"""Normalisation of each channel of each example."""

from __future__ import annotations

import warnings

from impl.nn import functional as F
from impl.nn.modules.normalization import _BatchNorm
from impl.tensor import Tensor


class _InstanceNorm(_BatchNorm):
    spatial: int

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
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        rank, least = input._raw.ndim, self.spatial + 1
        if rank not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {rank}D input)")
        place = rank - least
        found = input.size(place)
        if found != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={place} to match num_features "
                    f"({self.num_features}), but got: {found}."
                )
            warnings.warn(
                f"input's size at dim={place} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if rank == least:
            return self._normalised(input.unsqueeze(0)).squeeze(0)
        return self._normalised(input)

    def _normalised(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Over (N, C, L) or (C, L) (torch.nn.InstanceNorm1d)."""

    spatial = 1


class InstanceNorm2d(_InstanceNorm):
    """Over (N, C, H, W) or (C, H, W) (torch.nn.InstanceNorm2d)."""

    spatial = 2


class InstanceNorm3d(_InstanceNorm):
    """Over (N, C, D, H, W) or (C, D, H, W) (torch.nn.InstanceNorm3d)."""

    spatial = 3
