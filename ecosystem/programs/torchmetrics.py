"""torchmetrics: metrics, their states, and sums over batches."""

import copy
import pickle

import torch
import torchmetrics
import torchmetrics.functional as F
import torchmetrics.functional.clustering
import torchmetrics.functional.nominal
import torchmetrics.functional.text
import torchmetrics.retrieval


def text(value):
    return torch.tensor(list(repr(value).encode()))


def tensors(value):
    if isinstance(value, dict):
        return [t for key in sorted(value) for t in tensors(value[key])]
    if isinstance(value, (list, tuple)):
        return [t for part in value for t in tensors(part)]
    return [value]


def over_batches(metric, batches):
    values = [metric(*batch) for batch in batches]
    state = {name: getattr(metric, name) for name in metric._defaults}
    again = pickle.loads(pickle.dumps(copy.deepcopy(metric)))
    values += [metric.compute(), again.compute(), text(metric), state]
    metric.reset()
    return tensors(values)


def classes(n=12, kinds=4):
    return [(torch.randn(n, kinds).softmax(-1), torch.randint(0, kinds, (n,))) for _ in range(2)]


def case_multiclass():
    made = [
        torchmetrics.classification.MulticlassAccuracy(4, top_k=2),
        torchmetrics.classification.MulticlassF1Score(4, average="weighted"),
        torchmetrics.classification.MulticlassConfusionMatrix(4, normalize="true"),
        torchmetrics.classification.MulticlassAUROC(4),
        torchmetrics.classification.MulticlassAveragePrecision(4, thresholds=5),
        torchmetrics.classification.MulticlassCalibrationError(4, n_bins=5, norm="l2"),
        torchmetrics.classification.MulticlassCohenKappa(4, weights="quadratic"),
        torchmetrics.classification.MulticlassMatthewsCorrCoef(4),
        torchmetrics.classification.MulticlassJaccardIndex(4),
        torchmetrics.classification.MulticlassHingeLoss(4, multiclass_mode="one-vs-all"),
        torchmetrics.classification.MulticlassROC(4, thresholds=4),
        torchmetrics.classification.MulticlassExactMatch(4),
    ]
    return [t for m in made[:-1] for t in over_batches(m, classes())]


def case_binary_and_multilabel():
    binary = [(torch.rand(9), torch.randint(0, 2, (9,))) for _ in range(2)]
    labels = [(torch.rand(6, 3), torch.randint(0, 2, (6, 3))) for _ in range(2)]
    values = []
    for name in (
        "Accuracy",
        "AUROC",
        "AveragePrecision",
        "F1Score",
        "StatScores",
        "Specificity",
        "PrecisionRecallCurve",
        "ConfusionMatrix",
    ):
        values += over_batches(getattr(torchmetrics.classification, f"Binary{name}")(), binary)
        values += over_batches(getattr(torchmetrics.classification, f"Multilabel{name}")(3), labels)
    for name in ("CoverageError", "RankingAveragePrecision", "RankingLoss"):
        values += over_batches(getattr(torchmetrics.classification, f"Multilabel{name}")(3), labels)
    return values


def case_regression():
    pairs = [(torch.rand(8) + 0.1, torch.rand(8) + 0.1) for _ in range(2)]
    values = []
    for name in (
        "MeanSquaredError",
        "MeanAbsoluteError",
        "R2Score",
        "ExplainedVariance",
        "PearsonCorrCoef",
        "SpearmanCorrCoef",
        "KendallRankCorrCoef",
        "ConcordanceCorrCoef",
        "MeanSquaredLogError",
        "LogCoshError",
        "SymmetricMeanAbsolutePercentageError",
        "RelativeSquaredError",
        "MinkowskiDistance",
        "TweedieDevianceScore",
    ):
        made = getattr(torchmetrics, name)
        values += over_batches(made(p=3) if name == "MinkowskiDistance" else made(), pairs)
    return values


def case_gradients():
    values = []
    for call in (
        lambda x, y: F.mean_squared_error(x, y),
        lambda x, y: F.pearson_corrcoef(x, y),
        lambda x, y: F.cosine_similarity(x.view(2, 5), y.view(2, 5), reduction="mean"),
        lambda x, y: F.kl_divergence(x.view(2, 5).softmax(-1), y.view(2, 5).softmax(-1)),
        lambda x, y: F.signal_noise_ratio(x, y),
        lambda x, y: F.scale_invariant_signal_distortion_ratio(x, y),
        lambda x, y: F.explained_variance(x, y),
        lambda x, y: F.pairwise_euclidean_distance(x.view(5, 2), y.view(5, 2)).sum(),
        lambda x, y: F.concordance_corrcoef(x, y),
        lambda x, y: F.signal_distortion_ratio(x.repeat(30), y.repeat(30), filter_length=8),
    ):
        x, y = torch.rand(10, requires_grad=True), torch.rand(10)
        value = call(x, y)
        (first,) = torch.autograd.grad(value, x, create_graph=True)
        values += [value, first]
        if first.requires_grad:
            values += torch.autograd.grad(first.square().sum(), x, allow_unused=True)
    return [value for value in values if value is not None]


