"""Modes of impl, beyond the chapter: the fast path is restored after them, and threads."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable

import pytest

import impl as torch
from impl.core.state import STATE
from impl.utils.checkpoint import checkpoint

BLOCKING: list[Callable] = [
    torch.inference_mode,
    lambda: torch.autograd.set_detect_anomaly(True),
    lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
]


@pytest.mark.parametrize("mode", BLOCKING)
def test_operators_take_the_slow_path_inside_a_blocking_mode_and_only_there(mode):
    with contextlib.suppress(ZeroDivisionError), mode():
        assert STATE.fast_path is None
        raise ZeroDivisionError
    assert STATE.fast_path == 1
    with torch.no_grad(), mode():
        assert STATE.fast_path is None
    with torch.no_grad():
        assert STATE.fast_path == 0
    assert STATE.fast_path == 1


def test_a_checkpoint_leaves_no_mode_behind():
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False)
    assert STATE.fast_path == 1
    y.sum().backward()
    assert STATE.fast_path == 1
    assert STATE.saved_hooks == ()
    assert STATE.graph_task is None


def test_a_failed_backward_pass_leaves_no_mode_behind():
    x = torch.tensor([-1.0], requires_grad=True)
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
        pytest.raises(RuntimeError, match="nan values"),
    ):
        x.sqrt().backward()
    assert STATE.current_node is None
    assert STATE.graph_task is None
    assert STATE.accumulates_all


def _in_a_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_anomaly_mode_holds_in_threads_started_inside_it():
    def traceback():
        x = torch.ones(2, requires_grad=True)
        return x.exp().grad_fn.metadata.get("traceback_")

    with torch.autograd.set_detect_anomaly(True):
        frames = _in_a_thread(traceback)
    assert "return x.exp()" in frames[-1]
    assert _in_a_thread(traceback) is None


def test_threads_record_and_differentiate_apart():
    x = torch.ones(3, requires_grad=True)
    seen = []

    def work(factor):
        y = (x * factor).sum()
        seen.append(torch.autograd.grad(y, x)[0].tolist())

    threads = [threading.Thread(target=work, args=(float(n),)) for n in range(4)]
    with torch.no_grad():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(seen) == [[float(n)] * 3 for n in range(4)]


def test_a_division_by_zero_is_no_event_in_any_thread():
    def quotient():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return (torch.ones(2) / torch.zeros(2)).tolist()

    assert quotient() == _in_a_thread(quotient) == [float("inf")] * 2


def test_frames_of_the_package_do_not_end_a_traceback():
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = torch.einsum("ij,ij->i", x, x)
    assert "torch.einsum" in y.grad_fn.metadata["traceback_"][-1]
