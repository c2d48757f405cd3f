"""What each example computes, again, by numpy in f64: small sizes, inputs from a generator, outputs in program
order."""

import numpy as np

CASES = {}  # file -> (sizes, inputs(random), outputs(inputs))


def example(file, **sizes):
    def add(functions):
        CASES[file] = (sizes, *functions(**sizes))
        return functions

    return add


def uniform(random, *shape, type=np.float32):
    return random.uniform(-1, 1, shape).astype(type)


def wide(array):
    return array.astype(np.float64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@example("01_gemm.weft", M=19, N=35, K=13)
def gemm(M, N, K):
    return lambda r: {"A": uniform(r, M, K), "B": uniform(r, K, N)}, lambda A, B: {"C": wide(A) @ wide(B)}


@example("02_batched_gemm.weft", B=3, M=10, N=33, K=9)
def batched_gemm(B, M, N, K):
    return (
        lambda r: {"X": uniform(r, B, M, K), "W": uniform(r, B, K, N), "alpha": uniform(r)},
        lambda X, W, alpha: {"Y": wide(alpha) * np.einsum("bik,bkj->bij", wide(X), wide(W))},
    )


@example("03_conv2d_bias_relu.weft", N=2, H=7, W=9, C=5, F=18)
def conv2d(N, H, W, C, F):
    def compute(X, K, b):
        padded = np.pad(wide(X), ((0, 0), (1, 1), (1, 1), (0, 0)))
        total = sum(
            np.einsum("nyxc,cf->nyxf", padded[:, r : r + H, s : s + W], wide(K)[r, s])
            for r in range(3)
            for s in range(3)
        )
        return {"Z": np.maximum(total + wide(b), 0)}

    return lambda r: {"X": uniform(r, N, H, W, C), "K": uniform(r, 3, 3, C, F), "b": uniform(r, F)}, compute


@example("04_depthwise_pointwise.weft", H=6, W=8, C=5, F=17)
def depthwise_pointwise(H, W, C, F):
    def compute(X, D, K):
        padded = np.pad(wide(X), ((1, 1), (1, 1), (0, 0)))
        depth = sum(padded[r : r + H, s : s + W] * wide(D)[r, s] for r in range(3) for s in range(3))
        return {"Y": depth @ wide(K)}

    return lambda r: {"X": uniform(r, H, W, C), "D": uniform(r, 3, 3, C), "K": uniform(r, C, F)}, compute


@example("05_softmax.weft", M=7, N=37)
def softmax(M, N):
    def compute(X):
        e = np.exp(wide(X) - wide(X).max(axis=1, keepdims=True))
        return {"Y": e / e.sum(axis=1, keepdims=True)}

    return lambda r: {"X": uniform(r, M, N) * 8}, compute


@example("06_layernorm.weft", M=6, N=41)
def layernorm(M, N):
    def compute(X, g, b):
        centred = wide(X) - wide(X).mean(axis=1, keepdims=True)
        return {"Y": centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * wide(g) + wide(b)}

    return lambda r: {"X": uniform(r, M, N), "g": uniform(r, N), "b": uniform(r, N)}, compute


@example("07_attention.weft", H=4, G=2, S=11, D=8)
def attention(H, G, S, D):
    def compute(Q, K, V, scale):
        keys, values = np.repeat(wide(K), 2, axis=0), np.repeat(wide(V), 2, axis=0)
        a = np.where(np.tri(S, dtype=bool), wide(scale) * np.einsum("hid,hjd->hij", wide(Q), keys), -np.inf)
        p = np.exp(a - a.max(axis=2, keepdims=True))
        return {"O": np.einsum("hij,hjd->hid", p / p.sum(axis=2, keepdims=True), values)}

    return (
        lambda r: {"Q": uniform(r, H, S, D), "K": uniform(r, G, S, D), "V": uniform(r, G, S, D), "scale": uniform(r)},
        compute,
    )


@example("08_jacobi2d.weft", T=5, N=12)
def jacobi2d(T, N):
    def compute(A0):
        a = A0.copy()
        for _ in range(T):
            b = a.copy()
            b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])
            a = b
        return {"R": a}

    return lambda r: {"A0": uniform(r, N, N, type=np.float64)}, compute


@example("09_lstm.weft", L=2, T=4, H=9)
def lstm(L, T, H):
    def compute(X, W, U, b):
        below = wide(X)
        for layer in range(L):
            h, c, rows = np.zeros(H), np.zeros(H), []
            for x in below:
                z = wide(b)[layer] + wide(W)[layer] @ x + wide(U)[layer] @ h
                c = sigmoid(z[1]) * c + sigmoid(z[0]) * np.tanh(z[2])
                h = sigmoid(z[3]) * np.tanh(c)
                rows.append(h)
            below = np.array(rows)
        return {"Y": below}

    return (
        lambda r: {
            "X": uniform(r, T, H),
            "W": uniform(r, L, 4, H, H),
            "U": uniform(r, L, 4, H, H),
            "b": uniform(r, L, 4, H),
        },
        compute,
    )


@example("10_cholesky.weft", N=14)
def cholesky(N):
    def inputs(r):
        m = uniform(r, N, N, type=np.float64)
        return {"A": m @ m.T + N * np.eye(N)}

    return inputs, lambda A: {"R": np.where(np.tri(N, dtype=bool), np.linalg.cholesky(A), np.nan)}  # NaN: not written


