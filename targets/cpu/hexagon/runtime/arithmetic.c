/* What LLVM calls where the machine has no instruction: copies, division of integers, division and square roots of
   floats. Bit by bit, so that the bits are plain to see: IEEE 754, to nearest, ties to even. */

typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned long size;

void* memcpy(void* to, const void* from, size bytes) {
  char* t = to;
  const char* f = from;
  if (((size)t | (size)f) % 8 == 0)
    for (; bytes >= 8; bytes -= 8, t += 8, f += 8) *(u64*)t = *(const u64*)f;
  for (; bytes > 0; --bytes) *t++ = *f++;
  return to;
}
void* memmove(void* to, const void* from, size bytes) {
  char* t = to;
  const char* f = from;
  if ((size)t - (size)f >= bytes) return memcpy(to, from, bytes);
  while (bytes-- > 0) t[bytes] = f[bytes];
  return to;
}
void* memset(void* to, int value, size bytes) {
  char* t = to;
  const u64 eight = 0x0101010101010101ULL * (unsigned char)value;
  for (; bytes > 0 && (size)t % 8 != 0; --bytes) *t++ = (char)value;
  for (; bytes >= 8; bytes -= 8, t += 8) *(u64*)t = eight;
  for (; bytes > 0; --bytes) *t++ = (char)value;
  return to;
}

/* Of a number that is not 0: how many bits lie above its highest one. */
static int zeros_above(u64 value) {
  return __builtin_clzll(value);
}

static u64 divided(u64 a, u64 b, u64* rest) {
  u64 quotient = 0;
  if (b != 0 && a >= b) {
    for (int k = zeros_above(b) - zeros_above(a); k >= 0; --k)
      if (a >= b << k) a -= b << k, quotient |= 1ULL << k;
  }
  *rest = a;
  return quotient;
}

u64 __hexagon_udivdi3(u64 a, u64 b) {
  u64 rest;
  return divided(a, b, &rest);
}
u64 __hexagon_umoddi3(u64 a, u64 b) {
  u64 rest;
  divided(a, b, &rest);
  return rest;
}
i64 __hexagon_divdi3(i64 a, i64 b) {
  u64 rest;
  const u64 q = divided(a < 0 ? -(u64)a : (u64)a, b < 0 ? -(u64)b : (u64)b, &rest);
  return (i64)((a < 0) != (b < 0) ? -q : q);
}
i64 __hexagon_moddi3(i64 a, i64 b) {
  u64 rest;
  divided(a < 0 ? -(u64)a : (u64)a, b < 0 ? -(u64)b : (u64)b, &rest);
  return (i64)(a < 0 ? -rest : rest);
}
u32 __hexagon_udivsi3(u32 a, u32 b) {
  u64 rest;
  return (u32)divided(a, b, &rest);
}
u32 __hexagon_umodsi3(u32 a, u32 b) {
  u64 rest;
  divided(a, b, &rest);
  return (u32)rest;
}
i32 __hexagon_divsi3(i32 a, i32 b) {
  return (i32)__hexagon_divdi3(a, b);
}
i32 __hexagon_modsi3(i32 a, i32 b) {
  return (i32)__hexagon_moddi3(a, b);
}

/* f64 as (-1)^sign * digits * 2^exponent, digits below 2^53. */
enum { kDigits = 52, kLeastExponent = -1074 };
#define HIDDEN (1ULL << kDigits)
#define INFINITY_BITS (0x7ffULL << kDigits)
#define NAN_BITS (0x7ff8ULL << 48)
#define SIGN (1ULL << 63)

static u64 bits_of(double x) {
  u64 out;
  __builtin_memcpy(&out, &x, sizeof out);
  return out;
}
static double with_bits(u64 bits) {
  double out;
  __builtin_memcpy(&out, &bits, sizeof out);
  return out;
}

