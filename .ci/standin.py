"""Two Python programs on the stand-in for the CUDA driver: tinygrad, which opens the driver and NVRTC by name, and numba, which
compiles Python to PTX and finds every function of the driver through cuGetProcAddress. Both compare with NumPy."""

import os
import sys

os.environ["DEV"] = "CUDA"

import numpy as np
from numba import cuda
from tinygrad import Device, Tensor


def with_tinygrad():
    rng = np.random.default_rng(1)
    a, b = rng.random((33, 40), np.float32), rng.random((40, 17), np.float32)
    x, w = rng.random((2, 3, 8, 8), np.float32), rng.random((4, 3, 3, 3), np.float32)
    ta, tb = Tensor(a), Tensor(b)
    assert Device.DEFAULT.startswith("CUDA"), Device.DEFAULT
    np.testing.assert_allclose((ta @ tb).numpy(), a @ b, rtol=1e-5)
    for name in ["exp", "sqrt", "sin", "log", "sigmoid", "tanh", "relu", "abs", "neg", "square"]:
        found = getattr(ta, name)().numpy()
        expected = {"sigmoid": lambda v: 1 / (1 + np.exp(-v)), "relu": lambda v: np.maximum(v, 0), "neg": np.negative}
        np.testing.assert_allclose(found, expected.get(name, getattr(np, name, None))(a), rtol=1e-4, atol=1e-6)
    for name in ["sum", "max", "min", "mean"]:
        for axis in [None, 0, 1]:
            np.testing.assert_allclose(getattr(ta, name)(axis=axis).numpy(), getattr(np, name)(a, axis=axis), rtol=1e-5)
    np.testing.assert_array_equal(ta.argmax(axis=1).numpy(), a.argmax(axis=1))
    np.testing.assert_allclose(ta.sort(dim=1)[0].numpy(), np.sort(a, axis=1))
    np.testing.assert_allclose(ta.cumsum(axis=1).numpy(), a.cumsum(axis=1), rtol=1e-5)
    # A step of training: the loss becomes smaller.
    weights = Tensor(w)
    before = (Tensor(x).conv2d(weights).relu() - 1).square().mean()
    (gradient,) = before.gradient(weights)
    after = (Tensor(x).conv2d(weights - 0.01 * gradient).relu() - 1).square().mean()
    assert after.item() < before.item()


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


@cuda.jit
def total(x, out):
    part = cuda.shared.array(128, np.float32)
    i = cuda.grid(1)
    part[cuda.threadIdx.x] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 64
    while step > 0:
        if cuda.threadIdx.x < step:
            part[cuda.threadIdx.x] += part[cuda.threadIdx.x + step]
        cuda.syncthreads()
        step //= 2
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, part[0])


def with_numba():
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    dx, dy, out = cuda.to_device(x), cuda.to_device(y), cuda.to_device(np.zeros(1, np.float32))
    axpy[8, 128](np.float32(2), dx, dy)
    np.testing.assert_allclose(dy.copy_to_host(), 2 * x + y)
    total[8, 128](dx, out)
    assert out.copy_to_host()[0] == x.sum()


# Each in a process of its own, because tinygrad makes a context in which numba does not work.
{"tinygrad": with_tinygrad, "numba": with_numba}[sys.argv[1]]()
print(f"{sys.argv[1]} is right")
