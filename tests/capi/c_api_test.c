/* The C ABI as a C compiler sees it: compile from text, tune, serve from the database, run, build; every null argument
 * and every error text. */
#include <sys/stat.h>

#include "checks.h"

#define N 8

static const char* const kText =
    "program small(N = 8)\nin  A: f32[N, N]\nin  B: f32[N, N]\nout C[i: N, j: N] = sum[k: N] A[i, k] * B[k, j]\n"
    "program twice(N = 8)\nin  A: f32[N]\nout C[i: N] = A[i] + A[i]\n";

static pw_program* parsed(void) {
  return program_of(kText);
}

static int notices;
static void count_notice(void* user, const char* text) {
  CHECK(user == &notices && strncmp(text, "record #1 was proven again in ", 30) == 0 &&
        strstr(text, "will be by every process"));
  ++notices;
}

/* With a secret of its own beside the database, or none. */
static pw_tuner* created_by(const char* database, const char* secret) {
  pw_tuner_options options = {0};
  pw_tuner* tuner = NULL;
  options.struct_size = sizeof options;
  options.database = database;
  options.secret = secret;
  options.notice = count_notice;
  options.notice_user = &notices;
  options.may_miss_database = 1;
  CHECK(pw_tuner_create(&options, &tuner) == PW_OK && tuner);
  return tuner;
}

static pw_tuner* created(const char* database) {
  char secret[4200];
  snprintf(secret, sizeof secret, "%s.secret", database);
  return created_by(database, secret);
}

static void programs(void) {
  pw_program *program = parsed(), *other = NULL;
  CHECK(strcmp(pw_program_name(program), "small") == 0);
  CHECK(strlen(pw_program_key(program)) == 32);
  CHECK(pw_program_parse_named(kText, "twice", &other) == PW_OK && strcmp(pw_program_name(other), "twice") == 0);
  pw_program_free(other);
  other = NULL;
  CHECK(pw_program_parse_named(kText, "third", &other) == PW_BAD_INPUT && !other &&
        error_has("PW0002", "no program 'third'"));
  CHECK(pw_program_parse("progam x()", &other) == PW_BAD_INPUT && !other);
  CHECK(strncmp(pw_last_error(), "1:1: error: ", 12) == 0 && strstr(pw_last_error(), "progam x()\n    ^~~~~~"));
  pw_program_free(program);
}

static void null_arguments(pw_tuner* tuner) {
  pw_program *program = parsed(), *out = NULL;
  pw_record* record = NULL;
  pw_kernel* kernel = NULL;
  pw_buffer* buffer = NULL;
  CHECK(pw_program_parse(NULL, &out) == PW_BAD_INPUT && error_has("PW0021", "error: text is NULL"));
  CHECK(pw_program_parse(kText, NULL) == PW_BAD_INPUT && error_has("PW0021", "out is NULL"));
  CHECK(pw_program_parse_named(kText, NULL, &out) == PW_BAD_INPUT);
  CHECK(pw_tuner_create(NULL, NULL) == PW_BAD_INPUT);
  CHECK(pw_tuner_check(NULL, program) == PW_BAD_INPUT && pw_tuner_check(tuner, NULL) == PW_BAD_INPUT);
  CHECK(pw_tuner_tune(NULL, program, NULL, &record) == PW_BAD_INPUT &&
        pw_tuner_tune(tuner, NULL, NULL, &record) == PW_BAD_INPUT);
  CHECK(pw_tuner_tune(tuner, program, NULL, NULL) == PW_BAD_INPUT);
  CHECK(pw_tuner_best(NULL, program, NULL, &record) == PW_BAD_INPUT &&
        pw_tuner_best(tuner, program, NULL, NULL) == PW_BAD_INPUT);
  CHECK(pw_tuner_compile(tuner, NULL, NULL, &kernel) == PW_BAD_INPUT &&
        pw_tuner_compile(tuner, program, NULL, NULL) == PW_BAD_INPUT);
  CHECK(pw_tuner_compile_record(tuner, NULL, &kernel) == PW_BAD_INPUT);
  CHECK(pw_tuner_build(tuner, program, NULL, NULL, NULL, &buffer) == PW_BAD_INPUT &&
        error_has("PW0021", "emit is NULL"));
  CHECK(pw_tuner_build(tuner, program, NULL, "object", NULL, NULL) == PW_BAD_INPUT);
  CHECK(pw_kernel_run(NULL, NULL, NULL, 0) == PW_BAD_INPUT);
  CHECK(!record && !kernel && !buffer && !out);
  pw_program_free(NULL), pw_tuner_free(NULL), pw_record_free(NULL), pw_kernel_free(NULL), pw_buffer_free(NULL);
  CHECK(pw_program_key(NULL)[0] == 0 && pw_program_name(NULL)[0] == 0 && pw_record_id(NULL) == 0 &&
        pw_record_trace(NULL)[0] == 0);
  CHECK(pw_record_median_ns(NULL) == 0 && pw_record_is_proven(NULL) == 0 && pw_kernel_origin(NULL)[0] == 0 &&
        pw_kernel_argument_count(NULL) == 0);
  CHECK(pw_kernel_argument_bytes(NULL, 0) == 0 && pw_kernel_argument_name(NULL, 0)[0] == 0 &&
        pw_buffer_data(NULL) == NULL && pw_buffer_bytes(NULL) == 0);
  pw_program_free(program);
}