@example("11_floyd_warshall.weft", N=15)
def floyd_warshall(N):
    def compute(W):
        d = W.copy()
        for k in range(N):
            d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
        return {"R": d}

    return lambda r: {"W": r.integers(1, 100, (N, N), dtype=np.int32)}, compute


@example("12_smith_waterman.weft", M=13, N=17, V=4)
def smith_waterman(M, N, V):
    def compute(a, b, score):
        h = np.zeros((M + 1, N + 1), np.int32)
        for i in range(1, M + 1):
            for j in range(1, N + 1):
                h[i, j] = max(0, h[i - 1, j - 1] + score[a[i - 1], b[j - 1]], max(h[i - 1, j], h[i, j - 1]) - 2)
        return {"best": h.max()}

    return (
        lambda r: {
            "a": r.integers(0, V, M, dtype=np.uint8),
            "b": r.integers(0, V, N, dtype=np.uint8),
            "score": r.integers(-4, 6, (V, V), dtype=np.int32),
        },
        compute,
    )


@example("13_unsharp.weft", H=9, W=21)
def unsharp(H, W):
    w = np.array([0.004433048, 0.054005582, 0.242036229, 0.399050280, 0.242036229, 0.054005582, 0.004433048])

    def compute(X):
        padded = np.pad(wide(X), 3, mode="edge")
        down = sum(padded[r : r + H] * w[r] for r in range(7))
        return {"Y": 4 * wide(X) - 3 * sum(down[:, s : s + W] * w[s] for s in range(7))}

    return lambda r: {"X": uniform(r, H, W)}, compute


@example("14_quantized_gemm.weft", M=9, N=34, K=12)
def quantized_gemm(M, N, K):
    def compute(A, B, za, mult, zc):
        c = (A.astype(np.int32) - za) @ B.astype(np.int32)
        scaled = c.astype(np.float32) * mult  # ties to even, as numpy's rint
        return {"Q": np.clip(np.rint(scaled).astype(np.int32) + zc, 0, 255).astype(np.uint8)}

    return (
        lambda r: {
            "A": r.integers(0, 256, (M, K), dtype=np.uint8),
            "B": r.integers(-128, 128, (K, N), dtype=np.int8),
            "za": np.array(121, np.int32),
            "mult": r.uniform(0.001, 0.004, N).astype(np.float32),
            "zc": np.array(7, np.int32),
        },
        compute,
    )


@example("15_harris.weft", H=9, W=37)
def harris(H, W):
    def compute(X):
        at = lambda r, s: wide(X)[r : r + H + 2, s : s + W + 2]
        gx = (at(0, 2) - at(0, 0)) + 2 * (at(1, 2) - at(1, 0)) + (at(2, 2) - at(2, 0))
        gy = (at(2, 0) - at(0, 0)) + 2 * (at(2, 1) - at(0, 1)) + (at(2, 2) - at(0, 2))
        xx, xy, yy = (
            sum(p[r : r + H, s : s + W] for r in range(3) for s in range(3)) for p in (gx * gx, gx * gy, gy * gy)
        )
        return {"R": (xx * yy - xy * xy) - 0.04 * (xx + yy) ** 2}

    return lambda r: {"X": uniform(r, H + 4, W + 4)}, compute


def bf16_bits(array):
    """Its 16 bits, as files of bf16 have them; the values are exact in bf16."""
    return (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def of_bf16_bits(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


@example("16_gpu_product.weft", M=19, N=35, K=21)
def gpu_product(M, N, K):
    eighths = lambda r, *shape: bf16_bits(r.integers(-16, 17, shape) / 8)
    return (
        lambda r: {"A": eighths(r, M, K), "B": eighths(r, K, N)},
        lambda A, B: {"C": (wide(of_bf16_bits(A)) @ wide(of_bf16_bits(B))).astype(np.float32)},
    )


@example("17_gpu_rows.weft", M=5, N=37)
def gpu_rows(M, N):
    def compute(X):
        x = wide(X)
        below = x - x.max(axis=1, keepdims=True)
        return {"Y": below - np.log(np.exp(below).sum(axis=1, keepdims=True))}

    return lambda r: {"X": 4 * uniform(r, M, N)}, compute


@example("18_unit_product.weft", M=9, N=34, K=24)
def unit_product(M, N, K):
    def compute(A, B, b, scale):
        sums = A.astype(np.int64) @ B.astype(np.int64) + b
        return {"Q": np.clip(((sums >> 8) * scale + 128) >> 8, -128, 127).astype(np.int8)}

    return (
        lambda r: {
            "A": r.integers(-128, 128, (M, K), dtype=np.int8),
            "B": r.integers(-128, 128, (K, N), dtype=np.int8),
            "b": r.integers(-3000, 3000, N, dtype=np.int32),
            "scale": r.integers(1, 200, N, dtype=np.int32),
        },
        compute,
    )


@example("19_elsewhere.weft", M=11, N=34, K=13)
def elsewhere(M, N, K):
    return (
        lambda r: {"A": uniform(r, M, K), "B": uniform(r, K, N), "b": uniform(r, N)},
        lambda A, B, b: {"Y": np.maximum(wide(A) @ wide(B) + wide(b), 0)},
    )
