"""Evil programs from a seed: each parses, most pass the checks, and all of them hurt: sizes, divisions, cases,
distances, depths, numbers of things."""

import random

SIZES = [1, 2, 3, 5, 7, 12, 16, 33, 64, 100, 257, 1000, 4096, 65537, 1 << 20, (1 << 31) - 1, 1 << 40]
SMALL = SIZES[:8]
PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 97, 1009]
LETTERS = "abcdefghjkl"


class Writer:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.evil = self.rng.choice(
            [
                "divisions",
                "cases",
                "sizes",
                "distances",
                "many",
                "reductions",
                "recurrences",
                "parameters",
                "everything",
            ]
        )
        self.tensors = []  # name, extents as texts

    def is_evil_in(self, what):
        return self.evil in (what, "everything")

    def parameters(self):
        count = self.rng.randint(12, 50) if self.is_evil_in("parameters") else self.rng.randint(1, 3)
        sizes = SIZES if self.is_evil_in("sizes") else SMALL
        self.names = [f"P{k}" for k in range(count)]
        values = [self.rng.choice(sizes) for _ in self.names]
        text = f"program evil({', '.join(f'{n} = {v}' for n, v in zip(self.names, values))})"
        if self.is_evil_in("parameters") and self.rng.random() < 0.5:
            name, value = self.rng.choice(list(zip(self.names, values)))
            prime = self.rng.choice(PRIMES)
            text += f" assume {name} % {prime} == {value % prime}"
        return text

    def extent(self):
        name = self.rng.choice(self.names)
        draw = self.rng.random()
        if draw < 0.1:
            return f"{name} // {self.rng.choice(PRIMES)} + 1"
        if draw < 0.2:
            return f"{name} + {self.rng.choice(self.names)}"
        return f"{self.rng.choice([2, 3, 64, 1 << 20])} * {name}" if draw < 0.3 and self.is_evil_in("sizes") else name

    def affine(self, indices, depth):
        """Any affine form of the indices, floors and remainders nested as deep as the mood is."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.3:
            form = rng.choice(indices or self.names)
            return (
                f"{rng.choice([-3, -1, 2, 5, 1 << 20 if self.is_evil_in('sizes') else 4])} * {form}"
                if rng.random() < 0.3
                else form
            )
        inner = self.affine(indices, depth - 1)
        kind = rng.randrange(5)
        if kind == 0:
            return f"({inner}) // {rng.choice(PRIMES)}"
        if kind == 1:
            return f"({inner}) % {rng.choice(PRIMES)}"
        if kind == 2:
            return f"({inner} + {self.affine(indices, depth - 1)})"
        return f"({inner} - {rng.randint(0, 9)})" if kind == 3 else f"({inner} + {rng.choice(self.names)})"

    def depth(self):
        return self.rng.randint(2, 4) if self.is_evil_in("divisions") else 1

    def condition(self, indices):
        terms = self.rng.randint(3, 20) if self.is_evil_in("cases") else self.rng.randint(1, 2)
        relations = ["==", "<", "<=", ">", ">=", "!="] if terms < 6 else ["==", "<", ">="]
        term = (
            lambda: f"{self.affine(indices, self.depth() - 1)} {self.rng.choice(relations)} {self.affine(indices, self.depth() - 1)}"
        )
        text = term()
        for _ in range(terms - 1):
            text += f" {self.rng.choice(['and', 'or', 'or'])} {term()}"
        return f"not ({text})" if self.rng.random() < 0.1 else text

    def read(self, indices, tensor=None):
        """Kept inside by a clamp, a remainder or a guard; now and then by nothing."""
        name, extents = tensor or self.rng.choice(self.tensors)
        subscripts, guards = [], []
        for extent in extents:
            form = self.affine(indices, self.depth())
            draw = self.rng.random()
            if draw < 0.4:
                subscripts.append(f"clamp({form}, 0, {extent} - 1)")
            else:
                subscripts.append(form)
                if draw < 0.95:
                    guards.append(f"0 <= {form} and {form} < {extent}")
        text = name + (f"[{', '.join(subscripts)}]" if subscripts else "")
        return f"({text} where {' and '.join(guards)} else 1)" if guards else text

    def reduction(self, indices):
        rng = self.rng
        count = rng.randint(3, 6) if self.is_evil_in("reductions") else rng.randint(1, 2)
        new, ranges = [], []
        for k in range(count):
            name = f"r{k}"
            scope = indices + new
            draw = rng.random()
            upper = (
                self.extent()
                if draw < 0.6 or not scope
                else f"{rng.choice(scope)} + 1" if draw < 0.9 else f"{rng.choice(scope)}..2 * {rng.choice(scope)} + 1"
            )
            ranges.append(f"{name}: {upper}")
            new.append(name)
        where = f" where {self.condition(indices + new)}" if rng.random() < 0.4 else ""
        return f"{rng.choice(['sum', 'sum', 'max', 'min'])}[{', '.join(ranges)}{where}] {self.read(indices + new)}"

    def value(self, indices):
        terms = (
            self.rng.randint(10, 60) if self.is_evil_in("many") and self.rng.random() < 0.2 else self.rng.randint(1, 3)
        )
        parts = [
            f"({self.reduction(indices)})" if self.rng.random() < 0.3 else self.read(indices) for _ in range(terms)
        ]
        text = " + ".join(parts)
        return f"({text}) where {self.condition(indices)} else 2" if self.rng.random() < 0.3 else text

    def earlier_self(self, name, indices):
        """Reads of what lies before in some order; sometimes of what does not."""
        out = []
        for _ in range(self.rng.randint(1, 8 if self.is_evil_in("distances") else 3)):
            far = 1 << 20 if self.is_evil_in("distances") and self.rng.random() < 0.3 else 3
            steps = [self.rng.randint(-far, far) for _ in indices]
            lead = self.rng.randrange(len(indices))
            steps[:lead] = [0] * lead
            if self.rng.random() < 0.95:
                steps[lead] = -max(1, abs(steps[lead]))
            places = [f"{i} + {s}" if s >= 0 else f"{i} - {-s}" for i, s in zip(indices, steps)]
            if self.rng.random() < 0.15:
                places[lead] = f"{indices[lead]} // 2 - 1"
            out.append((places, f"{name}[{', '.join(places)}]"))
        return out

    def equation(self, number, last):
        rng = self.rng
        name = f"T{number}"
        rank = rng.randint(1, 7) if self.is_evil_in("sizes") and rng.random() < 0.2 else rng.randint(1, 3)
        extents = [self.extent() for _ in range(rank)]
        indices = list(LETTERS[:rank])
        text = self.value(indices)
        if self.is_evil_in("recurrences") or self.is_evil_in("distances") or rng.random() < 0.2:
            for places, read in self.earlier_self(name, indices):
                guard = " and ".join(f"0 <= {p} and {p} < {e}" for p, e in zip(places, extents))
                text += f" + ({read} where {guard} else 1)"
        slots = ", ".join(f"{i}: {e}" for i, e in zip(indices, extents))
        self.tensors.append((name, extents))
        return f"{'out' if last or rng.random() < 0.1 else 'let'} {name}[{slots}]: i32 = {text}"

    def program(self):
        lines = [self.parameters()]
        for k in range(self.rng.randint(1, 3)):
            extents = [self.extent() for _ in range(self.rng.randint(1, 3))]
            self.tensors.append((f"X{k}", extents))
            lines.append(f"in X{k}: i32[{', '.join(extents)}]")
        equations = self.rng.choice([30, 80, 200]) if self.evil == "many" else self.rng.randint(1, 5)
        lines += [self.equation(k, k + 1 == equations) for k in range(equations)]
        return "\n".join(lines) + "\n"


def evil_program(seed):
    return Writer(seed).program()
