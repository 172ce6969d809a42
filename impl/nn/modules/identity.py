"""The function whose node catches gradients at a module's inputs and outputs."""

from __future__ import annotations

from impl.autograd.function import Function


class BackwardHookFunction(Function):
    """Its arguments, unchanged (torch.nn.modules._functions)."""

    @staticmethod
    def forward(ctx, *args):
        """All of them; what does not require grad is not differentiable."""
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *args):
        """All gradients."""
        return args
