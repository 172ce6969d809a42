"""pytorch-metric-learning: losses, distances, reducers and miners over embeddings."""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers, regularizers

LABELS = torch.tensor([0, 0, 1, 1, 2, 2, 0, 1])
PAIRS = (
    *(
        "AngularLoss",
        "CircleLoss",
        "ContrastiveLoss",
        "FastAPLoss",
        "GeneralizedLiftedStructureLoss",
    ),
    *(
        "IntraPairVarianceLoss",
        "LiftedStructureLoss",
        "MarginLoss",
        "MultiSimilarityLoss",
        "NCALoss",
    ),
    *("NTXentLoss", "SignalToNoiseRatioContrastiveLoss", "SupConLoss", "TripletMarginLoss"),
    *("TupletMarginLoss", "PNPLoss"),
)
PROXIES = (
    *("ArcFaceLoss", "CosFaceLoss", "LargeMarginSoftmaxLoss", "NormalizedSoftmaxLoss"),
    *(
        "ProxyAnchorLoss",
        "ProxyNCALoss",
        "SoftTripleLoss",
        "SphereFaceLoss",
        "SubCenterArcFaceLoss",
    ),
)


def graded(loss):
    embeddings = torch.randn(8, 6, requires_grad=True)
    value = loss(embeddings, LABELS)
    value.backward()
    text = torch.tensor([*repr(loss).encode()])
    return value, embeddings.grad, *(p.grad for p in loss.parameters()), text


def case_pairs():
    return [t for name in PAIRS for t in graded(getattr(losses, name)())]


def case_proxies():
    made = (getattr(losses, name)(num_classes=3, embedding_size=6) for name in PROXIES)
    return [t for loss in made for t in graded(loss)]


def case_distances():
    kinds = distances.CosineSimilarity(), distances.LpDistance(p=1), distances.SNRDistance()
    return [t for kind in kinds for t in graded(losses.ContrastiveLoss(distance=kind))]


def case_reducers():
    kinds = reducers.AvgNonZeroReducer(), reducers.MeanReducer(), reducers.SumReducer()
    kinds += (reducers.ClassWeightedReducer(torch.tensor([1.0, 2.0, 3.0])),)
    return [t for kind in kinds for t in graded(losses.TripletMarginLoss(reducer=kind))]


def case_regularizers():
    kind = regularizers.RegularFaceRegularizer()
    loss = losses.ArcFaceLoss(3, 6, weight_regularizer=kind)
    pairs = losses.TripletMarginLoss(embedding_regularizer=regularizers.LpRegularizer())
    return *graded(loss), *graded(pairs)


def case_miners():
    embeddings = torch.randn(8, 6)
    kinds = miners.BatchHardMiner(), miners.MultiSimilarityMiner(), miners.DistanceWeightedMiner()
    kinds += (miners.AngularMiner(), miners.TripletMarginMiner(type_of_triplets="semihard"))
    return [indices for kind in kinds for indices in kind(embeddings, LABELS)]


def case_memory():
    loss = losses.CrossBatchMemory(losses.NTXentLoss(), 6, memory_size=16)
    return [t for _ in range(3) for t in graded(loss)]


def case_half():
    embeddings = torch.randn(8, 6, dtype=torch.float16, requires_grad=True)
    loss = losses.MultiSimilarityLoss()(embeddings, LABELS)
    loss.backward()
    return loss, embeddings.grad


def case_training():
    net, loss = torch.nn.Linear(5, 6), losses.ProxyAnchorLoss(3, 6)
    optimizer = torch.optim.SGD([*net.parameters(), *loss.parameters()], 0.1)
    x = torch.randn(8, 5)
    for _ in range(3):
        optimizer.zero_grad()
        loss(net(x), LABELS).backward()
        optimizer.step()
    return *net.parameters(), *loss.parameters()
