/* What searches and records say of themselves, and the options of searches and tuners. */
#include "checks.h"

enum { kElements = 20 };

static const char kFirst[] = "program first(N = 20)\nin x: f32[N]\nout y[i: N] = x[i] * 3\n";
static const char kSecond[] = "program second(N = 20)\nin x: f32[N]\nlet s = sum[k: N] x[k]\nout y[i: N] = x[i] + s\n";

static pw_shared_program shared(const pw_program* program, const pw_task_options* options, double calls) {
  pw_shared_program out = {0};
  out.struct_size = sizeof out;
  out.program = program, out.options = options, out.calls = calls;
  return out;
}

static void several(pw_tuner* tuner) {
  pw_program *first = program_of(kFirst), *second = program_of(kSecond);
  pw_task_options few = task(), wrong = task();
  pw_shared_program items[3];
  const pw_shared_program* programs[3];
  const char* names[] = {"Q"};
  const int64_t values[] = {4};
  pw_report_list* list = NULL;
  size_t k;
  few.trials = 1;
  wrong.parameter_names = names, wrong.parameter_values = values, wrong.parameter_count = 1;
  items[0] = shared(first, &few, 0), items[1] = shared(second, &few, 24), items[2] = shared(first, &wrong, 1);
  for (k = 0; k < 3; ++k) programs[k] = &items[k];
  CHECK(pw_tuner_tune_several(tuner, programs, 3, 20000, &list) == PW_OK && pw_report_list_count(list) == 3);
  for (k = 0; k < 2; ++k) {
    const pw_report* report = pw_report_list_at(list, k);
    CHECK(pw_report_status(report) == PW_OK && pw_report_error(report)[0] == 0 && pw_report_error_code(report)[0] == 0);
    CHECK(strcmp(pw_record_program_name(pw_report_record(report)), k ? "second" : "first") == 0);
    CHECK(pw_record_id(pw_report_record(report)) > 0 && pw_report_flops(report) > 0 && pw_report_wall_s(report) > 0);
  }
  CHECK(pw_report_status(pw_report_list_at(list, 2)) == PW_BAD_INPUT &&
        strcmp(pw_report_error_code(pw_report_list_at(list, 2)), "PW0120") == 0 &&
        strstr(pw_report_error(pw_report_list_at(list, 2)), "no such parameter") &&
        pw_report_record(pw_report_list_at(list, 2)) == NULL);
  CHECK(pw_report_list_at(list, 3) == NULL);
  pw_report_list_free(list), list = NULL;
  CHECK(pw_tuner_tune_several(tuner, programs, 1, 0, &list) == PW_BAD_INPUT && error_has("PW0023", "budget_ms"));
  CHECK(pw_tuner_tune_several(tuner, NULL, 1, 1, &list) == PW_BAD_INPUT && error_has("PW0021", "programs is NULL"));
  items[0].struct_size = 0;
  CHECK(pw_tuner_tune_several(tuner, programs, 1, 1, &list) == PW_BAD_INPUT &&
        error_has("PW0022", "pw_shared_program"));
  items[0] = shared(NULL, NULL, 1);
  CHECK(pw_tuner_tune_several(tuner, programs, 1, 1, &list) == PW_BAD_INPUT && error_has("PW0021", "the program of"));
  items[0] = shared(first, NULL, -1);
  CHECK(pw_tuner_tune_several(tuner, programs, 1, 1, &list) == PW_BAD_INPUT &&
        error_has("PW0023", "calls is negative"));
  CHECK(pw_tuner_tune_several(tuner, programs, 0, 1, &list) == PW_OK && pw_report_list_count(list) == 0);
  pw_report_list_free(list), pw_report_list_free(NULL);
  CHECK(pw_report_list_count(NULL) == 0 && pw_report_list_at(NULL, 0) == NULL);
  pw_program_free(first), pw_program_free(second);
}

