"""Embeddings: rows of a table, looked up by index."""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.method_names import owns_methods_of
from impl.core.registry import C
from impl.nn import functional as F
from impl.nn import init
from impl.nn.modules.families import nondefault
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.tensor.tensor import Tensor


class _Table(Module):
    """A matrix `weight` of embeddings, of which one may be for padding."""

    padding_idx: int | None

    def reset_parameters(self) -> None:
        """Draw the table, and set the row for padding to zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            weight: Any = self.weight
            with no_grad():
                weight[self.padding_idx].fill_(0)

    def _impl_row_of_padding(self, padding_idx, name: str):
        """The row for padding, counted from the first."""
        rows = self.num_embeddings
        if padding_idx is None or padding_idx == 0:
            return padding_idx
        outside = padding_idx >= rows if padding_idx > 0 else padding_idx < -rows
        if outside:
            raise AssertionError(f"{name} must be within num_embeddings")
        return padding_idx if padding_idx > 0 else rows + padding_idx

    def _impl_set_weight(self, given, requires_grad: bool, factory: dict[str, Any]) -> None:
        size = self.num_embeddings, self.embedding_dim
        if given is None:
            self.weight = Parameter(C.empty(size, **factory), requires_grad=requires_grad)
            self.reset_parameters()
        elif given.shape != size:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        else:
            self.weight = Parameter(given, requires_grad=requires_grad)


def _check_matrix(embeddings: Tensor) -> None:
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")


@owns_methods_of(_Table)
class Embedding(_Table):
    """A table of vectors; the row `padding_idx` is zero and gets no gradient (torch.nn.Embedding).

    Raises NotImplementedError for sparse gradients.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = self._impl_row_of_padding(padding_idx, "Padding_idx")
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._impl_set_weight(_weight, not _freeze, {"device": device, "dtype": dtype})
        self.sparse = sparse

    def forward(self, input: Tensor) -> Tensor:
        settings = self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        return F.embedding(input, self.weight, self.padding_idx, *settings)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A table over given rows, without gradients unless `freeze` is false."""
        _check_matrix(embeddings)
        rows, columns = embeddings.shape
        settings = padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
        return cls(rows, columns, *settings, _weight=embeddings, _freeze=freeze)

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += nondefault(
            self, padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False
        )
        return text + (", sparse=True" if self.sparse else "")


@owns_methods_of(_Table)
class EmbeddingBag(_Table):
    """Sums, means or maxima over bags of rows of a table (torch.nn.EmbeddingBag).

    See `functional.embedding_bag`. Raises NotImplementedError for sparse gradients.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = self._impl_row_of_padding(padding_idx, "padding_idx")
        self._impl_set_weight(_weight, True, {"device": device, "dtype": dtype})
        self.mode, self.sparse = mode, sparse
        self.include_last_offset = include_last_offset

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        settings = self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse
        more = per_sample_weights, self.include_last_offset, self.padding_idx
        return F.embedding_bag(input, self.weight, offsets, *settings, *more)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A table over given rows, without gradients unless `freeze` is false."""
        _check_matrix(embeddings)
        rows, columns = embeddings.shape
        settings = max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings
        made = cls(rows, columns, *settings, include_last_offset, padding_idx)
        made.weight.requires_grad = not freeze
        return made

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings!r}, {self.embedding_dim!r}"
        text += nondefault(self, shown=repr, max_norm=None, norm_type=2, scale_grad_by_freq=False)
        return f"{text}, mode={self.mode!r}" + nondefault(self, shown=repr, padding_idx=None)
