"""Workloads dominated by arithmetic: layers, millions of elements, attention, convolution."""

from __future__ import annotations

import itertools

import numpy as np

from workloads.registry import workload


def _weights(rng, sizes):
    """The weight matrices of layers with these numbers of inputs and outputs."""
    return [
        (rng.standard_normal((n, m)) / np.sqrt(m)).astype(np.float32)
        for m, n in itertools.pairwise(sizes)
    ]


def _mlp_data():
    rng = np.random.default_rng(0)
    sizes = (784, 256, 256, 10)
    weights = _weights(rng, sizes)
    biases = [np.zeros(n, np.float32) for n in sizes[1:]]
    images = rng.standard_normal((64, 784)).astype(np.float32)
    return images, rng.integers(0, 10, 64), weights, biases


@workload("MLP training step", "torch")
def _(t):
    images, labels, weights, biases = _mlp_data()
    x, target = t.tensor(images), t.tensor(labels)
    parameters = [
        t.tensor(p).requires_grad_() for pair in zip(weights, biases, strict=True) for p in pair
    ]
    F = t.nn.functional

    def step():
        h = x
        for i in range(0, 6, 2):
            h = F.linear(h, parameters[i], parameters[i + 1])
            if i < 4:
                h = F.relu(h)
        F.cross_entropy(h, target).backward()
        with t.no_grad():
            for p in parameters:
                p.sub_(p.grad, alpha=1e-3)
                p.grad = None

    return step


@workload("MLP training step", "numpy")
def _(numpy):
    x, labels, weights, biases = _mlp_data()
    rows = np.arange(64)

    def step():
        layers = [x]
        for i, (w, b) in enumerate(zip(weights, biases, strict=True)):
            h = numpy.matmul(layers[-1], w.T)
            h += b
            layers.append(numpy.maximum(h, 0) if i < 2 else h)
        g = layers.pop()
        g -= numpy.maximum.reduce(g, 1, keepdims=True)
        total = numpy.log(numpy.add.reduce(numpy.exp(g), 1, keepdims=True))
        g -= total
        -numpy.add.reduce(g[rows, labels]) / 64
        numpy.exp(g, out=g)
        g[rows, labels] -= 1
        g /= 64
        for w, b in zip(reversed(weights), reversed(biases), strict=True):
            h = layers.pop()
            gw, gb = numpy.matmul(g.T, h), numpy.add.reduce(g, 0)
            if layers:
                g = numpy.matmul(g, w)
                g *= h > 0
            gw *= 1e-3
            gb *= 1e-3
            w -= gw
            b -= gb

    return step


@workload("MLP training step", "autograd")
def _(autograd):
    images, labels, weights, biases = _mlp_data()
    numpy = autograd.numpy
    rows = np.arange(64)

    def loss(parameters):
        h = images
        for i, (w, b) in enumerate(parameters):
            h = numpy.dot(h, w.T) + b
            if i < 2:
                h = numpy.maximum(h, 0)
        h = h - numpy.max(h, axis=1, keepdims=True)
        h = h - numpy.log(numpy.sum(numpy.exp(h), axis=1, keepdims=True))
        return -numpy.mean(h[rows, labels])

    gradient = autograd.grad(loss)
    parameters = list(zip(weights, biases, strict=True))

    def step():
        for (w, b), (gw, gb) in zip(parameters, gradient(parameters), strict=True):
            w -= 1e-3 * gw
            b -= 1e-3 * gb

    return step


@workload("MLP training step", "mygrad")
def _(mg):
    from mygrad.nnet.activations import relu
    from mygrad.nnet.losses import softmax_crossentropy

    images, labels, weights, biases = _mlp_data()
    parameters = [(mg.tensor(w), mg.tensor(b)) for w, b in zip(weights, biases, strict=True)]

    def step():
        h = images
        for i, (w, b) in enumerate(parameters):
            h = mg.matmul(h, w.T) + b
            if i < 2:
                h = relu(h)
        softmax_crossentropy(h, labels).backward()
        for pair in parameters:
            for p in pair:
                p.data -= 1e-3 * p.grad
                p.null_grad()

    return step


def _million():
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal(1_000_000).astype(np.float32) for _ in range(2))


@workload("a million elements", "torch")
def _(t):
    x, y = (t.tensor(v) for v in _million())
    x.requires_grad_()

    def step():
        t.relu(x * y + x).sum().backward()
        x.grad = None

    return step


@workload("a million elements", "numpy")
def _(numpy):
    x, y = _million()

    def step():
        product = x * y
        value = product + x
        result = numpy.maximum(value, 0)
        result.sum()
        gradient = np.ndarray(x.shape, x.dtype, numpy.ones(1, x.dtype), 0, (0,))
        gradient = gradient * (result > 0)
        return gradient + gradient * y

    return step