static void bad_options(pw_tuner* tuner) {
  pw_program* program = parsed();
  pw_kernel* kernel = NULL;
  pw_buffer* buffer = NULL;
  pw_tuner* other = NULL;
  const char* names[] = {"Q"};
  const int64_t values[] = {4};
  pw_tuner_options where = {0};
  pw_task_options options = {0};
  CHECK(pw_tuner_compile(tuner, program, &options, &kernel) == PW_BAD_INPUT &&
        error_has("PW0022", "pw_task_options: struct_size is not set"));
  options = task();
  options.numerics = "fast";
  CHECK(pw_tuner_compile(tuner, program, &options, &kernel) == PW_BAD_INPUT &&
        error_has("PW0023", "'fast' is not strict"));
  options = task();
  options.threads = -1;
  CHECK(pw_tuner_compile(tuner, program, &options, &kernel) == PW_BAD_INPUT);
  options = task();
  options.parameter_count = 1;
  CHECK(pw_tuner_compile(tuner, program, &options, &kernel) == PW_BAD_INPUT);
  options.parameter_names = names;
  options.parameter_values = values;
  CHECK(pw_tuner_compile(tuner, program, &options, &kernel) == PW_BAD_INPUT &&
        error_has("PW0120", "no such parameter"));
  options = task();
  options.trace = "trace 1\n  tile C [k kc]\n";
  CHECK(pw_tuner_compile(tuner, program, &options, &kernel) == PW_BAD_INPUT && error_has("PW0301", "2:13: error: "));
  CHECK(pw_tuner_build(tuner, program, NULL, "elf", NULL, &buffer) == PW_BAD_INPUT &&
        error_has("PW0023", "'elf' is not object"));
  where.struct_size = sizeof where;
  where.target = "pdp-11";
  CHECK(pw_tuner_create(&where, &other) == PW_BAD_INPUT && error_has("PW0510", "pdp-11"));
  CHECK(!kernel && !buffer && !other);
  pw_program_free(program);
}

