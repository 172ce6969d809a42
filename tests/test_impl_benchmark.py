"""`torch.utils.benchmark`: its timed statements, and the texts of measurements."""

from __future__ import annotations

import pytest

from impl.utils.benchmark import Compare, Measurement, TaskSpec, Timer, select_unit, trim_sigfig


def test_a_statement_is_timed_with_torch_at_hand():
    found = Timer("torch.ones(n)", globals={"n": 2}, num_threads=2).timeit(10)
    assert found.number_per_run == 10 and len(found.raw_times) == 1 and found.median > 0
    lines = repr(found).splitlines()
    assert lines[0].startswith("<impl.utils.benchmark.measurement.Measurement object at 0x")
    assert lines[1] == "torch.ones(n)" and lines[3] == "  1 measurement, 10 runs , 2 threads"


def test_blocks_take_as_long_as_is_asked():
    calls: list[float] = []
    timer = Timer("x += 1", "x = 0", label="sum", sub_label="one", description="note")
    found = timer.blocked_autorange(lambda number, time: calls.append(time), min_run_time=0.02)
    assert calls == found.raw_times and sum(calls) >= 0.02
    assert found.task_spec.summarize() == "sum: one\nnote\nsetup: x = 0"
    assert timer.adaptive_autorange(threshold=1e9, min_run_time=0.01).times


def test_a_measurement_shows_its_spread():
    spec = TaskSpec("f()", "pass")
    found = Measurement(2, [0.002, 0.004, 0.006, 0.008], spec)
    assert (found.mean, found.median, found.iqr) == pytest.approx((0.0025, 0.0025, 0.0015))
    assert repr(found).partition("\n")[2] == (
        "f()\n"
        "  Median: 2.50 ms\n"
        "  IQR:    1.50 ms (1.75 to 3.25)\n"
        "  4 measurements, 2 runs per measurement, 1 thread\n"
        "  WARNING: Interquartile range is 60.0% of the median measurement.\n"
        "           This suggests significant environmental influence."
    )
    assert found.has_warnings and found.significant_figures == 1
    assert Measurement.merge([found, found])[0].times == found.times * 2
    assert [select_unit(t)[0] for t in (3e-9, 2e-6, 5e-3, 2.0, 90.0)] == [
        "ns",
        "us",
        "ms",
        "s",
        "s",
    ]
    assert trim_sigfig(1234.0, 2) == 1200.0


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"stmt": len}, ValueError),
        ({"language": "fortran"}, ValueError),
        ({"global_setup": "x"}, ValueError),
        ({"language": "c++"}, NotImplementedError),
    ],
)
def test_other_statements_are_refused(options, kind):
    with pytest.raises(kind):
        Timer(**options)


def test_measurements_are_compared_in_a_table():
    found = [
        Measurement(1, [1e-4 * k] * 4, TaskSpec("f(x)", "", "", "label", sub, size, None, threads))
        for k, (sub, size, threads) in enumerate(
            [("x", "[1]", 1), ("x", "[10]", 1), ("long", "[1]", 1), ("x", "[10]", 4)], start=1
        )
    ]
    compare = Compare(found)
    compare.trim_significant_figures()
    assert str(compare) == (
        "[---------- label ----------]\n"
        "            |   [1]   |  [10]\n"
        "1 threads: ------------------\n"
        "      x     |  100.0  |  200 \n"
        "      long  |  300.0  |      \n"
        "4 threads: ------------------\n"
        "      x     |         |  400 \n"
        "\nTimes are in microseconds (us).\n"
    )
    compare.colorize()
    assert "\033[92m\033[1m100.0" in str(compare)
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        Compare([3])