static void one_report(pw_tuner* tuner) {
  pw_program* program = program_of(kFirst);
  pw_task_options options = task();
  pw_report* report = NULL;
  options.trials = 1;
  CHECK(pw_tuner_tune_report(tuner, program, &options, &report) == PW_OK && pw_report_is_hit(report) == 1);
  CHECK(strcmp(pw_report_reason(report), "hit") == 0 && pw_report_measured(report) == 0);
  pw_report_free(report), report = NULL;
  options.refresh = 1;
  CHECK(pw_tuner_tune_report(tuner, program, &options, &report) == PW_OK && pw_report_is_hit(report) == 0);
  CHECK(strcmp(pw_report_reason(report), "trials") == 0 && pw_report_measured(report) >= 1 &&
        pw_report_failed(report) == 0 && pw_report_reference_ns(report) > 0);
  CHECK(pw_report_warning_count(report) == 0 && pw_report_warning(report, 0)[0] == 0 &&
        pw_report_peak_gflops(report) >= 0);
  pw_report_free(report), report = NULL;
  options.struct_size = 0;
  CHECK(pw_tuner_tune_report(tuner, program, &options, &report) == PW_BAD_INPUT && !report &&
        error_has("PW0022", "pw_task_options: struct_size is not set"));
  CHECK(pw_tuner_tune_report(NULL, program, NULL, &report) == PW_BAD_INPUT &&
        pw_tuner_tune_report(tuner, program, NULL, NULL) == PW_BAD_INPUT);
  CHECK(pw_report_status(NULL) == PW_OK && pw_report_error(NULL)[0] == 0 && pw_report_error_code(NULL)[0] == 0 &&
        pw_report_record(NULL) == NULL && pw_report_is_hit(NULL) == 0 && pw_report_reason(NULL)[0] == 0 &&
        pw_report_measured(NULL) == 0 && pw_report_failed(NULL) == 0 && pw_report_wall_s(NULL) == 0 &&
        pw_report_flops(NULL) == 0 && pw_report_reference_ns(NULL) == 0 && pw_report_peak_gflops(NULL) == 0 &&
        pw_report_warning_count(NULL) == 0 && pw_report_warning(NULL, 0)[0] == 0);
  pw_report_free(NULL);
  pw_program_free(program);
}

static void nearest(pw_tuner* tuner) {
  pw_program *program = program_of(kFirst),
             *unknown = program_of("program u(N = 3)\nin x: f64[N]\nout y[i: N] = x[i]\n");
  pw_record *record = NULL, *same = NULL;
  pw_task_options options = task();
  const char* names[] = {"N"};
  const int64_t values[] = {33};
  options.parameter_names = names, options.parameter_values = values, options.parameter_count = 1;
  options.numerics = "strict";
  CHECK(pw_tuner_nearest(tuner, program, &options, &record) == PW_OK && pw_record_parameter(record, 0) == 20);
  CHECK(strcmp(pw_record_differs_in(record), "binding, class") == 0);
  CHECK(pw_tuner_record(tuner, pw_record_id(record), &same) == PW_OK && pw_record_differs_in(same)[0] == 0 &&
        strcmp(pw_record_trace(same), pw_record_trace(record)) == 0);
  CHECK(pw_tuner_prove(tuner, same) == PW_OK);
  CHECK(pw_tuner_prove(tuner, NULL) == PW_BAD_INPUT && pw_tuner_prove(NULL, same) == PW_BAD_INPUT);
  pw_record_free(record), pw_record_free(same), record = NULL;
  CHECK(pw_tuner_nearest(tuner, unknown, NULL, &record) == PW_NO && !record && error_has("PW0713", "of this program"));
  CHECK(pw_tuner_record(tuner, 9999, &record) == PW_NO && error_has("PW0710", "record #9999"));
  CHECK(pw_tuner_record(NULL, 1, &record) == PW_BAD_INPUT && pw_tuner_record(tuner, 1, NULL) == PW_BAD_INPUT);
  CHECK(pw_record_differs_in(NULL)[0] == 0);
  pw_program_free(program), pw_program_free(unknown);
}

