"""Our reading of the PTX manual: which element of a matrix lies where, in registers and in shared memory.

Every function is plain arithmetic on indices, so that an emulator can state the same in its own language. `lane` is
0 .. 31 in a warp, `thread` 0 .. 127 in a warpgroup; `register` counts the 32-bit registers (64-bit ones for f64) that
the instruction names for the operand; `element` counts the elements in one register from its low bits. Arrays of numpy
are as welcome as integers.

Worked example, mma.m16n8k16 with 16-bit operands: lane 5 is group 1, position 1. Register 2 of A is in row 1 + 0 and
columns 2 + 8 and 3 + 8; register 1 of B in column 1 and rows 2 + 8 and 3 + 8; register 3 of D is row 9, column 3."""


def group(lane):
    return lane // 4


def position(lane):
    return lane % 4


def mma_a(lane, register, element, per_register):
    """(row, column) of A in mma.m16n8kK and in one warp's 16 rows of wgmma. m8n8kK has register 0 only."""
    row = group(lane) + 8 * (register % 2)
    return row, per_register * position(lane) + element + 4 * per_register * (register // 2)


def mma_b(lane, register, element, per_register):
    """(row, column) of B in mma.m16n8kK and m8n8kK."""
    return per_register * position(lane) + element + 4 * per_register * register, group(lane)


def mma_d(lane, register, element, per_register):
    """(row, column) of C and D: 32-bit and 64-bit elements one a register, f16 two. m8n8kK has the first 8 rows."""
    index = register * per_register + element
    return group(lane) + 8 * (index // 2), 2 * position(lane) + index % 2


def wgmma_a(thread, register, element, per_register):
    """(row, column) of A in registers."""
    row, column = mma_a(thread % 32, register, element, per_register)
    return 16 * (thread // 32) + row, column


def wgmma_d(thread, register, element, per_register):
    """(row, column) of the 64 x n accumulator."""
    index = register * per_register + element
    row = 16 * (thread // 32) + group(thread % 32) + 8 * (index // 2 % 2)
    return row, 8 * (index // 4) + 2 * position(thread % 32) + index % 2


def ldmatrix(lane, element, transposed):
    """(row, column) in the 8 x 8 matrix i of the element that register i of `lane` holds; stmatrix is the same."""
    row, column = group(lane), 2 * position(lane) + element
    return (column, row) if transposed else (row, column)


def ldmatrix_row_lane(matrix, row):
    """The lane that gives the address of a row of 16 bytes of matrix i."""
    return 8 * matrix + row


def swizzled(address, span, base=0):
    """Where a byte of shared memory lies under a swizzle of `span` bytes (0: none): the 16-byte chunk within the span
    is xored with the low bits of the 128-byte line. A descriptor's base offset is taken from the line first."""
    return address if span == 0 else address ^ ((address // 128 - base) % (span // 16) * 16)


def k_major(row, byte, matrix):
    """The byte address of byte `byte` along K of row `row` (a row of A, a column of B)."""
    if matrix.swizzle == 0:
        return matrix.start + row % 8 * 16 + row // 8 * matrix.stride + byte % 16 + byte // 16 * matrix.leading
    address = matrix.start + row % 8 * matrix.swizzle + row // 8 * matrix.stride + byte
    return swizzled(address, matrix.swizzle, matrix.base)


def mn_major(byte, k, matrix):
    """The byte address of byte `byte` along M or N at index k of K (16-bit elements)."""
    span = matrix.swizzle or 16
    along, down = (matrix.stride, matrix.leading) if matrix.swizzle == 0 else (matrix.leading, matrix.stride)
    address = matrix.start + byte % span + k % 8 * span + byte // span * along + k // 8 * down
    return swizzled(address, matrix.swizzle, matrix.base)


class Matrix:
    """A wgmma matrix descriptor: start and offsets in bytes, the swizzle span in bytes (0: none), the base offset.

    Two offsets tell where the next 8 rows along K (`down`) and the next span along M or N lie:

    | | leading | stride |
    |---|---|---|
    | K-major, no swizzle | next 16 bytes along K | next 8 rows |
    | K-major, swizzled | ignored | next 8 rows |
    | MN-major, no swizzle | next 8 along K | next 16 bytes along M or N |
    | MN-major, swizzled | next span along M or N | next 8 along K |"""

    def __init__(self, start, leading, stride, swizzle, base=0):
        self.start, self.leading, self.stride, self.swizzle, self.base = start, leading, stride, swizzle, base

    def bits(self):
        mode = {0: 0, 128: 1, 64: 2, 32: 3}[self.swizzle]
        fields = (self.start >> 4 & 0x3FFF) | (self.leading >> 4 & 0x3FFF) << 16 | (self.stride >> 4 & 0x3FFF) << 32
        return fields | self.base << 49 | mode << 62
