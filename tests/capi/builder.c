/* Programs piece by piece: the same key as from text, and what is wrong with an argument. */
#include "checks.h"

static pw_builder* begun(const char* name) {
  pw_builder* b = NULL;
  CHECK(pw_builder_create(name, &b) == PW_OK && b);
  return b;
}

static pw_expr apply2(pw_builder* b, const char* name, pw_expr x, pw_expr y) {
  pw_expr both[2];
  both[0] = x, both[1] = y;
  return pw_builder_apply(b, name, both, 2);
}
static pw_expr element1(pw_builder* b, pw_tensor tensor, pw_expr i) {
  return pw_builder_element(b, tensor, &i, 1);
}
static pw_expr element2(pw_builder* b, pw_tensor tensor, pw_expr i, pw_expr j) {
  pw_expr both[2];
  both[0] = i, both[1] = j;
  return pw_builder_element(b, tensor, both, 2);
}

/* Ends the builder. */
static void is_the_same_as(pw_builder* b, const char* text) {
  pw_program *built = NULL, *parsed = program_of(text);
  CHECK(pw_builder_build(b, &built) == PW_OK);
  CHECK(strcmp(pw_program_key(built), pw_program_key(parsed)) == 0);
  CHECK(strcmp(pw_program_name(built), pw_program_name(parsed)) == 0);
  pw_builder_free(b);
  pw_program_free(built), pw_program_free(parsed);
}

static void product(void) {
  pw_builder* b = begun("gemm");
  pw_expr m = pw_builder_param(b, "M", 30, 0), n = pw_builder_param(b, "N", 20, 0), k = pw_builder_param(b, "K", 10, 0);
  pw_expr mk[2], kn[2], mn[2], i = pw_builder_index(b, NULL), j = pw_builder_index(b, "j"),
                               l = pw_builder_index(b, NULL);
  pw_tensor a, x, c;
  mk[0] = m, mk[1] = k, kn[0] = k, kn[1] = n, mn[0] = m, mn[1] = n;
  a = pw_builder_input(b, "A", "f32", mk, 2, 0, 0, 0);
  x = pw_builder_input(b, "B", "f32", kn, 2, 0, 0, 0);
  c = pw_builder_tensor(b, "out", "C", NULL, mn, 2);
  CHECK(pw_builder_define(
            b, element2(b, c, i, j), 0,
            pw_builder_reduce(b, "sum", &l, 1, 0, apply2(b, "*", element2(b, a, i, l), element2(b, x, l, j)))) == 1);
  is_the_same_as(
      b,
      "program gemm(M = 30, N = 20, K = 10)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] "
      "A[i, k] * B[k, j]\n");
}

