"""Each program of LANGUAGE.md section 8, computed with numpy in float64 from what it means, against the naive
evaluator.

usage: oracle_numpy.py EVALUATE PROGRAMS_FOLDER
Differences must stay within the evaluator's own running error bound (integers: be zero), which also tests the bound."""

import os
import subprocess
import sys
import tempfile

import numpy as np

F4, F8, I4, U1, I1, I8 = np.float32, np.float64, np.int32, np.uint8, np.int8, np.int64
rng = np.random.default_rng(12345)


def uni(*shape, t=F4):
    return rng.uniform(-1, 1, shape).astype(t)


def bf16(*shape):
    """Random bf16 bits: the top half of f32."""
    return (uni(*shape).view(np.uint32) >> 16).astype(np.uint16)


def wide(bits):
    return (bits.astype(np.uint32) << 16).view(F4).astype(F8)


def bf16_value(x):
    """float64 -> nearest bf16, ties to even, as float64."""
    m, e = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(m, 8)), e - 8)


def sig(x):
    return 1 / (1 + np.exp(-x))


CASES = {}


def case(**sizes):
    def add(function):
        CASES[function.__name__] = (sizes, function)
        return function

    return add


@case(M=7, N=5, K=6)
def gemm(M, N, K):
    A, B = uni(M, K), uni(K, N)
    yield dict(A=A, B=B)
    yield dict(C=A.astype(F8) @ B.astype(F8))


@case(B=2, M=3, N=5, K=7)
def batched_bf16(B, M, N, K):
    X, W, alpha = bf16(B, M, K), bf16(B, K, N), F4(0.7)
    yield dict(X=X, W=W, alpha=np.array(alpha))
    yield dict(Y=float(alpha) * (wide(X) @ wide(W)))


