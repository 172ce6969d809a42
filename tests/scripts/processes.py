"""Processes of a script: their tensors, results and failures, printed."""

import os

import torch
import torch.multiprocessing as mp


def double(rank, queue, given):
    queue.put((rank, (given * (rank + 2)).tolist()))


def fail(rank, how):
    if rank == 1:
        if how == "exit":
            os._exit(3)
        raise ValueError(f"failed with {torch.ones(2)}")


def send(queue, value):
    queue.put((value + 1).tolist())


def tried(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).strip().splitlines()[0], "|", str(e).strip()[-40:])


if __name__ == "__main__":
    for method in ("spawn", "fork"):
        queue = mp.get_context(method).SimpleQueue()
        given = torch.arange(3.0)
        mp.start_processes(double, (queue, given), nprocs=2, start_method=method)
        print(sorted(queue.get() for _ in range(2)))
    tried(lambda: mp.spawn(fail, ("raise",), nprocs=2))
    tried(lambda: mp.start_processes(fail, ("exit",), nprocs=2, start_method="fork"))
    context = mp.start_processes(fail, ("none",), nprocs=1, join=False, start_method="fork")
    print(type(context).__name__, len(context.pids()), context.join(), context.join())
    queue = mp.Queue()
    process = mp.Process(target=send, args=(queue, torch.ones(2)))
    process.start()
    print(queue.get(), process.join(), process.exitcode)
    tried(lambda: mp.SimpleQueue().put(torch.ones(1, requires_grad=True) * 2))
    print(mp.get_sharing_strategy(), sorted(mp.get_all_sharing_strategies()))
    tried(lambda: mp.set_sharing_strategy("file_system"))
