"""Embeddings: rows of a table, looked up by index."""

from __future__ import annotations

from impl.core.devices import check_device
from impl.core.grad_mode import no_grad
from impl.nn import functional as F
from impl.nn import init
from impl.nn.modules.families import nondefault
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter, empty_parameter
from impl.tensor.tensor import Tensor


class _Table(Module):
    """A matrix `weight` of embeddings, of which one may be for padding."""

    padding_idx: int | None

    def reset_parameters(self) -> None:
        """Draw the table, and set the row for padding to zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight.select(0, self.padding_idx).fill_(0)


def _check_matrix(embeddings: Tensor) -> None:
    if embeddings._raw.ndim != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")


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
        check_device(device)
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = empty_parameter((num_embeddings, embedding_dim), dtype)
            self.weight.requires_grad_(not _freeze)
            self.reset_parameters()
        elif [*_weight.shape] == [num_embeddings, embedding_dim]:
            self.weight = Parameter(_weight, requires_grad=not _freeze)
        else:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")

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
        rows, columns = embeddings._raw.shape
        settings = padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
        return cls(rows, columns, *settings, _weight=embeddings, _freeze=freeze)

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += nondefault(
            self, padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False
        )
        return text + (", sparse=True" if self.sparse else "")


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
        check_device(device)
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.mode, self.sparse = scale_grad_by_freq, mode, sparse
        self.include_last_offset = include_last_offset
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        if _weight is None:
            self.weight = empty_parameter((num_embeddings, embedding_dim), dtype)
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight)

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
        rows, columns = embeddings._raw.shape
        settings = max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings
        made = cls(rows, columns, *settings, include_last_offset, padding_idx)
        made.weight.requires_grad = not freeze
        return made

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += nondefault(self, max_norm=None, norm_type=2, scale_grad_by_freq=False)
        return f"{text}, mode={self.mode!r}" + nondefault(self, padding_idx=None)