/* Guards, ranges, conversions, promises, constants, an assumption, a recurrence. */
static void everything_else(void) {
  pw_builder* b = begun("rest");
  const double ones[] = {1, 2, 3};
  const int64_t three[] = {3};
  pw_expr n = pw_builder_param(b, "N", 9, 0), v = pw_builder_param(b, "V", 4, 1), four = pw_builder_integer(b, 4),
          zero = pw_builder_integer(b, 0), one = pw_builder_integer(b, 1), half = pw_builder_number(b, 0.5);
  pw_expr i = pw_builder_index(b, "i"), r = pw_builder_index(b, "r"), later, picked, weights, body, args[3];
  pw_tensor t = pw_builder_input(b, "t", "f32", &v, 1, 1, 0, 0), at = pw_builder_input(b, "at", "i32", &n, 1, 0, 0, v),
            w = pw_builder_constant(b, "w", "f32", three, 1, ones, 3),
            s = pw_builder_tensor(b, "let", "s", NULL, &n, 1),
            y = pw_builder_tensor(b, "out partial", "y", "f32", &n, 1);
  CHECK(pw_builder_assume(b, apply2(b, ">=", n, four)) == 1);
  picked = element1(b, t, element1(b, at, i));
  later = pw_builder_index_in(b, i, one, n);
  CHECK(pw_builder_define(b, element1(b, s, zero), 0, element1(b, t, zero)) == 1);
  CHECK(pw_builder_define(b, element1(b, s, later), 0,
                          apply2(b, "+", apply2(b, "*", element1(b, s, apply2(b, "-", i, one)), half), picked)) == 1);
  weights = pw_builder_index_in(b, r, 0, pw_builder_integer(b, 3));
  body = apply2(b, "*", element1(b, w, r), element1(b, s, i));
  args[0] = apply2(b, "<", element1(b, s, i), half);
  args[1] = pw_builder_apply(b, "exp", (pw_expr[]){element1(b, s, i)}, 1);
  args[2] = pw_builder_where(b, apply2(b, ">=", i, one), pw_builder_reduce(b, "sum", &weights, 1, 0, body),
                             pw_builder_apply(b, "f32", (pw_expr[]){element1(b, at, i)}, 1));
  CHECK(pw_builder_define(b, element1(b, y, i), apply2(b, "!=", i, four), pw_builder_apply(b, "select", args, 3)) == 1);
  is_the_same_as(
      b,
      "program rest(N = 9, const V = 4) assume N >= 4\nconst in t: f32[V]\nin at: i32[N] values 0..V\nconst w: f32[3] "
      "= "
      "[1, 2, 3]\nlet s[0] = t[0]\nlet s[i: 1..N] = s[i-1] * 0.5 + t[at[i]]\nout partial y[i: N]: f32 where i != 4 = "
      "select(s[i] < 0.5, exp(s[i]), (sum[r: 3] w[r] * s[i]) where i >= 1 else f32(at[i]))\n");
}

static void keep_the_larger(void* user, const pw_expr* left, const pw_expr* right, pw_expr* result) {
  pw_builder* b = user;
  pw_expr args[3];
  size_t k;
  for (k = 0; k < 2; ++k) {
    args[0] = apply2(b, ">=", left[0], right[0]), args[1] = left[k], args[2] = right[k];
    result[k] = pw_builder_apply(b, "select", args, 3);
  }
}

static void combiners(void) {
  pw_builder* b = begun("largest");
  pw_expr n = pw_builder_param(b, "N", 12, 0), i = pw_builder_index(b, "i"), bodies[2], targets[2];
  const char* const types[] = {"f32", "i32"};
  const double identities[] = {-1000, -1};
  pw_tensor x = pw_builder_input(b, "x", "f32", &n, 1, 0, 0, 0),
            best = pw_builder_tensor(b, "out", "best", NULL, NULL, 0),
            where = pw_builder_tensor(b, "out", "place", NULL, NULL, 0);
  pw_combiner larger = pw_builder_combiner(b, "larger", types, identities, 2, 1, 0, keep_the_larger, b);
  pw_buffer* text = NULL;
  CHECK(larger != 0);
  bodies[0] = element1(b, x, i), bodies[1] = pw_builder_apply(b, "i32", &i, 1);
  targets[0] = pw_builder_element(b, best, NULL, 0), targets[1] = pw_builder_element(b, where, NULL, 0);
  CHECK(pw_builder_define_several(b, targets, 2, pw_builder_reduce_by(b, larger, &i, 1, 0, bodies, 2)) == 1);
  CHECK(pw_builder_text(b, &text) == PW_OK && text_has(text, "combine larger"));
  pw_buffer_free(text);
  is_the_same_as(b,
                 "program largest(N = 12)\nin x: f32[N]\ncombine larger((l0, l1), (r0, r1)): (f32, i32) from (-1000.0, "
                 "-1) associative = (select(l0 >= r0, l0, r0), select(l0 >= r0, l1, r1))\nout (best, place) = "
                 "reduce larger[i: N] (x[i], i32(i))\n");
}

