"""egnn-pytorch: layers that move with their points, and forces from their gradients."""

import torch
from egnn_pytorch import EGNN, EGNN_Network


def case_forces():
    layer = EGNN(
        dim=6,
        edge_dim=2,
        fourier_features=2,
        num_nearest_neighbors=3,
        norm_coors=True,
        norm_feats=True,
        soft_edges=True,
        coor_weights_clamp_value=2.0,
        m_pool_method="mean",
        dropout=0.1,
    )
    features, edges = torch.randn(2, 5, 6), torch.randn(2, 5, 5, 2)
    points = torch.randn(2, 5, 3, requires_grad=True)
    out, moved = layer(features, points, edges, mask=torch.ones(2, 5).bool())
    energy = out.sum() + moved.square().sum()
    (forces,) = torch.autograd.grad(energy, points, create_graph=True)
    forces.square().sum().backward()
    grads = (p.grad for p in layer.parameters() if p.grad is not None)
    return out, moved, forces, points.grad, *grads


def case_network():
    model = EGNN_Network(
        num_tokens=7,
        num_positions=12,
        num_adj_degrees=3,
        adj_dim=4,
        dim=8,
        depth=2,
        num_nearest_neighbors=4,
        only_sparse_neighbors=True,
        coor_weights_clamp_value=2.0,
        global_linear_attn_every=1,
        global_linear_attn_heads=2,
        global_linear_attn_dim_head=4,
        num_global_tokens=2,
    )
    step = torch.arange(12)[:, None] - torch.arange(12)
    near = (step.abs() <= 1).clone()
    tokens, points = torch.randint(0, 7, (1, 12)), torch.randn(1, 12, 3)
    out, moved = model(tokens, points, adj_mat=near, mask=torch.ones(1, 12).bool())
    (out.square().mean() + moved.square().mean()).backward()
    return out, moved, *(p.grad for p in model.parameters() if p.grad is not None)
