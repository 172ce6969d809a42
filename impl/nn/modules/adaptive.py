"""Adaptive softmax: rare classes are scored in clusters.

E. Grave et al., "Efficient softmax approximation for GPUs", ICML 2017.
"""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from impl.nn import functional as F
from impl.nn.modules.container import ModuleList, Sequential
from impl.nn.modules.linear import Linear
from impl.nn.modules.module import Module
from impl.tensor.tensor import Tensor

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over frequent classes below the first cutoff, and over clusters between the cutoffs
    (torch.nn.AdaptiveLogSoftmaxWithLoss). Raises ValueError for cutoffs out of order or range."""

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **factory),
                    Linear(hidden, high - low, bias=False, **factory),
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights."""
        self.head.reset_parameters()
        for i in range(self.n_clusters):
            inner, outer = self.tail[i]
            inner.reset_parameters()
            outer.reset_parameters()

    def forward(self, input_: Tensor, target_: Any) -> _ASMoutput:
        """The log probabilities of the targets, and their negative mean."""
        self._check(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target: Any = target_ if batched else target_.unsqueeze(0)
        count, used = target.size(0), 0
        output, chosen = input.new_zeros(count), target.new_empty(count)
        for i, (low, high) in enumerate(itertools.pairwise([0, *self.cutoffs])):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze()
            if rows.numel() == 0:
                continue
            if i == 0:
                chosen.index_copy_(0, rows, target[mask])
            else:
                within = target[mask] - low
                scores = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                chosen.index_fill_(0, rows, self.shortlist_size + i - 1)
                output.index_copy_(0, rows, scores.gather(1, within.unsqueeze(1)).squeeze(1))
            used += rows.numel()
        if used != count:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output += head.gather(1, chosen.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _check(self, input: Tensor, target: Tensor) -> None:
        rank = target.dim()
        if rank > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if rank == 1:
            if input.size(0) != target.size(0):
                raise RuntimeError(
                    "Input and target should have the same size in the batch dimension."
                )
            if input.dim() != 2:
                raise RuntimeError(
                    "1D target tensor expects 2D input tensors, but found inputs with size "
                    f"{input.size()}"
                )
        elif input.dim() != 1:
            raise RuntimeError(
                "0D target tensor expects 1D input tensors, but found inputs with size "
                f"{input.size()}"
            )

    def _all_log_probs(self, input: Tensor, head: Tensor) -> Tensor:
        """The log probabilities of all classes."""
        result = input.new_empty((head.size(0), self.n_classes))
        first = F.log_softmax(head, dim=1)
        short = self.shortlist_size
        result[:, :short] = first[:, :short]
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            scores = F.log_softmax(self.tail[i](input), dim=1)
            result[:, low:high] = scores + first[:, short + i].unsqueeze(1)
        return result

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes for (N, in_features)."""
        return self._all_log_probs(input, self.head(input))

    def predict(self, input: Any) -> Tensor:
        """The most probable class of each of (N, in_features)."""
        head: Any = self.head(input)
        output: Any = head.argmax(dim=1)
        rare = output >= self.shortlist_size
        if not rare.any():
            return output
        if rare.all():
            return self._all_log_probs(input, head).argmax(dim=1)
        output[rare] = self._all_log_probs(input[rare], head[rare]).argmax(dim=1)
        return output