@workload("a million elements", "autograd")
def _(autograd):
    x, y = _million()
    numpy = autograd.numpy
    gradient = autograd.grad(lambda x: numpy.sum(numpy.maximum(x * y + x, 0)))
    return lambda: gradient(x)


def _attention_data():
    rng = np.random.default_rng(0)
    return [rng.standard_normal((8, 64, 32)).astype(np.float32) for _ in range(3)]


@workload("softmax attention", "torch")
def _(t):
    q, k, v = (t.tensor(a).requires_grad_() for a in _attention_data())

    def step():
        scores = t.softmax(q @ k.transpose(-2, -1) / 32**0.5, -1)
        (scores @ v).sum().backward()
        q.grad = k.grad = v.grad = None

    return step


@workload("softmax attention", "numpy")
def _(numpy):
    q, k, v = _attention_data()

    def step():
        scores = numpy.matmul(q, numpy.swapaxes(k, -2, -1))
        scores /= 32**0.5
        scores -= numpy.maximum.reduce(scores, -1, keepdims=True)
        numpy.exp(scores, out=scores)
        scores /= numpy.add.reduce(scores, -1, keepdims=True)
        out = numpy.matmul(scores, v)
        out.sum()
        g = numpy.ones_like(out)
        gv = numpy.matmul(numpy.swapaxes(scores, -2, -1), g)
        g = numpy.matmul(g, numpy.swapaxes(v, -2, -1))
        g -= numpy.add.reduce(g * scores, -1, keepdims=True)
        g *= scores
        g /= 32**0.5
        return numpy.matmul(g, k), numpy.matmul(numpy.swapaxes(g, -2, -1), q), gv

    return step


@workload("softmax attention", "autograd")
def _(autograd):
    numpy = autograd.numpy

    def loss(q, k, v):
        scores = numpy.matmul(q, numpy.swapaxes(k, -2, -1)) / 32**0.5
        scores = numpy.exp(scores - numpy.max(scores, axis=-1, keepdims=True))
        scores = scores / numpy.sum(scores, axis=-1, keepdims=True)
        return numpy.sum(numpy.matmul(scores, v))

    gradient = autograd.grad(loss, (0, 1, 2))
    data = _attention_data()
    return lambda: gradient(*data)


@workload("softmax attention", "mygrad")
def _(mg):
    from mygrad.nnet.activations import softmax

    q, k, v = (mg.tensor(a) for a in _attention_data())

    def step():
        scores = softmax(mg.matmul(q, mg.swapaxes(k, -2, -1)) / 32**0.5, axis=-1)
        mg.matmul(scores, v).sum().backward()
        for tensor in (q, k, v):
            tensor.null_grad()

    return step


def _image():
    rng = np.random.default_rng(0)
    images = rng.standard_normal((8, 16, 32, 32)).astype(np.float32)
    return images, (rng.standard_normal((16, 16, 3, 3)) / 12).astype(np.float32)


@workload("conv 3x3 and max-pool", "torch")
def _(t):
    x, w = (t.tensor(v).requires_grad_() for v in _image())
    F = t.nn.functional

    def step():
        F.max_pool2d(F.conv2d(x, w, padding=1), 2).sum().backward()
        x.grad = w.grad = None

    return step


@workload("conv 3x3 and max-pool", "mygrad")
def _(mg):
    from mygrad.nnet.layers import conv_nd, max_pool

    x, w = (mg.tensor(v) for v in _image())

    def step():
        max_pool(conv_nd(x, w, stride=1, padding=1), (2, 2), 2).sum().backward()
        x.null_grad()
        w.null_grad()

    return step


def _jacobian_data():
    """A network of three layers, one input vector, and the unit matrix's rows as seeds."""
    rng = np.random.default_rng(0)
    sizes = (256, 256, 256, 100)
    weights = _weights(rng, sizes)
    return rng.standard_normal(256).astype(np.float32), weights, np.eye(100, dtype=np.float32)


@workload("100 seeds through one retained graph", "torch")
def _(t):
    values, arrays, rows = _jacobian_data()
    x, weights = t.tensor(values).requires_grad_(), [t.tensor(w) for w in arrays]
    seeds = [t.tensor(row) for row in rows]

    def step():
        y = x
        for w in weights:
            y = t.tanh(w @ y)
        for seed in seeds:
            t.autograd.grad(y, x, seed, retain_graph=True)

    return step


@workload("100 seeds through one retained graph", "autograd")
def _(autograd):
    x, weights, rows = _jacobian_data()
    numpy = autograd.numpy

    def function(x):
        for w in weights:
            x = numpy.tanh(numpy.dot(w, x))
        return x

    def step():
        pull, _ = autograd.make_vjp(function)(x)
        for row in rows:
            pull(row)

    return step
