#!/usr/bin/env python3
"""How fast searches found what they found, from their databases: the best of the first 32 trials, the first choice and
the best of the model's first 8, each over the best of all.

    bench/convergence.py DATABASE ... [--trials 32] [--within 0.03]

Times of one search are ratios to an incumbent, which later ones replace: they are chained. A trial without a ratio (not
paired, dropped, failed) does not count.
"""

import argparse
import sqlite3
import statistics
import sys

TRIALS = """
select program.name, trace.task, measurement.status, measurement.ratio, measurement.predicted_ns,
       measurement.nest_hash, coalesce(pairs.beside, '')
from measurement
join trace on measurement.trace = trace.id
join task on trace.task = task.id
join binding on task.binding = binding.id
join program on binding.program = program.id
left join pairs on pairs.measurement = measurement.id
order by measurement.id
"""
OK = 0
FIRST_RANKED = 8


def searches(path):
    """(program, [(time over the first choice's, or None, predicted ns)]) of each task."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        rows = database.execute(TRIALS).fetchall()
    tasks = {}
    for name, task, status, ratio, predicted, nest, beside in rows:
        times, trials = tasks.setdefault((name, task), ({}, []))
        value = None
        if status == OK and ratio > 0 and beside in times:
            value = ratio * times[beside]
        elif status == OK and not times:
            value = 1.0
        if value:
            times[nest] = value
        trials.append((value, predicted))
    return [(name, trials) for (name, _), (_, trials) in tasks.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("databases", nargs="+")
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument("--within", type=float, default=0.03)
    options = parser.parse_args()
    late, first, ranked, count = [], [], [], 0
    print(f"{'program':<24}{'trials':>8}{'first':>8}{'ranked':>8}{'early':>8}")
    for path in options.databases:
        for name, trials in searches(path):
            good = [value for value, _ in trials if value]
            if not good or not trials[0][0]:
                continue
            best, count = min(good), count + 1
            early = best / min(value for value, _ in trials[: options.trials] if value)
            by_model = sorted((predicted, value) for value, predicted in trials if value)[:FIRST_RANKED]
            first.append(best / trials[0][0])
            ranked.append(best / min(value for _, value in by_model))
            late.append(1 / early - 1 > options.within)
            print(f"{name:<24}{len(trials):>8}{first[-1]:>8.2f}{ranked[-1]:>8.2f}{early:>8.2f}")
    if not count:
        print("no search has a first choice that was timed")
        return 1
    print(
        f"{count} searches, over the best: first choice {statistics.geometric_mean(first):.3f}, best of the model's "
        f"first {FIRST_RANKED} {statistics.geometric_mean(ranked):.3f}; {100 * (count - sum(late)) / count:.0f} % are "
        f"within {100 * options.within:.0f} % by trial {options.trials}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