static void shows(pw_tuner* tuner) {
  static const char* const stages[] = {"program", "scop",    "dependences", "schedule", "trace",
                                       "loops",   "storage", "vectors",     "llvm",     "assembly"};
  pw_program* program = program_of(kSecond);
  pw_record* record = NULL;
  pw_buffer* text = NULL;
  pw_roofline roofline = {0};
  size_t k;
  CHECK(pw_tuner_best(tuner, program, NULL, &record) == PW_OK);
  for (k = 0; k < sizeof stages / sizeof *stages; ++k) {
    CHECK(pw_tuner_show(tuner, program, NULL, stages[k], NULL, &text) == PW_OK && pw_buffer_bytes(text) > 0);
    pw_buffer_free(text), text = NULL;
    CHECK(pw_tuner_show_record(tuner, record, stages[k], NULL, &text) == PW_OK && pw_buffer_bytes(text) > 0);
    pw_buffer_free(text), text = NULL;
  }
  CHECK(pw_tuner_show(tuner, program, NULL, "vectors", "split_loops", &text) == PW_OK && text_has(text, "nest 1 "));
  pw_buffer_free(text), text = NULL;
  CHECK(pw_tuner_show(tuner, program, NULL, "vectors", "no_pass", &text) == PW_BAD_INPUT &&
        error_has("PW0524", "no_pass"));
  CHECK(pw_tuner_show(tuner, program, NULL, "soup", NULL, &text) == PW_BAD_INPUT &&
        error_has("PW0023", "'soup' is not"));
  CHECK(pw_tuner_show(tuner, program, NULL, NULL, NULL, &text) == PW_BAD_INPUT && error_has("PW0021", "stage is NULL"));
  CHECK(pw_tuner_show(NULL, program, NULL, "loops", NULL, &text) == PW_BAD_INPUT &&
        pw_tuner_show(tuner, program, NULL, "loops", NULL, NULL) == PW_BAD_INPUT &&
        pw_tuner_show_record(tuner, NULL, "loops", NULL, &text) == PW_BAD_INPUT &&
        pw_tuner_show_record(tuner, record, "soup", NULL, &text) == PW_BAD_INPUT &&
        pw_tuner_show_record(tuner, record, "loops", NULL, NULL) == PW_BAD_INPUT && !text);
  roofline.struct_size = sizeof roofline;
  CHECK(pw_tuner_roofline(tuner, record, &roofline) == PW_OK && roofline.flops == 40 && roofline.bytes == 160 &&
        roofline.struct_size == sizeof roofline);
  roofline.struct_size = 0;
  CHECK(pw_tuner_roofline(tuner, record, &roofline) == PW_BAD_INPUT && error_has("PW0022", "pw_roofline"));
  CHECK(pw_tuner_roofline(tuner, NULL, &roofline) == PW_BAD_INPUT &&
        pw_tuner_roofline(tuner, record, NULL) == PW_BAD_INPUT);
  CHECK(pw_explain("PW0204", &text) == PW_OK && pw_buffer_bytes(text) > 20);
  pw_buffer_free(text), text = NULL;
  CHECK(pw_explain("PW9999", &text) == PW_BAD_INPUT && !text && error_has("PW0007", "PW9999"));
  CHECK(pw_explain(NULL, &text) == PW_BAD_INPUT && pw_explain("PW0204", NULL) == PW_BAD_INPUT);
  pw_record_free(record), pw_program_free(program);
}

void reports_and_records(pw_tuner* tuner) {
  several(tuner);
  one_report(tuner);
  nearest(tuner);
  shows(tuner);
}

static int never(void* asked) {
  ++*(int*)asked;
  return 0;
}

void options_of_searches(pw_tuner* tuner) {
  pw_program* program = program_of(kFirst);
  pw_record* record = NULL;
  pw_report* report = NULL;
  pw_buffer* text = NULL;
  pw_bench_result timed = {0};
  pw_task_options options = task();
  float data[kElements];
  const char* names[] = {"x"};
  const void* pointers[1];
  size_t bytes[] = {sizeof data};
  int k, asked = 0;
  pointers[0] = data;
  for (k = 0; k < kElements; ++k) data[k] = (float)k;

  options.abi = "c";
  CHECK(pw_tuner_build(tuner, program, &options, "header", NULL, &text) == PW_OK && text_has(text, "float") &&
        !text_has(text, "halide_buffer_t"));
  pw_buffer_free(text), text = NULL;
  options.abi = "halide";
  CHECK(pw_tuner_build(tuner, program, &options, "header", NULL, &text) == PW_OK && text_has(text, "halide_buffer_t"));
  pw_buffer_free(text), text = NULL;
  options.abi = "fortran";
  CHECK(pw_tuner_build(tuner, program, &options, "header", NULL, &text) == PW_BAD_INPUT &&
        error_has("PW0023", "abi: 'fortran' is not halide or c"));

  options = task();
  options.until = 1.5;
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_BAD_INPUT && error_has("PW0023", "until"));
  options.until = 1e-9; /* whatever is measured first is that near */
  options.refresh = 1, options.trials = 50;
  CHECK(pw_tuner_tune_report(tuner, program, &options, &report) == PW_OK);
  CHECK(strcmp(pw_report_reason(report), "share of the roofline") == 0 ||
        strcmp(pw_report_reason(report), "space exhausted") == 0);
  pw_report_free(report), report = NULL;

  options = task();
  options.deadline_ms = -1;
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_BAD_INPUT && error_has("PW0023", "deadline_ms"));
  options.deadline_ms = 60000, options.cancelled = never, options.user = &asked, options.numerics = "contract";
  CHECK(pw_tuner_show(tuner, program, &options, "loops", NULL, &text) == PW_OK && asked > 0);
  pw_buffer_free(text);

  options = task();
  options.trials = 1, options.refresh = 1;
  options.input_names = names, options.input_data = pointers, options.input_bytes = bytes, options.input_count = 1;
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_OK);
  pw_record_free(record), record = NULL;
  timed.struct_size = sizeof timed;
  CHECK(pw_tuner_bench(tuner, program, &options, 20, &timed) == PW_OK && timed.median_ns > 0);
  bytes[0] = 4;
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_BAD_INPUT &&
        error_has("PW0006", "x has 80 bytes, not 4"));
  bytes[0] = sizeof data, names[0] = "z";
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_BAD_INPUT &&
        error_has("PW0005", "z is no input of first"));
  names[0] = "x", pointers[0] = NULL;
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_BAD_INPUT &&
        error_has("PW0021", "the data of x is NULL"));
  names[0] = NULL;
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_BAD_INPUT && error_has("PW0021", "an input's name"));
  options.input_names = NULL;
  CHECK(pw_tuner_tune(tuner, program, &options, &record) == PW_BAD_INPUT && !record &&
        error_has("PW0021", "input_names"));
  pw_program_free(program);
}