static void runs_right(pw_kernel* kernel) {
  float a[N * N], b[N * N], c[N * N];
  void* buffers[3];
  size_t bytes[] = {sizeof a, sizeof b, sizeof c};
  size_t i, j, k;
  buffers[0] = a, buffers[1] = b, buffers[2] = c;
  for (i = 0; i < N * N; ++i) a[i] = (float)(i % 7), b[i] = (float)(i % 5) - 2, c[i] = -1;
  CHECK(pw_kernel_argument_count(kernel) == 3 && strcmp(pw_kernel_argument_name(kernel, 2), "C") == 0);
  CHECK(strcmp(pw_kernel_argument_type(kernel, 0), "f32") == 0 && pw_kernel_argument_rank(kernel, 0) == 2);
  CHECK(pw_kernel_argument_extent(kernel, 0, 1) == N && pw_kernel_argument_extent(kernel, 0, 2) == 0);
  CHECK(pw_kernel_argument_bytes(kernel, 1) == sizeof b && pw_kernel_argument_bytes(kernel, 3) == 0);
  CHECK(pw_kernel_argument_is_output(kernel, 2) == 1 && pw_kernel_argument_is_output(kernel, 0) == 0);
  CHECK(pw_kernel_run(kernel, buffers, bytes, 2) == PW_BAD_INPUT);
  CHECK(pw_kernel_run(kernel, NULL, bytes, 3) == PW_BAD_INPUT);
  bytes[1] = 4;
  CHECK(pw_kernel_run(kernel, buffers, bytes, 3) == PW_BAD_INPUT && error_has("PW0653", "B has 256 bytes, not 4"));
  bytes[1] = sizeof b;
  buffers[1] = (char*)b + 1;
  CHECK(pw_kernel_run(kernel, buffers, bytes, 3) == PW_BAD_INPUT &&
        error_has("PW0657", "B: its address is not a multiple of 4, the size of an element"));
  buffers[1] = b;
  CHECK(pw_kernel_run(kernel, buffers, bytes, 3) == PW_OK);
  for (i = 0; i < N; ++i)
    for (j = 0; j < N; ++j) {
      float sum = 0;
      for (k = 0; k < N; ++k) sum += a[i * N + k] * b[k * N + j];
      CHECK(c[i * N + j] == sum);
    }
}

static int stop_at_once(void* asked) {
  ++*(int*)asked;
  return 1;
}

static void tunes_and_serves(pw_tuner* tuner) {
  pw_program* program = parsed();
  pw_record *record = NULL, *served = NULL;
  pw_kernel *kernel = NULL, *by_name = NULL;
  pw_task_options options = task();
  int asked = 0;
  CHECK(pw_tuner_check(tuner, program) == PW_OK);
  CHECK(pw_tuner_best(tuner, program, NULL, &record) == PW_NO && !record);
  options.trials = 2;
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_OK);
  CHECK(pw_record_id(record) == 1 && pw_record_median_ns(record) > 0 && pw_record_is_proven(record) == 1);
  CHECK(strncmp(pw_record_trace(record), "trace 1\n", 8) == 0);
  CHECK(pw_tuner_best(tuner, program, NULL, &served) == PW_OK && pw_record_id(served) == 1);
  CHECK(pw_tuner_compile_record(tuner, served, &kernel) == PW_OK && strcmp(pw_kernel_origin(kernel), "record #1") == 0);
  CHECK(pw_tuner_compile(tuner, program, NULL, &by_name) == PW_OK &&
        strcmp(pw_kernel_origin(by_name), "record #1") == 0);
  pw_record_free(record), pw_record_free(served), pw_program_free(program);
  runs_right(kernel), runs_right(by_name);
  pw_kernel_free(kernel), pw_kernel_free(by_name);

  CHECK(pw_program_parse_named(kText, "twice", &program) == PW_OK);
  options = task();
  options.cancelled = stop_at_once;
  options.user = &asked;
  record = NULL;
  CHECK(pw_tuner_tune(tuner, program, &options, &record) != PW_OK && asked > 0 && record == NULL);
  CHECK(strstr(pw_last_error(), "nothing was measured") != NULL);
  pw_record_free(record), pw_program_free(program);
}

/* What a search tells, by event. */
typedef struct {
  int starts, trials, bests, hits, dones, after_done;
  double last_ns;
  int64_t before_trials;
} events;