static void what_is_wrong(void) {
  pw_builder* b = begun("wrong");
  pw_program* program = NULL;
  pw_buffer* text = NULL;
  pw_expr i = pw_builder_index(b, NULL), n = pw_builder_param(b, "N", 4, 0);
  pw_tensor x = pw_builder_input(b, "x", "f32", &n, 1, 0, 0, 0);
  CHECK(pw_builder_apply(b, "+", &n, 1) == 0 &&
        error_has("PW0150", "pw_builder_apply: '+' is no operator of 1 argument"));
  CHECK(pw_builder_apply(b, "+", NULL, 2) == 0 && error_has("PW0150", "arguments is NULL"));
  CHECK(pw_builder_apply(b, "exp", (pw_expr[]){99}, 1) == 0 && error_has("PW0150", "99 is no expression"));
  CHECK(pw_builder_element(b, 7, &i, 1) == 0 && error_has("PW0150", "7 is no tensor"));
  CHECK(pw_builder_input(b, "z", "float32", &n, 1, 0, 0, 0) == 0 && error_has("PW0150", "there is no type 'float32'"));
  CHECK(pw_builder_input(b, NULL, "f32", &n, 1, 0, 0, 0) == 0 && error_has("PW0150", "name is NULL"));
  CHECK(pw_builder_tensor(b, "output", "y", NULL, NULL, 0) == 0 && error_has("PW0150", "kind 'output' is not let"));
  CHECK(pw_builder_reduce(b, "mean", &i, 1, 0, n) == 0 && error_has("PW0150", "there is no reducer 'mean'"));
  CHECK(pw_builder_reduce(b, "sum", &n, 1, 0, n) == 0 && error_has("PW0150", "is no index"));
  CHECK(pw_builder_reduce_by(b, 1, &i, 1, 0, &n, 1) == 0 && error_has("PW0150", "1 is no combiner"));
  CHECK(pw_builder_define(b, n, 0, n) == 0 && error_has("PW0150", "is no element of a tensor"));
  CHECK(pw_builder_define_several(b, NULL, 0, n) == 0 && error_has("PW0150", "there is no element"));
  CHECK(pw_builder_index_in(b, n, 0, n) == 0 && pw_builder_assume(b, 0) == 0 && pw_builder_where(b, 0, 0, 0) == 0);
  CHECK(pw_builder_constant(b, "w", "f32", NULL, 1, NULL, 0) == 0 && error_has("PW0150", "shape is NULL"));
  CHECK(pw_builder_combiner(b, "c", NULL, NULL, 0, 0, 0, NULL, NULL) == 0 && error_has("PW0150", "body is NULL"));
  CHECK(pw_builder_build(b, &program) == PW_BAD_INPUT && !program &&
        error_has("PW0150", "'+' is no operator of 1 argument"));
  CHECK(pw_builder_param(NULL, "N", 1, 0) == 0 && error_has("PW0021", "builder is NULL"));
  CHECK(pw_builder_create(NULL, &b) == PW_BAD_INPUT && error_has("PW0021", "name is NULL"));
  CHECK(pw_builder_create("x", NULL) == PW_BAD_INPUT && pw_builder_build(NULL, &program) == PW_BAD_INPUT &&
        pw_builder_build(b, NULL) == PW_BAD_INPUT && pw_builder_text(NULL, &text) == PW_BAD_INPUT &&
        pw_builder_text(b, NULL) == PW_BAD_INPUT && error_has("PW0021", "out is NULL"));
  CHECK(x != 0);
  pw_builder_free(b), pw_builder_free(NULL);

  b = begun("undefined"); /* what the language says */
  n = pw_builder_param(b, "N", 4, 0), i = pw_builder_index(b, "i");
  x = pw_builder_tensor(b, "out", "y", NULL, &n, 1);
  CHECK(pw_builder_define(b, element1(b, x, i), 0, pw_builder_apply(b, "nonsense", &i, 1)) == 1);
  CHECK(pw_builder_build(b, &program) == PW_BAD_INPUT && !program && strncmp(pw_last_error_code(), "PW01", 4) == 0 &&
        strstr(pw_last_error(), "nonsense"));
  pw_builder_free(b);
}

void builds_programs(void) {
  product();
  everything_else();
  combiners();
  what_is_wrong();
}
