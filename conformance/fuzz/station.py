"""The station: the end of a channel on a machine, which draws shares for a search elsewhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from conformance.fuzz.workers import SearchFailed, WorkerLost, Zygote
from conformance.fuzz.zygote import settings_from

HEARTBEAT = 5.0
"""Seconds between two signs of life while a request is served."""


def serve(channel: Any) -> None:
    """Start a zygote with the settings that come first, and serve requests until there are none.

    Messages are JSON, and None is a sign of life. The zygote ends with the connection, whatever it
    is about; and where it ends first, so does the connection.
    """
    data = json.loads(channel.receive())
    mine = Zygote(settings_from(data), data["corpus"], data["known"], data["themes"])
    try:
        _answer(channel, lambda: _greeting(mine))
        for message in channel:
            request = json.loads(message)
            _answer(channel, lambda: mine.answer(request))  # noqa: B023 (it is over by then)
    except OSError:
        return  # the connection is gone
    finally:
        mine.close()


def _greeting(mine: Zygote) -> dict[str, Any]:
    mine.start()
    return {"lines": mine.lines, "versions": mine.versions}


def _answer(channel: Any, work: Callable[[], dict[str, Any]]) -> None:
    """Send the result of the work, and signs of life until it is there; raises OSError."""
    done = threading.Event()
    result: dict[str, Any] = {}
    lost: list[WorkerLost] = []

    def run() -> None:
        try:
            result.update(work())
        except WorkerLost as error:
            lost.append(error)
        except SearchFailed as error:
            result["failed"] = str(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    while not done.wait(HEARTBEAT):
        channel.send(None)
    if lost:
        raise lost[0]
    channel.send(json.dumps(result))
