#!/usr/bin/env python3
"""Programs that are spelled differently and mean the same, side by side: each file here holds the spellings of one
computation. Their kernels should take the same time, since spelling should not decide.

    bench/spellings/compare.py [--polyweft build/dev/src/cli/polyweft] [--tune 10s] [--only conv softmax ..]
                               [--rounds 3] [-p NAME=VALUE ..]

A row has the first choice's time and the ratio to the fastest spelling of the file. With --tune, also the time of what
a search of that length finds, in a database of its own. Times are medians of `polyweft bench`; rounds go through all
spellings of a file, and the least of a spelling's medians counts.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def programs_of(path):
    with open(path) as f:
        return re.findall(r'^program (\w+)', f.read(), re.M)


def result_of(command):
    ran = subprocess.run(command, capture_output=True, text=True)
    for line in ran.stdout.splitlines():
        event = json.loads(line)
        if event['event'] == 'result':
            return event
    raise SystemExit(f"{' '.join(command)}\n{ran.stdout}{ran.stderr}")


class Side:
    """What is compared: first choices, or what searches found."""

    def __init__(self, options, database):
        self.options, self.database = options, database

    def bench(self, program):
        command = [self.options.polyweft, 'bench', '--json', '--milliseconds', str(self.options.milliseconds)]
        if self.database:
            command += ['--database', self.database]
        for binding in self.options.parameter:
            command += ['-p', binding]
        return result_of(command + [program])['median_ns']


def fastest(side, programs, rounds):
    out = {p: float('inf') for p in programs}
    for _ in range(rounds):
        for p in programs:
            out[p] = min(out[p], side.bench(p))
    return out


def tune(options, database, program):
    command = [options.polyweft, 'tune', '--json', '--budget', options.tune, '--database', database]
    for binding in options.parameter:
        command += ['-p', binding]
    result_of(command + [program])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--polyweft', default=os.path.join(ROOT, 'build/dev/src/cli/polyweft'))
    parser.add_argument('--tune', default='')
    parser.add_argument('--only', nargs='*', default=[])
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--milliseconds', type=int, default=200)
    parser.add_argument('-p', '--parameter', action='append', default=[])
    options = parser.parse_args()
    for path in sorted(glob.glob(os.path.join(HERE, '*.weft'))):
        family = os.path.basename(path)[: -len('.weft')]
        if options.only and family not in options.only:
            continue
        programs = [f'{path}:{name}' for name in programs_of(path)]
        first = fastest(Side(options, ''), programs, options.rounds)
        with tempfile.TemporaryDirectory() as folder:
            tuned = {}
            if options.tune:
                database = os.path.join(folder, 'spellings.db')
                for p in programs:
                    tune(options, database, p)
                tuned = fastest(Side(options, database), programs, options.rounds)
        print(f'{family:32} {"first us":>10} {"ratio":>6} {"tuned us":>10} {"ratio":>6}')
        for p in programs:
            row = f'  {p.split(":")[-1]:30}'
            row += f' {first[p] / 1e3:10.1f} {first[p] / min(first.values()):6.2f}'
            if tuned:
                row += f' {tuned[p] / 1e3:10.1f} {tuned[p] / min(tuned.values()):6.2f}'
            print(row, flush=True)


if __name__ == '__main__':
    main()