static void count_events(void* user, const pw_progress* p) {
  events* e = user;
  CHECK(p->struct_size == sizeof *p && p->event && p->status && p->what && p->trace);
  e->after_done += e->dones > 0;
  e->starts += strcmp(p->event, "start") == 0;
  e->trials += strcmp(p->event, "trial") == 0;
  e->bests += strcmp(p->event, "best") == 0;
  e->hits += strcmp(p->event, "hit") == 0;
  e->dones += strcmp(p->event, "done") == 0;
  e->last_ns = p->ns;
  if (strcmp(p->event, "start") == 0) e->before_trials = p->before_trials;
}

static const char kProduct[] =
    "program product(M = 24, N = 32)\nin A: f32[M, N]\nin B: f32[N]\nout C[i: M] = sum[k: N] A[i, k] * B[k]\n";

static void misses_lists_verifies_and_times(pw_tuner* tuner) {
  pw_program* program = NULL;
  pw_record* record = NULL;
  pw_record_list* list = NULL;
  pw_bench_result timed = {0};
  pw_task_options options = task();
  const char* names[] = {"M"};
  const int64_t values[] = {48};
  events told = {0};
  size_t count, k;
  CHECK(pw_program_parse(kProduct, &program) == PW_OK);
  CHECK(pw_tuner_best(tuner, program, &options, &record) == PW_NO && !record);
  CHECK(error_has("PW0713", "error: product: the database has no record of this task") &&
        !strstr(pw_last_error(), "the nearest"));

  options.budget_ms = -1; /* never measures: a choice that is not stored */
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_OK);
  CHECK(pw_record_id(record) == 0 && pw_record_median_ns(record) == 0 && pw_record_is_proven(record) == 1);
  pw_record_free(record), record = NULL;
  CHECK(pw_tuner_best(tuner, program, &options, &record) == PW_NO);

  options = task();
  options.trials = 1;
  options.no_library = 1;
  options.seeds = "/there/is/no/such/folder";
  CHECK(pw_tuner_tune(tuner, program, &options, &record) != PW_OK && error_has("PW0010", "/there/is/no/such/folder"));

  options = task();
  options.trials = 2;
  options.progress = count_events;
  options.user = &told;
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_OK && pw_record_id(record) > 0);
  CHECK(told.starts == 1 && told.trials == 2 && told.bests >= 1 && told.hits == 0 && told.dones == 1 &&
        told.after_done == 0);
  CHECK(told.last_ns == pw_record_median_ns(record) && told.before_trials == 0);
  CHECK(strcmp(pw_record_program_name(record), "product") == 0 &&
        strcmp(pw_record_program_key(record), pw_program_key(program)) == 0);
  CHECK(strcmp(pw_record_numerics(record), "reassoc") == 0 && pw_record_threads(record) == 1 &&
        pw_record_unix_time(record) > 0);
  CHECK(pw_record_parameter_count(record) == 2 && pw_record_parameter(record, 0) == 24 &&
        pw_record_parameter(record, 1) == 32 && pw_record_parameter(record, 2) == 0);
  pw_record_free(record), record = NULL;
  memset(&told, 0, sizeof told);
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_OK);
  CHECK(told.starts == 0 && told.hits == 1 && told.dones == 1 && told.after_done == 0);
  pw_record_free(record), record = NULL;
  memset(&told, 0, sizeof told);
  options.trials = 3; /* goes on */
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_OK && told.starts == 1 && told.trials == 1 &&
        told.before_trials == 2);
  pw_record_free(record), record = NULL;

  options = task();
  options.parameter_names = names;
  options.parameter_values = values;
  options.parameter_count = 1;
  CHECK(pw_tuner_best(tuner, program, &options, &record) == PW_NO &&
        error_has("PW0713", "note: the nearest is record #") && strstr(pw_last_error(), "which differs in binding"));

  options = task();
  CHECK(pw_tuner_verify(tuner, program, &options) == PW_OK);
  CHECK(pw_tuner_verify(NULL, program, &options) == PW_BAD_INPUT &&
        pw_tuner_verify(tuner, NULL, &options) == PW_BAD_INPUT);
  timed.struct_size = sizeof timed;
  CHECK(pw_tuner_bench(tuner, program, &options, 40, &timed) == PW_OK);
  CHECK(timed.median_ns > 0 && timed.min_ns > 0 && timed.samples > 0 && timed.reference_ns > 0 &&
        timed.flops == 2. * 24 * 32);
  memset(&timed, 0, sizeof timed);
  timed.struct_size = offsetof(pw_bench_result, min_ns); /* of an older caller */
  CHECK(pw_tuner_bench(tuner, program, &options, 40, &timed) == PW_OK && timed.median_ns > 0 && timed.min_ns == 0);
  timed.struct_size = 0;
  CHECK(pw_tuner_bench(tuner, program, &options, 40, &timed) == PW_BAD_INPUT &&
        pw_tuner_bench(tuner, program, &options, 40, NULL) == PW_BAD_INPUT);
  timed.struct_size = sizeof timed;
  CHECK(pw_tuner_bench(tuner, program, &options, 0, &timed) == PW_BAD_INPUT);

  CHECK(pw_tuner_list(tuner, 1000, 0, &list) == PW_OK);
  count = pw_record_list_count(list);
  CHECK(count >= 2 && pw_record_list_at(list, count) == NULL);
  for (k = 0; k < count; ++k)
    CHECK(pw_record_id(pw_record_list_at(list, k)) > (k ? pw_record_id(pw_record_list_at(list, k - 1)) : 0));
  pw_record_list_free(list), list = NULL;
  CHECK(pw_tuner_list(tuner, 1, 1, &list) == PW_OK && pw_record_list_count(list) == 1);
  pw_record_list_free(list);
  CHECK(pw_tuner_list(tuner, -1, 0, &list) == PW_BAD_INPUT && pw_tuner_list(NULL, 1, 0, &list) == PW_BAD_INPUT &&
        pw_tuner_list(tuner, 1, 0, NULL) == PW_BAD_INPUT);
  CHECK(pw_record_list_count(NULL) == 0 && pw_record_list_at(NULL, 0) == NULL);
  pw_record_list_free(NULL);
  pw_program_free(program);
}