struct parts {
  u64 digits;
  int exponent;
};
/* Of a finite number that is not 0, with the hidden digit in its place. */
static struct parts parts_of(u64 bits) {
  struct parts out = {bits & (HIDDEN - 1), (int)(bits >> kDigits & 0x7ff)};
  if (out.exponent == 0) {
    const int shift = zeros_above(out.digits) - 11;
    out.digits <<= shift;
    out.exponent = kLeastExponent - shift;
  } else {
    out.digits |= HIDDEN;
    out.exponent += kLeastExponent - 1;
  }
  return out;
}

/* The number nearest to digits * 2^exponent; of `digits`, which has 2 bits below the last digit at least, the lowest
   bit stands for all that were cut off. */
static u64 rounded(u64 digits, int exponent) {
  int cut = 64 - zeros_above(digits) - (kDigits + 1);
  if (exponent + cut < kLeastExponent) cut = kLeastExponent - exponent;
  if (cut > 63) return 0;
  const u64 half = 1ULL << (cut - 1), rest = digits & ((1ULL << cut) - 1);
  u64 kept = digits >> cut;
  kept += rest > half || (rest == half && (kept & 1) != 0);
  exponent += cut;
  if (kept == HIDDEN << 1) kept >>= 1, ++exponent;
  if (kept < HIDDEN) return kept;
  if (exponent > 971) return INFINITY_BITS;
  return ((u64)(exponent - kLeastExponent + 1) << kDigits) + (kept - HIDDEN);
}

double __hexagon_divdf3(double a, double b) {
  const u64 sign = (bits_of(a) ^ bits_of(b)) & SIGN, x = bits_of(a) & ~SIGN, y = bits_of(b) & ~SIGN;
  if (x > INFINITY_BITS || y > INFINITY_BITS) return with_bits(NAN_BITS);
  if ((x == INFINITY_BITS && y == INFINITY_BITS) || (x == 0 && y == 0)) return with_bits(NAN_BITS);
  if (x == INFINITY_BITS || y == 0) return with_bits(sign | INFINITY_BITS);
  if (x == 0 || y == INFINITY_BITS) return with_bits(sign);
  const struct parts p = parts_of(x), q = parts_of(y);
  u64 quotient = 0, rest = p.digits;
  enum { kBits = 57 };
  for (int k = 0; k < kBits; ++k) {
    quotient <<= 1;
    if (rest >= q.digits) rest -= q.digits, quotient |= 1;
    rest <<= 1;
  }
  return with_bits(sign | rounded(quotient << 1 | (rest != 0), p.exponent - q.exponent - kBits));
}

/* The root of digits * 2^exponent, exponent even, has half the exponent: 58 bits of it, two of the radicand for each.
 */
double sqrt(double x) {
  const u64 bits = bits_of(x);
  if ((bits & ~SIGN) > INFINITY_BITS) return with_bits(NAN_BITS);
  if ((bits & ~SIGN) == 0 || bits == INFINITY_BITS) return x;
  if (bits & SIGN) return with_bits(NAN_BITS);
  struct parts p = parts_of(bits);
  if (p.exponent % 2 != 0) p.digits <<= 1, --p.exponent;
  enum { kPairs = 27, kMore = 29 };
  u64 root = 0, rest = 0;
  for (int k = 0; k < kPairs + kMore; ++k) {
    const u64 pair = k < kPairs ? p.digits >> (2 * (kPairs - 1 - k)) & 3 : 0;
    rest = rest << 2 | pair;
    const u64 next = root << 2 | 1;
    root <<= 1;
    if (rest >= next) rest -= next, root |= 1;
  }
  return with_bits(rounded(root << 1 | (rest != 0), p.exponent / 2 - kMore - 1));
}

/* Roots and quotients of f32 are right by way of f64, which has more than twice the digits. */
float __hexagon_sqrtf(float x) {
  return (float)sqrt((double)x);
}
float __hexagon_divsf3(float a, float b) {
  return (float)__hexagon_divdf3((double)a, (double)b);
}
