"""Questions about devices that a program asks before it uses the CPU, printed."""

import warnings

import torch

warnings.simplefilter("ignore")


def tried(f):
    try:
        print(f())
    except (Exception, AssertionError) as e:
        print(type(e).__name__, str(e)[:200])


device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
print(device, torch.accelerator.device_count(), torch.accelerator.memory_stats())
print(torch.accelerator.memory_allocated(), torch.accelerator.max_memory_reserved(0))
tried(torch.accelerator.empty_cache)
tried(lambda: torch.accelerator.set_device_index("cuda" if False else None))
tried(lambda: torch.accelerator.device_index(None).__enter__())
for kind in ("cuda", "mps", "xpu", "mtia", "cpu"):
    module = torch.get_device_module(kind)
    print(kind, module.is_available(), module.device_count(), module.manual_seed(0)
          if kind != "cpu" else module.current_device())  # fmt: skip
for kind in (3, "meta", "privateuseone", torch.device("xla")):
    tried(lambda: torch.get_device_module(kind))
for call in (
    *(torch.mps.synchronize, torch.mps.empty_cache, torch.mps.current_allocated_memory),
    *(torch.mps.get_rng_state, torch.mps.seed, torch.mps.current_stream, torch.mps.Stream),
    lambda: torch.mps.set_per_process_memory_fraction(3.0),
    lambda: torch.mps.set_per_process_memory_fraction(1),
    *(torch.xpu.synchronize, torch.xpu.empty_cache, torch.xpu.current_device, torch.xpu.init),
    *(torch.xpu.get_device_name, torch.xpu.memory_stats, torch.xpu.max_memory_allocated),
    *(torch.xpu.Stream, torch.xpu.Event, torch.xpu.get_rng_state_all, torch.xpu.get_arch_list),
    *(torch.xpu.reset_peak_memory_stats, torch.xpu.is_bf16_supported, torch.xpu.seed_all),
    lambda: torch.xpu.Stream("cpu"),
    lambda: torch.xpu.device(0).__enter__(),
    lambda: torch.xpu.stream(None).__enter__(),
    lambda: torch.xpu.set_device(-1),
    *(torch.mtia.init, torch.mtia.synchronize, torch.mtia.current_device, torch.mtia.empty_cache),
    *(torch.mtia.memory_stats, torch.mtia.is_bf16_supported, torch.mtia.snapshot),
    *(torch.cuda.memory_stats, torch.cuda.max_memory_reserved, torch.cuda.memory_cached),
    *(torch.cuda.get_rng_state_all, torch.cuda.is_initialized, torch.cuda.seed_all),
    lambda: torch.cuda.set_rng_state(torch.ones(2)),
    lambda: torch.cuda.set_device(-1),
    lambda: torch.cuda.set_device("cpu"),
    lambda: torch.cuda.device("cpu"),
    lambda: torch.cuda.stream(None).__enter__(),
    lambda: torch.cuda.device_of(torch.ones(1)).__enter__(),
    torch.cuda.utilization,
):
    tried(call)
for kind in (torch.cuda.CudaError, torch.OutOfMemoryError, torch.AcceleratorError):
    print(kind.__name__, kind.__mro__[1:])
print(torch.cuda.OutOfMemoryError is torch.OutOfMemoryError, torch.cuda.default_generators)
print(isinstance(torch.ones(1), torch.cuda.FloatTensor), torch.cuda.FloatTensor)

stream, event = torch.Stream("cpu"), torch.Event("cpu")
print(stream, event, stream == torch.Stream(device="cpu", priority=1), torch.Event("meta"))
print(stream.device, stream.device_type, stream.device_index, stream.stream_id, stream.query())
print(event.query(), event.wait(), event.synchronize(), event.device, event.event_id)
for call in (
    stream.record_event,
    event.record,
    event.ipc_handle,
    lambda: stream.wait_event(event),
    lambda: stream.wait_stream(stream),
    lambda: stream.native_handle,
    lambda: event.elapsed_time(event),
    lambda: torch.Stream("xpu"),
    lambda: torch.Stream(priority=2.5, device="cpu"),
    lambda: torch.Event(enable_timing=3, device="cpu"),
):
    tried(call)
with torch.cpu.stream(torch.cpu.Stream()), stream:
    print(torch.cpu.current_stream() is torch.cpu.current_stream(), torch.cpu.Event().query())
print(torch.cpu.synchronize(), torch.cpu.set_device(0), torch.cpu.is_initialized())
with torch.cpu.amp.autocast():
    print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