/* Who has no secret proves what others have stored, once a process, and says so; who made it does not. */
static void proves_records_of_others(const char* database) {
  pw_program* program = parsed();
  pw_record* record = NULL;
  const char* secrets[] = {NULL, ""};
  int k, round;
  for (k = 0; k < 2; ++k) {
    pw_tuner* tuner = secrets[k] ? created_by(database, secrets[k]) : created(database);
    notices = 0;
    for (round = 0; round < 2; ++round) {
      pw_kernel* kernel = NULL;
      CHECK(pw_tuner_best(tuner, program, NULL, &record) == PW_OK && pw_record_id(record) == 1);
      CHECK(pw_tuner_compile_record(tuner, record, &kernel) == PW_OK);
      runs_right(kernel);
      pw_kernel_free(kernel), pw_record_free(record);
    }
    CHECK(notices == k);
    pw_tuner_free(tuner);
  }
  pw_program_free(program);
}

static void builds(pw_tuner* tuner) {
  pw_program* program = parsed();
  pw_buffer* buffer = NULL;
  CHECK(pw_tuner_build(tuner, program, NULL, "object", "other_name", &buffer) == PW_OK);
  CHECK(pw_buffer_bytes(buffer) > 64 && memcmp(pw_buffer_data(buffer), "\177ELF", 4) == 0);
  pw_buffer_free(buffer);
  pw_program_free(program);
}

/* A caller that was compiled when the struct was shorter: missing tails get defaults. */
static void old_callers(pw_tuner* tuner) {
  pw_program* program = parsed();
  pw_kernel* kernel = NULL;
  pw_task_options options;
  memset(&options, 0xff, sizeof options);
  options.struct_size = sizeof(size_t);
  CHECK(pw_tuner_compile(tuner, program, &options, &kernel) == PW_OK);
  runs_right(kernel);
  pw_kernel_free(kernel);
  pw_program_free(program);
}

