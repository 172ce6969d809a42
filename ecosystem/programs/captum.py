"""captum: attributions of a network's outputs to its inputs, layers and neurons."""

import torch
from captum import attr
from captum.metrics import infidelity, sensitivity_max
from captum.robust import FGSM, PGD


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 3, 3)
        self.relu = torch.nn.ReLU()
        self.pool = torch.nn.MaxPool2d(2)
        self.fc = torch.nn.Linear(12, 4)
        self.tanh = torch.nn.Tanh()
        self.out = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.out(self.tanh(self.fc(self.pool(self.relu(self.conv(x))).flatten(1))))


def attributed(name, **options):
    return getattr(attr, name)(Net()).attribute(torch.randn(2, 1, 6, 6), target=1, **options)


PATCHES = torch.arange(36).reshape(1, 1, 6, 6) // 12


def case_integrated_gradients():
    return attributed("IntegratedGradients", n_steps=8, return_convergence_delta=True)


def case_gradients():
    names = ("Saliency", "InputXGradient", "GuidedBackprop", "Deconvolution", "LRP")
    return [attributed(name) for name in names]


def case_deep_lift():
    return attributed("DeepLift", return_convergence_delta=True)


def case_gradient_shap():
    baselines = torch.zeros(3, 1, 6, 6)
    return attributed("GradientShap", baselines=baselines, n_samples=3, stdevs=0.1)


def case_occlusion():
    return attributed("Occlusion", sliding_window_shapes=(1, 3, 3), strides=(1, 2, 2))


def case_ablation():
    names = ("FeatureAblation", "FeaturePermutation", "ShapleyValues")
    return [attributed(name, feature_mask=PATCHES) for name in names]


def case_noise_tunnel():
    net, x = Net(), torch.randn(2, 1, 6, 6)
    tunnel = attr.NoiseTunnel(attr.Saliency(net))
    kinds = ("smoothgrad", "smoothgrad_sq", "vargrad")
    return [tunnel.attribute(x, target=1, nt_type=kind, nt_samples=3) for kind in kinds]


def case_layers():
    net, x = Net(), torch.randn(2, 1, 6, 6)
    names = ("LayerConductance", "LayerIntegratedGradients", "LayerDeepLift", "LayerLRP")
    return [
        attr.LayerActivation(net, net.fc).attribute(x),
        attr.LayerGradCam(net, net.conv).attribute(x, target=1),
        attr.LayerFeatureAblation(net, net.fc).attribute(x, target=1),
        *(getattr(attr, name)(net, net.fc).attribute(x, target=1) for name in names),
    ]


def case_neurons():
    net, x = Net(), torch.randn(2, 1, 6, 6)
    names = ("NeuronGradient", "NeuronIntegratedGradients", "NeuronDeepLift")
    return [getattr(attr, name)(net, net.fc).attribute(x, 1) for name in names]


def case_metrics():
    net, x = Net(), torch.randn(2, 1, 6, 6)
    saliency = attr.Saliency(net)

    def perturbed(inputs):
        noise = torch.randn_like(inputs) * 0.1
        return noise, inputs - noise

    found = saliency.attribute(x, target=1)
    return [
        infidelity(net, perturbed, x, found, target=1, n_perturb_samples=3),
        sensitivity_max(saliency.attribute, x, target=1, n_perturb_samples=2),
    ]


def case_attacks():
    net, x, target = Net(), torch.randn(2, 1, 6, 6), torch.tensor([0, 1])
    return [FGSM(net).perturb(x, 0.1, target), PGD(net).perturb(x, 0.1, 0.02, 3, target)]
