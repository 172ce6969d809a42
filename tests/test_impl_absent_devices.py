"""Accelerators that are not there: the answers and errors of a torch built for the CPU alone."""

from __future__ import annotations

import pytest

import impl
from impl import cuda

NO_CUDA = "Torch not compiled with CUDA enabled"
NO_ACCELERATOR = "Cannot access accelerator device when none is available."


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (cuda.current_device, AssertionError, NO_CUDA),
        (cuda.get_device_name, AssertionError, NO_CUDA),
        (cuda.get_device_properties, AssertionError, NO_CUDA),
        (cuda.current_stream, AssertionError, NO_CUDA),
        (cuda.init, AssertionError, NO_CUDA),
        (cuda.mem_get_info, AssertionError, NO_CUDA),
        (cuda.random.get_rng_state, AssertionError, NO_CUDA),
        (cuda.Stream, RuntimeError, "torch.cuda.Stream requires CUDA support"),
        (cuda.Event, RuntimeError, "Tried to instantiate dummy base class Event"),
        (cuda.CUDAGraph, RuntimeError, "Tried to instantiate dummy base class CUDAGraph"),
        (
            lambda: cuda.set_device(0),
            AttributeError,
            "module 'torch._C' has no attribute '_cuda_setDevice'",
        ),
        (
            cuda.reset_peak_memory_stats,
            AttributeError,
            "module 'torch._C' has no attribute '_cuda_resetPeakMemoryStats'",
        ),
        (
            lambda: cuda.device(0).__enter__(),
            RuntimeError,
            "PyTorch was compiled without CUDA support",
        ),
        (
            lambda: cuda.nvtx.range_push("step"),
            RuntimeError,
            "NVTX functions not installed. Are you sure you have a CUDA build?",
        ),
        (
            lambda: cuda.nvtx.range("step {}", 1)(lambda: 1)(),
            RuntimeError,
            "NVTX functions not installed. Are you sure you have a CUDA build?",
        ),
        (
            lambda: cuda.nvtx.range_start("step"),
            AttributeError,
            "'_NVTXStub' object has no attribute 'rangeStartA'",
        ),
        (
            lambda: cuda.FloatTensor(2),
            TypeError,
            "type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled.",
        ),
        (impl.accelerator.current_device_index, RuntimeError, NO_ACCELERATOR),
        (impl.accelerator.synchronize, RuntimeError, NO_ACCELERATOR),
        (impl.accelerator.current_stream, RuntimeError, NO_ACCELERATOR),
        (lambda: impl.accelerator.set_device_index("cuda:0"), RuntimeError, "Accelerator expected"),
        (lambda: impl.accelerator.device_index(0).__enter__(), RuntimeError, NO_ACCELERATOR),
    ],
)
def test_a_device_that_is_not_there_is_refused_in_torchs_words(call, kind, said):
    with pytest.raises(kind) as raised:
        call()
    assert str(raised.value) == said


def test_questions_have_the_answers_of_a_machine_without_an_accelerator():
    assert impl.accelerator.current_accelerator() is None
    assert not impl.accelerator.is_available() and impl.accelerator.device_count() == 0
    assert impl.get_device_module() is impl.cpu and impl.get_device_module("cuda:1") is cuda
    assert cuda.get_arch_list() == [] and cuda.get_rng_state_all() == []
    assert cuda.memory_reserved() == cuda.max_memory_allocated() == 0


def test_blocks_of_no_device_run():
    with cuda.device(None), cuda.device_of(impl.ones(1)), cuda.stream(None):
        assert impl.ones(1).device.type == "cpu"


def test_streams_and_events_are_those_of_the_cpu():
    """With an accelerator torch makes one of it; without one, of the CPU."""
    stream, event = impl.Stream(), impl.Event(enable_timing=True)
    assert repr(stream) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    assert event.query() and {stream: 1}[impl.Stream("cpu")] == 1
    with pytest.raises(RuntimeError, match="cpu backend doesn't support events"):
        stream.record_event(event)
    with pytest.raises(AssertionError, match=NO_CUDA):
        impl.Stream("cuda")