/* Kernels for a CPU that this one is not are built and not run. */
static void foreign_targets(void) {
  const char* level = getenv("POLYWEFT_HOST");
  pw_program* program = parsed();
  pw_tuner_options options = {0};
  pw_tuner* tuner = NULL;
  pw_kernel* kernel = NULL;
  pw_record* record = NULL;
  pw_buffer* buffer = NULL;
  pw_task_options few = task();
  CHECK(pw_hold_host(NULL) == PW_BAD_INPUT);
  CHECK(pw_hold_host("pdp-11") == PW_BAD_INPUT &&
        error_has("PW0510", "'pdp-11' is no level that the host can be held to"));
  CHECK(pw_hold_host("x86-64-v2") == PW_OK);
  few.trials = 1;
  options.struct_size = sizeof options;
  options.target = "x86-64-v3";
  CHECK(pw_tuner_create(&options, &tuner) == PW_OK);
  CHECK(pw_tuner_compile(tuner, program, NULL, &kernel) == PW_BAD_INPUT && !kernel &&
        error_has("PW0517", "a kernel for x86-64-v3 needs avx "));
  CHECK(pw_tuner_tune(tuner, program, &few, &record) == PW_BAD_INPUT && !record &&
        error_has("PW0517", "which this CPU, held to x86-64-v2, has not"));
  CHECK(pw_tuner_build(tuner, program, NULL, "object", NULL, &buffer) == PW_OK);
  pw_buffer_free(buffer);
  pw_tuner_free(tuner);
  pw_program_free(program);
  CHECK(pw_hold_host(level ? level : "") == PW_OK);
}

static void names_of_kernels(pw_tuner* tuner) {
  static const char* const emits[] = {"object", "assembly", "llvm", "shared", "static", "header", "c"};
  pw_program* program = parsed();
  pw_buffer* buffer = NULL;
  size_t e;
  for (e = 0; e < sizeof emits / sizeof *emits; ++e) {
    CHECK(pw_tuner_build(tuner, program, NULL, emits[e], "int", &buffer) == PW_BAD_INPUT && !buffer &&
          error_has("PW0513", "'int' is a word of C or C++"));
    CHECK(pw_tuner_build(tuner, program, NULL, emits[e], "9 b;ad", &buffer) == PW_BAD_INPUT && !buffer &&
          error_has("PW0513", "no C identifier"));
  }
  pw_program_free(program);
}

static void broken_environment(const char* folder) {
  pw_program* program = parsed();
  pw_record* record = NULL;
  pw_tuner* tuner = created(folder);
  CHECK(pw_tuner_best(tuner, program, NULL, &record) == PW_ENVIRONMENT && !record &&
        strncmp(pw_last_error_code(), "PW07", 4) == 0);
  pw_tuner_free(tuner);
  pw_program_free(program);
}

int main(int argc, char** argv) {
  char database[4096];
  pw_tuner* tuner;
  CHECK(argc == 2);
  if (getenv("POLYWEFT_HOST")) CHECK(pw_hold_host(getenv("POLYWEFT_HOST")) == PW_OK);
  mkdir(argv[1], 0777);
  snprintf(database, sizeof database, "%s/c_api_test.db", argv[1]);
  remove(database);
  CHECK(strncmp(pw_version(), "polyweft ", 9) == 0);
  programs();
  tuner = created(database);
  null_arguments(tuner);
  bad_options(tuner);
  builds(tuner);
  builds_programs();
  sizes_at_the_call(tuner);
  old_callers(tuner);
  tunes_and_serves(tuner);
  proves_records_of_others(database);
  misses_lists_verifies_and_times(tuner);
  reports_and_records(tuner);
  options_of_searches(tuner);
  options_of_tuners(argv[1]);
  foreign_targets();
  names_of_kernels(tuner);
  broken_environment(argv[1]);
  pw_tuner_free(tuner);
  puts("c_api_test: right");
  return 0;
}
