"""Axes: rearranged by patterns, and their order in memory, printed."""

import itertools

import torch
from torch.func import rearrange


def tried(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:200].replace("torch.", "impl."))


x = torch.arange(12.0).reshape(3, 4)
for pattern, lengths in (
    *(("a b -> b a", {}), ("a b -> (b a)", {}), ("a b -> a b", {}), ("a b -> 1 a b", {})),
    *(("a b -> () b a ()", {}), ("1 a -> a", {}), ("... -> (...)", {}), ("a ... -> ... a", {})),
    *(
        ("(a b) c -> a b c", {"a": 3}),
        ("(a b) c -> c (b a)", {"a": 1}),
        ("a(b c)->b(c a)", {"c": 2}),
    ),
    *(("(a b) c -> a b c", {"a": 2}), ("(a b) c -> a b c", {}), ("a b -> a b", {"a": 7})),
    *(("(a b) c -> a b c", {"a": 2, "b": 2}), ("a b -> b", {}), ("a b -> a b c", {})),
    *(("a b", {}), ("a b -> a -> b", {}), ("a a -> a", {}), ("a b -> a b", {"z": 1})),
    *(("a b -> ((a) b)", {}), ("a b) -> a b", {}), ("(a b -> a b", {}), ("a 2 -> a 2", {})),
    *(("a ._ -> a", {}), ("... a ... -> a", {}), ("a (...) -> a ...", {}), ("a -> a", {})),
    *(
        ("a b c ... -> a b c ...", {}),
        ("a b -> a ...", {}),
        ("_a b -> b _a", {}),
        ("a* b -> b", {}),
    ),
    *(("a b -> b a", {"a": 3.0}), ("a 0 -> a 0", {}), ("a... b -> b a...", {})),
):
    tried(lambda: rearrange(x, pattern, **lengths))
print(rearrange([x, x + 1], "n a b -> (n a) b"), rearrange(torch.tensor(2.0), " -> "))
print(torch.func.grad(lambda t: (rearrange(t, "a b -> (b a)") * torch.arange(12.0)).sum())(x))
print(rearrange(torch.ones(2, 1, 3), "a 1 b -> b a").shape)

nhwc = torch.channels_last
tensors = [torch.ones(sizes) for sizes in ((), (3,), (2, 3), (2, 1), (1, 2, 3, 3), (1, 1, 2, 2))]
tensors += [torch.ones(2, 3, 4).permute(order) for order in itertools.permutations(range(3))]
tensors += [torch.ones(2, 3).expand(4, 2, 3), torch.ones(2, 3, 4, 5).to(memory_format=nhwc)]
tensors += [
    torch.ones(1, 3, 2, 2).to(memory_format=nhwc),
    torch.ones(0, 3),
    torch.ones(2, 2)[:, ::2],
]
formats = torch.contiguous_format, nhwc
for tensor in tensors:
    for check in (False, True, [formats[0]], [formats[1]], list(formats), [], 3, [3]):
        tried(lambda: tensor.dim_order(ambiguity_check=check))
print(
    type(torch.to_dlpack(x)).__name__,
    torch.from_dlpack(torch.to_dlpack(x)).data_ptr() == x.data_ptr(),
)