def convolution(X, K, groups, stride, dilation, pad):
    n, h, w, _ = X.shape
    r = K.shape[0]
    c, f = K.shape[2], K.shape[3] // groups
    xp = np.pad(X.astype(F8), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    oh, ow = ((d + 2 * pad - dilation * (r - 1) - 1) // stride + 1 for d in (h, w))
    out = np.zeros((n, oh, ow, groups * f))
    for y in range(oh):
        for x in range(ow):
            window = xp[
                :,
                y * stride : y * stride + dilation * (r - 1) + 1 : dilation,
                x * stride : x * stride + dilation * (r - 1) + 1 : dilation,
                :,
            ]
            for g in range(groups):
                out[:, y, x, g * f : (g + 1) * f] = np.einsum(
                    'nrsc,rscf->nf', window[..., g * c : (g + 1) * c], K[..., g * f : (g + 1) * f].astype(F8)
                )
    return out


@case(N=1, H=6, W=5)
def conv(N, H, W):
    X, K, b = uni(N, H, W, 16), uni(3, 3, 8, 16), uni(16)
    yield dict(X=X, K=K, b=b)
    yield dict(Z=np.maximum(0, convolution(X, K, 2, 2, 1, 1) + b.astype(F8)))


@case(H=5, W=4, C=3, F=2)
def conv_padded(H, W, C, F):
    X, K = uni(H, W, C), uni(3, 3, C, F)
    yield dict(X=X, K=K)
    yield dict(Y=convolution(X[None], K, 1, 1, 1, 1)[0])


@case(H=5, W=6, C=3)
def depthwise(H, W, C):
    X, K = uni(H, W, C), uni(3, 3, C)
    yield dict(X=X, K=K)
    full = np.zeros((3, 3, 1, C))
    full[:, :, 0, :] = K
    yield dict(Y=convolution(X[None], full, C, 1, 1, 1)[0])


@case(H=5, C=3, F=2)
def conv_transposed(H, C, F):
    X, K = uni(H, C), uni(4, C, F)
    yield dict(X=X, K=K)
    full = np.zeros((2 * (H - 1) + 4, F))
    for h in range(H):
        full[2 * h : 2 * h + 4] += np.einsum('c,rcf->rf', X[h].astype(F8), K.astype(F8))
    yield dict(Y=full[1:-1])


@case(H=7, W=6, C=2)
def pool(H, W, C):
    X = uni(H, W, C)
    yield dict(X=X)
    xp = np.pad(X.astype(F8), ((1, 1), (1, 1), (0, 0)), constant_values=np.nan)
    oh, ow = (H - 1) // 2 + 1, (W - 1) // 2 + 1
    windows = np.array([[xp[2 * y : 2 * y + 3, 2 * x : 2 * x + 3] for x in range(ow)] for y in range(oh)])
    yield dict(M=np.nanmax(windows, axis=(2, 3)), A=np.nanmean(windows, axis=(2, 3)))


@case(M=3, N=7)
def softmax(M, N):
    X = uni(M, N) * F4(5)
    yield dict(X=X)
    e = np.exp(X.astype(F8))
    yield dict(Y=e / e.sum(1, keepdims=True))


@case(M=3, N=7)
def layernorm(M, N):
    X, g, b = uni(M, N), uni(N), uni(N)
    yield dict(X=X, g=g, b=b)
    x = X.astype(F8)
    yield dict(Y=(x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + float(F4(1e-5))) * g + b)


@case(H=4, G=2, S=5, D=3)
def attention(H, G, S, D):
    Q, K, V, scale = bf16(H, S, D), bf16(G, S, D), bf16(G, S, D), np.array(F4(0.5))
    yield dict(Q=Q, K=K, V=V, scale=scale)
    O = np.zeros((H, S, D))
    for h in range(H):
        for i in range(S):
            a = float(scale) * (wide(K)[h // 2, : i + 1] @ wide(Q)[h, i])
            p = np.exp(a - a.max())
            O[h, i] = p @ wide(V)[h // 2, : i + 1] / p.sum()
    yield dict(O=bf16_value(O))


@case(H=2, S=5, D=3)
def flash_attention(H, S, D):
    Q, K, V = uni(H, S, D), uni(H, S, D), uni(H, S, D)
    yield dict(Q=Q, K=K, V=V)
    O = np.zeros((H, S, D))
    for h in range(H):
        for i in range(S):
            p = np.exp(K[h, : i + 1].astype(F8) @ Q[h, i].astype(F8))
            O[h, i] = p @ V[h, : i + 1].astype(F8) / p.sum()
    yield dict(O=O)


@case(M=3, N=7)
def logsumexp(M, N):
    X = uni(M, N) * F4(20)
    yield dict(X=X)
    yield dict(Y=np.logaddexp.reduce(X.astype(F8), axis=1))


@case(L=2, T=3, H=4)
def lstm(L, T, H):
    X, W, U, b = uni(T, H), uni(L, 4, H, H), uni(L, 4, H, H), uni(L, 4, H)
    yield dict(X=X, W=W, U=U, b=b)
    layer = [X[t].astype(F8) for t in range(T)]
    for l in range(L):
        h, c, out = np.zeros(H), np.zeros(H), []
        for t in range(T):
            z = b[l].astype(F8) + W[l].astype(F8) @ layer[t] + U[l].astype(F8) @ h
            c = sig(z[1]) * c + sig(z[0]) * np.tanh(z[2])
            h = sig(z[3]) * np.tanh(c)
            out.append(h)
        layer = out
    yield dict(Y=np.array(layer))


@case(N=17)
def prefix_sum(N):
    X = rng.integers(-(2**31), 2**31, N).astype(I4)
    yield dict(X=X)
    s = np.cumsum(X, dtype=I4)
    yield dict(Y=s, Z=s)


@case(T=4, N=9)
def heat1d(T, N):
    A0 = uni(N, t=F8)
    yield dict(A0=A0)
    A = A0.copy()
    for _ in range(T):
        A[1:-1] = A[1:-1] + 0.125 * (A[:-2] - 2 * A[1:-1] + A[2:])
    yield dict(R=A)


@case(T=3, N=6)
def seidel2d(T, N):
    A0 = uni(N, N, t=F8)
    yield dict(A0=A0)
    A = A0.copy()
    for _ in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = A[i - 1 : i + 2, j - 1 : j + 2].mean()
    yield dict(R=A)


@case(T=4, N=7)
def fdtd1d(T, N):
    E0, H0 = uni(N, t=F8), uni(N, t=F8)
    yield dict(E0=E0, H0=H0)
    E, H = E0.copy(), H0.copy()
    for t in range(1, T + 1):
        E[1:] -= 0.5 * (H[1:] - H[:-1])
        E[0] = t
        H[:-1] -= 0.7 * (E[1:] - E[:-1])
    yield dict(F=E + H)


@case(N=6)
def cholesky(N):
    A = uni(N, N, t=F8)
    A = A @ A.T + 6 * np.eye(N)
    yield dict(A=A)
    yield dict(R=np.linalg.cholesky(A))


@case(N=6)
def lu(N):
    A = uni(N, N, t=F8) + 6 * np.eye(N)
    yield dict(A=A)
    F = A.copy()
    for k in range(N):
        F[k + 1 :, k] /= F[k, k]
        F[k + 1 :, k + 1 :] -= np.outer(F[k + 1 :, k], F[k, k + 1 :])
    yield dict(F=F)


@case(N=6)
def floyd_warshall(N):
    W = rng.integers(1, 100, (N, N)).astype(I4)
    yield dict(W=W)
    D = W.copy()
    for k in range(N):
        D = np.minimum(D, D[:, k : k + 1] + D[k : k + 1, :])
    yield dict(R=D)


@case(M=6, N=7, V=4)
def smith_waterman(M, N, V):
    a, b, score = (
        rng.integers(0, V, M).astype(U1),
        rng.integers(0, V, N).astype(U1),
        rng.integers(-3, 6, (V, V)).astype(I4),
    )
    yield dict(a=a, b=b, score=score)
    H = np.zeros((M + 1, N + 1), I4)
    for i in range(1, M + 1):
        for j in range(1, N + 1):
            H[i, j] = max(0, H[i - 1, j - 1] + score[a[i - 1], b[j - 1]], H[i - 1, j] - 2, H[i, j - 1] - 2)
    yield dict(best=H.max())


@case(N=7)
def nussinov(N):
    p = rng.integers(0, 3, (N, N)).astype(I4)
    yield dict(p=p)
    S = np.zeros((N + 1, N), I8)
    lowest = np.iinfo(I4).min
    for i in reversed(range(N)):
        for j in range(i + 1, N):
            inner = S[i + 1, j - 1] if i + 1 < N else 0
            split = max([S[i, k] + S[k + 1, j] for k in range(i + 1, j)], default=lowest)
            S[i, j] = max(S[i, j - 1], S[i + 1, j] if i + 1 < N else 0, inner + p[i, j], split)
    yield dict(R=S[0, N - 1])


@case(N=50, B=16)
def histogram(N, B):
    X = rng.integers(0, 256, N).astype(U1)
    yield dict(X=X)
    yield dict(h=np.histogram(X, bins=B, range=(0, 256))[0])


@case(B=3, L=4, V=9, D=5)
def embedding_bag(B, L, V, D):
    idx, E = rng.integers(0, V, (B, L)).astype(I4), uni(V, D)
    yield dict(idx=idx, E=E)
    yield dict(Y=E.astype(F8)[idx].sum(1))


@case(M=4, N=5, K=6)
def qgemm(M, N, K):
    A, B = rng.integers(0, 256, (M, K)).astype(U1), rng.integers(-128, 128, (K, N)).astype(I1)
    za, zc, mult = I4(120), I4(128), (uni(N) * F4(0.01)).astype(F4)
    yield dict(A=A, B=B, za=np.array(za), mult=mult, zc=np.array(zc))
    C = (A.astype(I4) - za) @ B.astype(I4)
    yield dict(Q=np.clip(np.rint(C.astype(F4) * mult).astype(I4) + zc, 0, 255))


@case(N=5)
def int4_gemv(N):
    W, s, x = rng.integers(0, 256, (N, 4, 16)).astype(U1), uni(N, 4), uni(4, 16, 2)
    yield dict(W=W, s=s, x=x)
    nibbles = np.stack([W & 15, W >> 4], axis=-1).astype(F8) - 8
    yield dict(y=np.einsum('ng,ngqb,gqb->n', s.astype(F8), nibbles, x.astype(F8)))


@case(M=4, N=7)
def argmax_rows(M, N):
    X = np.round(uni(M, N) * F4(3)).astype(F4)
    yield dict(X=X)
    i, j = np.unravel_index(X.argmax(), X.shape)
    yield dict(p=X.argmax(1), v=X.max(1), where_i=i, where_j=j)


@case(B=3)
def fft_stage(B):
    xr, xi, wr, wi = uni(B, 2, 8, 4), uni(B, 2, 8, 4), uni(8), uni(8)
    yield dict(xr=xr, xi=xi, wr=wr, wi=wi)
    x, w = xr.astype(F8) + 1j * xi, (wr.astype(F8) + 1j * wi)[None, :, None]
    y = np.stack([x[:, 0] + w * x[:, 1], x[:, 0] - w * x[:, 1]], axis=2)
    yield dict(yr=y.real, yi=y.imag)


@case(H=8, W=6)
def pyramid(H, W):
    X = uni(H, W)
    yield dict(X=X)
    w = np.array([1, 3, 3, 1]) / 8
    p = np.pad(X.astype(F8), 1, mode='edge')
    d = sum(w[s] * p[1:-1, s : s + W - 1 : 2] for s in range(4))
    d = np.pad(d, ((1, 1), (0, 0)), mode='edge')
    D = sum(w[r] * d[r : r + H - 1 : 2] for r in range(4))
    near = D.repeat(2, 0).repeat(2, 1)
    e = np.pad(D, 1, mode='edge')
    rows = np.array([y // 2 + (2 if y % 2 else 0) for y in range(H)])
    cols = np.array([x // 2 + (2 if x % 2 else 0) for x in range(W)])
    yield dict(U=0.75 * near + 0.25 * e[np.ix_(rows, cols)])


@case(H=7, W=8)
def harris(H, W):
    X = uni(H, W)
    yield dict(X=X)
    x, k = X.astype(F8), [1, 2, 1]
    Ix = sum(k[r] * (x[r : H - 2 + r, 2:] - x[r : H - 2 + r, :-2]) for r in range(3))
    Iy = sum(k[s] * (x[2:, s : W - 2 + s] - x[:-2, s : W - 2 + s]) for s in range(3))

    def box(a):
        return sum(a[r : H - 4 + r, s : W - 4 + s] for r in range(3) for s in range(3))

    xx, xy, yy = box(Ix * Ix), box(Ix * Iy), box(Iy * Iy)
    yield dict(R=xx * yy - xy * xy - float(F4(0.04)) * (xx + yy) ** 2)


@case(M=6, N=5)
def trmm(M, N):
    A, B, alpha = uni(M, M, t=F8), uni(M, N, t=F8), np.array(0.7)
    yield dict(A=A, B=B, alpha=alpha)
    yield dict(C=0.7 * ((np.tril(A, -1) + np.eye(M)).T @ B))


@case(W=4, H=7)
def deriche_rows(W, H):
    X = uni(W, H)
    yield dict(X=X)
    a = [float(F4(v)) for v in (0.2, 0.1, 0.15, -0.05)]
    b = [float(F4(v)) for v in (1.1, -0.4)]
    F, G = np.zeros((W, H + 4)), np.zeros((W, H + 4))
    x = np.pad(X.astype(F8), ((0, 0), (2, 2)))
    for j in range(2, H + 2):
        F[:, j] = a[0] * x[:, j] + a[1] * x[:, j - 1] + b[0] * F[:, j - 1] + b[1] * F[:, j - 2]
    for j in reversed(range(2, H + 2)):
        G[:, j] = a[2] * x[:, j + 1] + a[3] * x[:, j + 2] + b[0] * G[:, j + 1] + b[1] * G[:, j + 2]
    yield dict(Y=(F + G)[:, 2 : H + 2])


def run(name, evaluate, programs):
    sizes, function = CASES[name]
    generator = function(**sizes)
    with tempfile.TemporaryDirectory() as folder:
        for key, value in next(generator).items():
            np.save(os.path.join(folder, key), value)
        arguments = [f'{k}={v}' for k, v in sizes.items()]
        subprocess.run([evaluate, os.path.join(programs, name + '.weft'), folder] + arguments, check=True)
        for key, expected in next(generator).items():
            compare(
                name,
                key,
                np.asarray(expected),
                *(np.load(os.path.join(folder, f'{key}.{part}.npy')) for part in ('out', 'bound', 'written')),
            )


def compare(name, key, expected, got, bound, written):
    assert got.shape == expected.shape, (name, key, got.shape, expected.shape)
    if got.dtype == np.uint16:
        got = wide(got)
    written = written.astype(bool)
    assert written.all() or name == 'cholesky', (name, key)
    difference = np.abs(got.astype(F8) - expected.astype(F8))
    # numpy's own rounding in float64 is about as large as the bound where the program computes in float64
    slack = 1e-13 * np.abs(expected).max() if got.dtype == F8 else 0
    bad = written & ~(difference <= bound + slack)
    assert not bad.any(), f'{name}.{key}: {difference[bad].max()} is above the bound {bound[bad].max()}'
    assert not np.isinf(bound).any(), (name, key)


def main():
    evaluate, programs = sys.argv[1:3]
    files = {f[:-5] for f in os.listdir(programs) if f.endswith('.weft')}
    assert files == set(CASES), files ^ set(CASES)
    for name in sorted(CASES):
        run(name, evaluate, programs)
    print(f'{len(CASES)} programs agree with numpy')


main()
