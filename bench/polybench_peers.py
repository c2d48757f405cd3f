"""The linear algebra of PolyBench as calls of numpy and scipy (OpenBLAS), one thread: peers of bench/polybench.py.

A peer takes the program's inputs in their order and returns its outputs. Whatever a library lacks is left out; without
numpy or scipy its table is empty. OpenBLAS takes matrices by columns: a row-major matrix is handed to it as its
transposition, without a copy.
"""

import ctypes
import glob
import os

import numpy as np


def numpy_covariance(data):
    data = data - data.mean(axis=0)
    return (data.T @ data / (len(data) - 1),)


def numpy_correlation(data):
    data = data - data.mean(axis=0)
    deviation = np.sqrt((data * data).mean(axis=0))
    data = data / (np.sqrt(len(data)) * np.where(deviation <= 0.1, 1.0, deviation))
    result = data.T @ data
    np.fill_diagonal(result, 1.0)
    return (result,)


def numpy_gemver(alpha, beta, A0, u1, v1, u2, v2, y, z):
    A = A0 + np.outer(u1, v1)
    A += np.outer(u2, v2)
    x = beta * (y @ A) + z
    return (alpha * (A @ x),)


NUMPY = {
    "gemm": lambda alpha, beta, C0, A, B: (alpha * (A @ B) + beta * C0,),
    "2mm": lambda alpha, beta, A, B, C, D0: ((alpha * (A @ B)) @ C + beta * D0,),
    "3mm": lambda A, B, C, D: ((A @ B) @ (C @ D),),
    "doitgen": lambda A, C4: ((A.reshape(-1, A.shape[2]) @ C4).reshape(A.shape),),
    "syrk": lambda alpha, beta, C0, A: (alpha * (A @ A.T) + beta * C0,),
    "covariance": numpy_covariance,
    "correlation": numpy_correlation,
    "atax": lambda A, x: ((A @ x) @ A,),
    "bicg": lambda A, p, r: (r @ A, A @ p),
    "mvt": lambda x1, x2, y1, y2, A: (x1 + A @ y1, x2 + y2 @ A),
    "gemver": numpy_gemver,
    "gesummv": lambda alpha, beta, A, B, x: (alpha * (A @ x) + beta * (B @ x),),
    "cholesky": lambda A: (np.linalg.cholesky(A),),
}


def scipy_table():
    try:
        from scipy.linalg import blas, lapack
    except ImportError:
        return {}
    lower, upper = 1, 0

    def gemm(alpha, beta, C0, A, B):
        return (blas.dgemm(alpha, B.T, A.T, beta, C0.T).T,)

    def symm(alpha, beta, C0, A, B):
        return (blas.dsymm(alpha, A.T, B.T, beta, C0.T, side=1, lower=upper).T,)

    def syrk(alpha, beta, C0, A):
        return (blas.dsyrk(alpha, A.T, beta, C0.T, trans=1, lower=upper).T,)

    def syr2k(alpha, beta, C0, A, B):
        return (blas.dsyr2k(alpha, A.T, B.T, beta, C0.T, trans=1, lower=upper).T,)

    def trmm(alpha, A, B0):
        return (blas.dtrmm(alpha, A.T, B0.T, side=1, lower=upper, trans_a=1, diag=1).T,)

    def covariance(data):
        data = data - data.mean(axis=0)
        half = blas.dsyrk(1.0 / (len(data) - 1), data.T).T
        return (np.tril(half) + np.tril(half, -1).T,)

    def lu(A):
        return (lapack.dgetrf(A)[0],)

    def cholesky(A):
        return (lapack.dpotrf(A.T, lower=upper)[0].T,)

    def trisolv(L, b):
        return (blas.dtrsv(L.T, b, lower=upper, trans=1),)

    return {
        "gemm": gemm,
        "symm": symm,
        "syrk": syrk,
        "syr2k": syr2k,
        "trmm": trmm,
        "covariance": covariance,
        "lu": lu,
        "cholesky": cholesky,
        "trisolv": trisolv,
    }


def use_one_thread():
    """OpenBLAS reads its number of threads when it is loaded; wheels name its function each in their way."""
    folder = os.path.dirname(os.path.dirname(np.__file__))
    for path in glob.glob(os.path.join(folder, "*.libs", "*openblas*")):
        library = ctypes.CDLL(path)
        for name in (
            "scipy_openblas_set_num_threads64_",
            "scipy_openblas_set_num_threads",
            "openblas_set_num_threads64_",
            "openblas_set_num_threads",
        ):
            if hasattr(library, name):
                getattr(library, name)(1)
                break


def peers_of(kernel):
    """Name of the peer -> function, for this kernel."""
    tables = {"numpy": NUMPY, "scipy": scipy_table()}
    return {name: table[kernel] for name, table in tables.items() if kernel in table}