def case_images():
    a, b = torch.rand(2, 3, 24, 24, requires_grad=True), torch.rand(2, 3, 24, 24)
    values = [
        F.structural_similarity_index_measure(a, b, data_range=1.0, kernel_size=5),
        F.peak_signal_noise_ratio(a, b, data_range=1.0),
        F.universal_image_quality_index(a, b),
        F.spectral_angle_mapper(a, b),
        F.total_variation(a),
        F.error_relative_global_dimensionless_synthesis(a, b),
        F.spectral_distortion_index(a, b),
        F.image.spatial_correlation_coefficient(a, b),
    ]
    values += torch.autograd.grad(sum(values), a)
    return *values, F.image.visual_information_fidelity(
        torch.rand(1, 1, 48, 48), b.new_ones(1, 1, 48, 48)
    )


def case_sums():
    values = []
    for name in ("MeanMetric", "SumMetric", "MaxMetric", "MinMetric", "CatMetric"):
        metric = getattr(torchmetrics, name)(nan_strategy="ignore")
        metric.update(torch.tensor([1.0, float("nan"), 3.0]))
        metric.update(2.0)
        values += [metric.compute(), text(metric)]
    running = torchmetrics.RunningMean(window=2)
    values += [running(float(x)) for x in range(4)]
    return *values, running.compute()


def case_collections():
    kinds = torchmetrics.classification
    made = torchmetrics.MetricCollection(
        [kinds.MulticlassPrecision(4), kinds.MulticlassRecall(4), kinds.MulticlassAccuracy(4)],
        prefix="val_",
    )
    values = [made(*batch) for batch in classes()]
    made.persistent(True)
    saved = made.state_dict()
    other = made.clone(prefix="test_")
    other.reset()
    other.load_state_dict(saved)
    compared = torchmetrics.metric.CompositionalMetric(torch.add, made["MulticlassRecall"], 1.0)
    tracker = torchmetrics.MetricTracker(kinds.MulticlassAccuracy(4))
    for batch in classes():
        tracker.increment()
        tracker.update(*batch)
    return tensors(
        [
            values,
            made.compute(),
            saved,
            other.compute(),
            text(made),
            compared.compute(),
            tracker.compute_all(),
            text(compared),
        ]
    )


def case_wrappers():
    kinds = torchmetrics.classification
    boot = torchmetrics.BootStrapper(kinds.MulticlassAccuracy(4), 3, raw=True)
    classwise = torchmetrics.ClasswiseWrapper(kinds.MulticlassAccuracy(4, average=None))
    outputs = torchmetrics.MultioutputWrapper(torchmetrics.MeanSquaredError(), 2)
    extremes = torchmetrics.MinMaxMetric(kinds.MulticlassAccuracy(4))
    values = [m(*batch) for m in (boot, classwise, extremes) for batch in classes()]
    values += [outputs(torch.randn(5, 2), torch.randn(5, 2)), extremes.compute()]
    return tensors([values, text(boot), text(classwise)])


def case_dtypes():
    metric = torchmetrics.MeanSquaredError().set_dtype(torch.float32)
    metric.double()
    kept = text(metric.sum_squared_error.dtype)
    metric.set_dtype(torch.float64)
    value = metric(torch.randn(3), torch.randn(3))
    return kept, value, text(metric.sum_squared_error), text(metric.device)


def case_retrieval_and_clustering():
    index = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    scores, target = torch.rand(7), torch.tensor([0, 1, 1, 1, 0, 0, 1])
    values = []
    for name in (
        "RetrievalMAP",
        "RetrievalMRR",
        "RetrievalNormalizedDCG",
        "RetrievalPrecision",
        "RetrievalHitRate",
        "RetrievalFallOut",
        "RetrievalRPrecision",
    ):
        values.append(getattr(torchmetrics.retrieval, name)()(scores, target, indexes=index))
    a, b = torch.randint(0, 3, (20,)), torch.randint(0, 3, (20,))
    for name in (
        "mutual_info_score",
        "rand_score",
        "adjusted_rand_score",
        "fowlkes_mallows_index",
        "v_measure_score",
        "normalized_mutual_info_score",
    ):
        values.append(getattr(F.clustering, name)(a, b))
    points = torch.randn(20, 3)
    values.append(F.clustering.calinski_harabasz_score(points, a))
    values.append(F.clustering.dunn_index(points, a))
    for name in ("cramers_v", "theils_u", "tschuprows_t", "pearsons_contingency_coefficient"):
        values.append(getattr(F.nominal, name)(a, b))
    return values


def case_words():
    model = torch.randn(2, 6, 5)
    values = [F.text.perplexity(model, torch.randint(0, 5, (2, 6)), ignore_index=0)]
    said, meant = ["the cat sat on mats"], ["a cat sat on the mat"]
    for name in (
        "word_error_rate",
        "char_error_rate",
        "match_error_rate",
        "edit_distance",
        "word_information_lost",
    ):
        values.append(getattr(F.text, name)(said, meant))
    return *values, F.text.bleu_score(said, [meant]), F.text.chrf_score(said, [meant])
