"""Programs whose domains are residue classes: colours of grids in one to three dimensions, with borders or guarded
neighbours, several steps in time, results on coarser grids. Each value of U[t] is read by later colours of the same
step, so that the classes need an order. Sizes: N (a side) and T (steps)."""

import random


def colour_of(r, names, weights):
    if r.random() < 0.2:
        return r.choice(names)  # rows, planes
    return " + ".join(n if weights[n] == 1 else f"{weights[n]} * {n}" for n in names)


def neighbours(names, colour, weights, mine, colours, done):
    """(conditions that it exists, read) of each neighbour; of a colour that is done, its new value."""
    for n in names:
        for step in (-1, 1):
            weight = weights[n] if colour not in names else int(n == colour)
            time = "t" if (mine + step * weight) % colours in done else "t-1"
            place = ", ".join(f"{m}{step:+d}" if m == n else m for m in names)
            yield f"{n}{step:+d} >= 0 and {n}{step:+d} < N", f"U[{time}, {place}]"


def program(seed):
    r = random.Random(seed)
    names = "ijk"[: r.choice([1, 2, 3, 3])]
    size = {1: r.randint(50, 4000), 2: r.randint(20, 300), 3: r.randint(8, 64)}[len(names)]
    colours = r.choice([2, 2, 2, 3, 4])
    weights = {n: r.choice([1, 1, 1, 2]) for n in names}
    colour = colour_of(r, names, weights)
    order = r.sample(range(colours), colours)
    has_border = r.random() < 0.8
    inner = ", ".join(f"{n}: 1..N-1" if has_border else f"{n}: N" for n in names)
    whole, here = ", ".join(f"{n}: N" for n in names), ", ".join(names)
    lines = [
        f"program residues{seed}(T = {r.randint(1, 12)}, N = {size})",
        f"in A: f64[{', '.join('N' for _ in names)}]",
        f"let U[0, {whole}] = A[{here}]",
    ]
    for k, mine in enumerate(order):
        terms = [
            read if has_border else f"({read} where {exists} else 0.0)"
            for exists, read in neighbours(names, colour, weights, mine, colours, order[:k])
        ]
        lines.append(f"let U[t: 1..T+1, {inner}] where ({colour}) % {colours} == {mine} =")
        lines.append(f"  ({' + '.join(terms)}) / {len(terms)}")
    if has_border:
        edge = " or ".join(f"{n} == 0 or {n} == N-1" for n in names)
        lines.append(f"let U[t: 1..T+1, {whole}] where {edge} = U[t-1, {here}]")
    stride = r.choice([1, 1, 2, 3])
    coarse = ", ".join(f"{n}: N // {stride}" for n in names)
    lines.append(f"out R[{coarse}] = U[T, {', '.join(f'{stride} * {n}' for n in names)}]")
    return "\n".join(lines) + "\n"