static int told;
static void count_doing(void* user, const char* what) {
  CHECK(user == &told && what[0]);
  ++told;
}

void options_of_tuners(const char* folder) {
  pw_program* program = program_of(kFirst);
  char path[4200];
  pw_tuner_options options = {0};
  pw_tuner* tuner = NULL;
  pw_kernel* kernel = NULL;
  pw_record* record = NULL;
  pw_task_options few = task();
  const char* words[] = {"/there/is/no/runner", "--really"};
  few.trials = 1;
  options.struct_size = sizeof options;
  snprintf(path, sizeof path, "%s/missing.db", folder);
  remove(path);
  options.database = path;
  options.doing = count_doing, options.doing_user = &told;
  options.analysis_ms = 5000;
  CHECK(pw_tuner_create(&options, &tuner) == PW_OK);
  CHECK(pw_tuner_compile(tuner, program, NULL, &kernel) == PW_BAD_INPUT && !kernel &&
        error_has("PW0724", "there is no such file"));
  CHECK(pw_tuner_best(tuner, program, NULL, &record) == PW_BAD_INPUT && error_has("PW0724", "there is no such file"));
  pw_tuner_free(tuner);
  options.may_miss_database = 1;
  CHECK(pw_tuner_create(&options, &tuner) == PW_OK);
  CHECK(pw_tuner_best(tuner, program, NULL, &record) == PW_NO && error_has("PW0713", "no record of this task"));
  CHECK(pw_tuner_compile(tuner, program, NULL, &kernel) == PW_OK && told > 0);
  pw_kernel_free(kernel), pw_tuner_free(tuner);

  options.runner = words, options.runner_count = 2;
  CHECK(pw_tuner_create(&options, &tuner) == PW_OK);
  CHECK(pw_tuner_tune(tuner, program, &few, &record) == PW_ENVIRONMENT && !record && error_has("PW06", "") == 0 &&
        strncmp(pw_last_error_code(), "PW06", 4) == 0);
  pw_tuner_free(tuner), tuner = NULL;
  words[1] = NULL;
  CHECK(pw_tuner_create(&options, &tuner) == PW_BAD_INPUT && error_has("PW0021", "a word of runner"));
  options.runner = NULL;
  CHECK(pw_tuner_create(&options, &tuner) == PW_BAD_INPUT && error_has("PW0021", "runner is NULL"));
  options.runner_count = 0, options.analysis_ms = -1;
  CHECK(pw_tuner_create(&options, &tuner) == PW_BAD_INPUT && error_has("PW0023", "analysis_ms"));
  options.struct_size = 0;
  CHECK(pw_tuner_create(&options, &tuner) == PW_BAD_INPUT && !tuner && error_has("PW0022", "pw_tuner_options"));
  CHECK(pw_add_instructions(NULL) == PW_BAD_INPUT && error_has("PW0021", "folder is NULL"));
  CHECK(pw_add_instructions("/there/is/none") == PW_BAD_INPUT && error_has("PW0020", "/there/is/none: cannot be read"));
  pw_program_free(program);
}
