/* The C ABI of Polyweft, first version.
 *
 * Conventions, once for all functions: handles are opaque; each type has one free function, which takes NULL; option
 * structs begin with struct_size = sizeof the struct, unknown tails are ignored and missing tails get defaults; a
 * function that can fail returns pw_status and writes its result through the last pointer only on success; no exception
 * leaves a function; text is UTF-8, NUL-ended. pw_last_error() is the message of this thread's last failed call, and
 * pw_last_error_code() its code, which every error has: PW0021 for a null argument (except where a comment says what
 * NULL means), PW0022 for a struct_size, PW0023 for a value out of its range, PW0024 for what should not happen;
 * getters give 0 or "" for a NULL handle.
 *
 * Threads: a tuner may be used by several, its calls are answered one after the other; functions of its options are
 * called by the thread that made the call. Calls of one kernel take turns, several kernels run side by side. Any other
 * handle belongs to one thread at a time, or to all that only read it.
 *
 * Ownership: who gets a handle through an out pointer frees it. Texts that a function returns belong to the handle they
 * were asked of and live as long as it; pw_last_error() and pw_last_error_code() until this thread's next failed call.
 * A kernel, a record, a report and a buffer stay valid after the tuner and the program they came from are freed. Times
 * are nanoseconds (_ns), milliseconds (_ms) or seconds (_s), sizes bytes. */
#ifndef POLYWEFT_C_API_H
#define POLYWEFT_C_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PW_C_EXPORT __attribute__((visibility("default")))
#else
#define PW_C_EXPORT
#endif

typedef enum pw_status {
  PW_OK = 0,
  PW_NO = 1,          /* the answer is no: not found, not equal, not proven */
  PW_BAD_INPUT = 2,   /* the program, the trace or an argument is wrong */
  PW_ENVIRONMENT = 3, /* file, database, helper process, device */
  PW_INTERNAL = 4
} pw_status;

typedef struct pw_program pw_program;
typedef struct pw_tuner pw_tuner;
typedef struct pw_record pw_record;
typedef struct pw_kernel pw_kernel;
typedef struct pw_buffer pw_buffer;
typedef struct pw_record_list pw_record_list;
typedef struct pw_report pw_report;
typedef struct pw_report_list pw_report_list;
typedef struct pw_builder pw_builder;

/* What a search tells of itself. All texts live as long as the call. */
typedef struct pw_progress {
  size_t struct_size;
  const char* event; /* "doing": `what` is done from now on; "start"; "hit": the database answers; "trial"; "best":
                        this trial is the fastest so far; "done": the last */
  int32_t trial, measured, failed;
  double elapsed_s;
  const char* status;       /* of the trial: "ok", "slower", "wrong_result" ... */
  double ns, best_ns;       /* of one call: this trial, the fastest; 0: none */
  double peak_gflops;       /* "best", "done": of the kernel's own instruction, in turns with it; 0: not measured */
  const char *what, *trace; /* why it failed or ended; the schedule as text */
  double before_s;          /* "start": what earlier searches of this task spent */
  int64_t before_trials;
} pw_progress;

typedef struct pw_tuner_options {
  size_t struct_size;
  const char* target;           /* "host" when NULL */
  const char* database;         /* path; none when NULL */
  const char* helper_directory; /* default when NULL */
  const char* secret;           /* file of this host's secret, by which it knows the records that it has proven; NULL:
                                   $XDG_STATE_HOME/polyweft/secret, else
                                   ~/.local/state/polyweft/secret; "": none, each process proves the
                                   records that it serves */
  /* A line for the user: a record was proven again, or could not be. Not said when NULL. */
  void (*notice)(void* user, const char* text);
  void* notice_user;
  /* Command and arguments of the runner that tune and bench ask, on whatever machine (docs/runner.md); the installed
   * one when runner_count is 0. */
  const char* const* runner;
  size_t runner_count;
  const char* cache; /* file of analyses and first choices that later processes of this user take; none when NULL */
  /* What a call does now, in a few words. Not said when NULL. */
  void (*doing)(void* user, const char* what);
  void* doing_user;
  int64_t analysis_ms;       /* processor time that one polyhedral analysis may take; 10000 when 0 */
  int64_t may_miss_database; /* not 0: where the database's file is not there, who looks finds nothing; 0: PW0724, but
                                for tune, which makes it */
} pw_tuner_options;

typedef struct pw_task_options {
  size_t struct_size;
  const char* const* parameter_names; /* parameter_count names ... */
  const int64_t* parameter_values;    /* ... and values; the rest keep their defaults */
  size_t parameter_count;
  const char* numerics; /* "strict" "contract" "reassoc"; reassoc when NULL */
  int32_t threads;      /* 1 when 0 */
  const char* trace;    /* NULL: record, else analytic model */
  int64_t budget_ms; /* tune: of all searches of a task together; 60000 when 0; -1: nothing is measured, a record or a
                        proven first choice that is not stored */
  int32_t trials;    /* tune: of all searches of a task together; no limit when 0 */
  uint64_t seed;     /* tune: 1 when 0 */
  /* Asked some fifty times a second, on the calling thread; non-zero ends the call within a second: PW0839, or of tune
   * what was found so far. Never when NULL. */
  int (*cancelled)(void* user);
  void* user;
  int32_t symbolic; /* compile, build, show: not 0: sizes stay arguments of the kernel, int64_t after the buffers in
                       program order; takes no parameters and no trace. verify: such a kernel, at these parameters */
  int64_t max_workspace; /* bytes that a kernel may ask the runtime for in one call, all tasks at once; no limit when 0,
                            nothing at all when -1 */
  /* tune: called on the calling thread, with `user`. Nothing when NULL. */
  void (*progress)(void* user, const pw_progress* progress);
  const char* seeds;  /* tune: a folder of schedules to begin with, files as in the library; none when NULL */
  int32_t no_library; /* tune: not 0: begins with no schedule of the installed library */
  const char*
      abi; /* build: "halide": arguments are descriptors of buffers; "c": addresses of elements; halide when NULL */
  int64_t refresh;     /* tune: not 0: searches from the beginning, whatever the database has */
  double until;        /* tune: ends at this share of the roofline, 0 < until <= 1; never when 0 */
  int64_t deadline_ms; /* wall time of the call, waiting for its turn included; beyond it as `cancelled`. None when 0 */
  /* tune: data of inputs that kernels are compared and timed on instead of seeded ones: names, dense row-major
   * elements, sizes in bytes as the program has them at these parameters; together at most 48 MiB. */
  const char* const* input_names;
  const void* const* input_data;
  const size_t* input_bytes;
  size_t input_count;
} pw_task_options;

/* One of several programs that share a budget. */
typedef struct pw_shared_program {
  size_t struct_size;
  const pw_program* program;
  const pw_task_options* options; /* budget_ms and trace do not count; all defaults when NULL */
  double calls;                   /* how often it runs beside the others; 1 when 0 */
} pw_shared_program;

/* What no schedule of a record's task beats on this machine, measured now. */
typedef struct pw_roofline {
  size_t struct_size;              /* set by the caller */
  double flops, bytes;             /* of one call: a multiply-add counts 2; all arguments */
  double peak_gflops, memory_gb_s; /* 0: not known */
  double kernel_ns;                /* the record's kernel, in turns with the peak; 0: not run */
  double bound_ns, memory_ns;      /* bound_ns: 0: not known; memory_ns: the part of memory alone */
} pw_roofline;

/* Times of one call, nanoseconds. */
typedef struct pw_bench_result {
  size_t struct_size; /* set by the caller: how much of the struct is filled */
  double median_ns, min_ns;
  double ci_rel; /* half width of the 95 % interval of the median, relative */
  int32_t samples;
  double reference_ns; /* the untuned base nest */
  double flops;        /* of one call: a multiply-add counts 2 */
  double peak_gflops;  /* in turns with the kernel; 0: none known */
} pw_bench_result;

PW_C_EXPORT const char* pw_version(void);
PW_C_EXPORT const char* pw_last_error(void);
/* From now on this machine counts as having no features beyond this level of its architecture (a target of that name is
 * one): kernels that need others are not loaded; "": as it is. For tests of what a lesser CPU does; called before
 * anything else. */
PW_C_EXPORT pw_status pw_hold_host(const char* level);
/* "PW0204" of this thread's last failed call; "" before the first one. */
PW_C_EXPORT const char* pw_last_error_code(void);
/* What a code means and how such an error comes about, as `polyweft explain` prints it. PW_BAD_INPUT (PW0007) for a
 * code that is none. */
PW_C_EXPORT pw_status pw_explain(const char* code, pw_buffer** out);
/* From now on, in this process and its helpers, the files NAME.instruction of this folder count beside the known ones;
 * called before anything else. PW_BAD_INPUT (PW0020) where it has none, or one that is malformed. */
PW_C_EXPORT pw_status pw_add_instructions(const char* folder);

/* First program of the text. */
PW_C_EXPORT pw_status pw_program_parse(const char* text, pw_program** out);
/* The program of this name; PW_BAD_INPUT where the text does not have it. */
PW_C_EXPORT pw_status pw_program_parse_named(const char* text, const char* name, pw_program** out);
PW_C_EXPORT void pw_program_free(pw_program* program);
PW_C_EXPORT const char* pw_program_name(const pw_program* program);
/* 32 hex digits; valid until the program is freed. */
PW_C_EXPORT const char* pw_program_key(const pw_program* program);

/* ---- programs piece by piece: the same language, the same checks, the same text and key as from text ----
 *
 * Expressions, indices, elements and tensors are numbers that the builder hands out, above 0, valid until it is freed.
 * Where an argument is wrong, 0 is handed out, pw_last_error() says why (PW0150), and pw_builder_build says the first
 * such error again: whoever builds may ask at the end alone. What the language itself refuses is said by
 * pw_builder_build.
 *
 *   pw_expr i = pw_builder_index(b, NULL), k = ..;
 *   pw_expr a = pw_builder_element(b, A, (pw_expr[]){i, k}, 2), ..;
 *   pw_expr sum = pw_builder_reduce(b, "sum", &k, 1, 0, pw_builder_apply(b, "*", (pw_expr[]){a, b_kj}, 2));
 *   pw_builder_define(b, pw_builder_element(b, C, (pw_expr[]){i, j}, 2), 0, sum); */
typedef uint32_t pw_expr;
typedef uint32_t pw_tensor;
typedef uint32_t pw_combiner;

PW_C_EXPORT pw_status pw_builder_create(const char* name, pw_builder** out);
PW_C_EXPORT void pw_builder_free(pw_builder* builder);
/* A parameter with its default; `is_const`: not 0: its value is part of the program, as strides must be. */
PW_C_EXPORT pw_expr pw_builder_param(pw_builder* builder, const char* name, int64_t value, int is_const);
/* `assume condition`. 1; 0 where the condition is none. */
PW_C_EXPORT int pw_builder_assume(pw_builder* builder, pw_expr condition);
PW_C_EXPORT pw_expr pw_builder_integer(pw_builder* builder, int64_t value);
PW_C_EXPORT pw_expr pw_builder_number(pw_builder* builder, double value);
/* An index; a free name when NULL. Without a range it takes the extent of the dimension that it indexes alone. */
PW_C_EXPORT pw_expr pw_builder_index(pw_builder* builder, const char* name);
/* The same index over lo <= index < hi, where it is bound: in a slot or a reduction. lo 0: from 0 on. */
PW_C_EXPORT pw_expr pw_builder_index_in(pw_builder* builder, pw_expr index, pw_expr lo, pw_expr hi);
/* `type`: "f64" "f32" "f16" "bf16" "i64" "i32" "i16" "i8" "u8" "bool". `is_const`: not 0: packed ahead of time. `lo`,
 * `hi`: a promise lo <= element < hi; none when both are 0; from 0 on when lo is 0. A scalar has rank 0. */
PW_C_EXPORT pw_tensor pw_builder_input(pw_builder* builder, const char* name, const char* type, const pw_expr* shape,
                                       size_t rank, int is_const, pw_expr lo, pw_expr hi);
/* A tensor of these values, row-major, as many as the shape holds. */
PW_C_EXPORT pw_tensor pw_builder_constant(pw_builder* builder, const char* name, const char* type, const int64_t* shape,
                                          size_t rank, const double* values, size_t count);
/* Tensors that equations define. `kind`: "let", "out", "out partial". `type`: an annotation; derived when NULL. The
 * shape is the range of slots whose index has none; none when rank is 0. */
PW_C_EXPORT pw_tensor pw_builder_tensor(pw_builder* builder, const char* kind, const char* name, const char* type,
                                        const pw_expr* shape, size_t rank);
PW_C_EXPORT pw_expr pw_builder_element(pw_builder* builder, pw_tensor tensor, const pw_expr* subscripts, size_t count);
/* An operator or a function of the language, or a conversion, by its name: "+" "-" (also of one argument) "*" "/" "//"
 * "%" "&" "|" "^" "<<" ">>" "==" "!=" "<" "<=" ">" ">=" "and" "or" "not" "~"; "exp" "select" "clamp" "sat_u8" ..;
 * "f32" "i32" ..; "tuple": several values. */
PW_C_EXPORT pw_expr pw_builder_apply(pw_builder* builder, const char* name, const pw_expr* arguments, size_t count);
/* `reducer`: "sum" "prod" "max" "min" "any" "all" "argmax" "argmin". `guard` 0: none. */
PW_C_EXPORT pw_expr pw_builder_reduce(pw_builder* builder, const char* reducer, const pw_expr* indices, size_t count,
                                      pw_expr guard, pw_expr body);
/* `value where guard else otherwise`. */
PW_C_EXPORT pw_expr pw_builder_where(pw_builder* builder, pw_expr guard, pw_expr value, pw_expr otherwise);
/* Writes the `count` components of what becomes of `left` and `right`. */
typedef void (*pw_combine)(void* user, const pw_expr* left, const pw_expr* right, pw_expr* result);
/* A combiner of tuples of `count` components: their types and identities, which are literals. `is_associative`,
 * `is_commutative`: not 0: a promise. `body` is called once, before this returns. */
PW_C_EXPORT pw_combiner pw_builder_combiner(pw_builder* builder, const char* name, const char* const* types,
                                            const double* identities, size_t count, int is_associative,
                                            int is_commutative, pw_combine body, void* user);
PW_C_EXPORT pw_expr pw_builder_reduce_by(pw_builder* builder, pw_combiner combiner, const pw_expr* indices,
                                         size_t count, pw_expr guard, const pw_expr* bodies, size_t body_count);
/* An equation, of one element or of several that get the components of one value. `guard` 0: none; else it restricts
 * where the equation defines anything. 1; 0 where an argument is wrong. */
PW_C_EXPORT int pw_builder_define(pw_builder* builder, pw_expr element, pw_expr guard, pw_expr value);
PW_C_EXPORT int pw_builder_define_several(pw_builder* builder, const pw_expr* elements, size_t count, pw_expr value);
/* The program's source text. */
PW_C_EXPORT pw_status pw_builder_text(const pw_builder* builder, pw_buffer** out);
/* PW_BAD_INPUT: the first misuse (PW0150), or what the language says about the text. */
PW_C_EXPORT pw_status pw_builder_build(const pw_builder* builder, pw_program** out);

/* ---- tuners ---- */

PW_C_EXPORT pw_status pw_tuner_create(const pw_tuner_options* options, pw_tuner** out);
PW_C_EXPORT void pw_tuner_free(pw_tuner* tuner);
/* PW_OK when all checks of the language pass, PW_BAD_INPUT with messages in pw_last_error() otherwise. */
PW_C_EXPORT pw_status pw_tuner_check(pw_tuner* tuner, const pw_program* program);
PW_C_EXPORT pw_status pw_tuner_tune(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                    pw_record** out);
/* PW_NO (PW0713) when the database has no record of this task; pw_last_error() names the nearest one. */
PW_C_EXPORT pw_status pw_tuner_best(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                    pw_record** out);
/* The record of the same program that is nearest to the task, and by pw_record_differs_in what it differs in. PW_NO
 * (PW0713) where there is none. */
PW_C_EXPORT pw_status pw_tuner_nearest(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                       pw_record** out);
/* By trace, record, the model's first choice or the base order, whichever comes first. With options->symbolic a kernel
 * for all sizes: pw_kernel_at, pw_kernel_run_at. */
PW_C_EXPORT pw_status pw_tuner_compile(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                       pw_kernel** out);
/* As pw_tuner_tune, with all that the search says of itself. */
PW_C_EXPORT pw_status pw_tuner_tune_report(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                           pw_report** out);
/* Searches `count` programs in turns within `budget_ms` for all of them: the next turn is for the program that is
 * expected to save most time over all its calls. One report a program, in their order; a program that fails has its
 * error there. PW0709 in all of them without a database. */
PW_C_EXPORT pw_status pw_tuner_tune_several(pw_tuner* tuner, const pw_shared_program* const* programs, size_t count,
                                            int64_t budget_ms, pw_report_list** out);
/* PW_OK, or the error of this program: its message and code. */
PW_C_EXPORT pw_status pw_report_status(const pw_report* report);
PW_C_EXPORT const char* pw_report_error(const pw_report* report);
PW_C_EXPORT const char* pw_report_error_code(const pw_report* report);
/* Belongs to the report; NULL where the program failed. Its number is 0 where nothing was stored. */
PW_C_EXPORT const pw_record* pw_report_record(const pw_report* report);
PW_C_EXPORT int pw_report_is_hit(const pw_report* report); /* the database answered, nothing was measured */
/* "budget", "trials", "share of the roofline", "space exhausted", "no expected gain", "interrupted", "deadline",
 * "hit", "schedule", "nothing measured". */
PW_C_EXPORT const char* pw_report_reason(const pw_report* report);
PW_C_EXPORT int32_t pw_report_measured(const pw_report* report); /* candidates that ran right */
PW_C_EXPORT int32_t pw_report_failed(const pw_report* report);
PW_C_EXPORT double pw_report_wall_s(const pw_report* report);
PW_C_EXPORT double pw_report_flops(const pw_report* report);        /* of one call: a multiply-add counts 2 */
PW_C_EXPORT double pw_report_reference_ns(const pw_report* report); /* the untuned base nest; 0: not measured */
PW_C_EXPORT double pw_report_peak_gflops(const pw_report* report);  /* 0: not measured */
PW_C_EXPORT size_t pw_report_warning_count(const pw_report* report);
PW_C_EXPORT const char* pw_report_warning(const pw_report* report, size_t index);
PW_C_EXPORT void pw_report_free(pw_report* report);
PW_C_EXPORT size_t pw_report_list_count(const pw_report_list* list);
/* Belongs to the list; NULL out of range. */
PW_C_EXPORT const pw_report* pw_report_list_at(const pw_report_list* list, size_t index);
PW_C_EXPORT void pw_report_list_free(pw_report_list* list);

/* What a program becomes: `stage` is "program" "scop" "dependences" "schedule" "trace" "loops" "storage" "vectors"
 * "levels" "llvm" or "assembly"; `after`: of "vectors", the pass of code generation behind which, the last when NULL.
 */
PW_C_EXPORT pw_status pw_tuner_show(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                    const char* stage, const char* after, pw_buffer** out);
/* The same of a record. PW_BAD_INPUT (PW0540) for stages of code where it is of another target than the tuner's. */
PW_C_EXPORT pw_status pw_tuner_show_record(pw_tuner* tuner, const pw_record* record, const char* stage,
                                           const char* after, pw_buffer** out);
/* Some tenths of a second. PW_BAD_INPUT (PW0540) for a record of another target. */
PW_C_EXPORT pw_status pw_tuner_roofline(pw_tuner* tuner, const pw_record* record, pw_roofline* out);
/* PW_NO (PW0710) where the database does not have it. */
PW_C_EXPORT pw_status pw_tuner_record(pw_tuner* tuner, int64_t id, pw_record** out);
/* Proves the record's nest again from its texts. PW_NO: PW0720 where it is refuted, PW0721 where it is not proven. */
PW_C_EXPORT pw_status pw_tuner_prove(pw_tuner* tuner, const pw_record* record);

/* Runs the kernel and the compiled base order on seeded inputs (options->seed), integer-valued and random, and
 * compares. PW_NO with the first difference in pw_last_error() where they are not the same. */
PW_C_EXPORT pw_status pw_tuner_verify(pw_tuner* tuner, const pw_program* program, const pw_task_options* options);
/* Times the kernel in turns with the peak, and the base order. `milliseconds`: to spend on measuring, at least 1. */
PW_C_EXPORT pw_status pw_tuner_bench(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                     int64_t milliseconds, pw_bench_result* out);
/* Records of the database by number, `limit` of them after the first `offset`. */
PW_C_EXPORT pw_status pw_tuner_list(pw_tuner* tuner, int64_t limit, int64_t offset, pw_record_list** out);
PW_C_EXPORT size_t pw_record_list_count(const pw_record_list* list);
/* Belongs to the list; NULL out of range. */
PW_C_EXPORT const pw_record* pw_record_list_at(const pw_record_list* list, size_t index);
PW_C_EXPORT void pw_record_list_free(pw_record_list* list);

/* What a record holds, compiled: no search; no isl where this host or this process has proven it, else it is proven
 * again first. */
PW_C_EXPORT pw_status pw_tuner_compile_record(pw_tuner* tuner, const pw_record* record, pw_kernel** out);
/* `emit`: "object" "assembly" "llvm" "shared" "static" "header" "c" "artifact" (what the target's runner loads).
 * `symbol`: the program's name when NULL. options->abi says how the kernel takes its arguments. */
PW_C_EXPORT pw_status pw_tuner_build(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                     const char* emit, const char* symbol, pw_buffer** out);

/* A NUL follows the last byte, so that a text is one. */
PW_C_EXPORT const void* pw_buffer_data(const pw_buffer* buffer);
PW_C_EXPORT size_t pw_buffer_bytes(const pw_buffer* buffer);
PW_C_EXPORT void pw_buffer_free(pw_buffer* buffer);

PW_C_EXPORT void pw_record_free(pw_record* record);
PW_C_EXPORT int64_t pw_record_id(const pw_record* record);
PW_C_EXPORT double pw_record_median_ns(const pw_record* record);
PW_C_EXPORT const char* pw_record_trace(const pw_record* record);
PW_C_EXPORT const char* pw_record_program_name(const pw_record* record);
PW_C_EXPORT const char* pw_record_program_key(const pw_record* record);
PW_C_EXPORT const char* pw_record_numerics(const pw_record* record);
PW_C_EXPORT int32_t pw_record_threads(const pw_record* record);
PW_C_EXPORT int64_t pw_record_unix_time(const pw_record* record);
/* Values of the program's parameters, in its order; 0 out of range. */
PW_C_EXPORT size_t pw_record_parameter_count(const pw_record* record);
PW_C_EXPORT int64_t pw_record_parameter(const pw_record* record, size_t index);

/* Of a record that pw_tuner_nearest gave: in what it differs from the task that was asked for, "binding, threads"; else
 * "". */
PW_C_EXPORT const char* pw_record_differs_in(const pw_record* record);

/* 1 where the checker has proven the record's nest: only such records are served by pw_tuner_best. */
PW_C_EXPORT int pw_record_is_proven(const pw_record* record);

/* "record #12", "trace", "analytic model", "base order" or "symbolic base order". */
PW_C_EXPORT const char* pw_kernel_origin(const pw_kernel* kernel);
/* Sizes that a call of a symbolic kernel takes, in program order; none: the kernel has its sizes. */
PW_C_EXPORT size_t pw_kernel_size_count(const pw_kernel* kernel);
PW_C_EXPORT const char* pw_kernel_size_name(const pw_kernel* kernel, size_t index);
/* A symbolic kernel at `count` sizes: the same code, called like any other kernel. Some microseconds. PW_BAD_INPUT
 * (PW0670) for sizes that the program's assumptions exclude, and for a kernel that has its sizes. */
PW_C_EXPORT pw_status pw_kernel_at(const pw_kernel* kernel, const int64_t* sizes, size_t count, pw_kernel** out);
/* pw_kernel_at and pw_kernel_run, once. */
PW_C_EXPORT pw_status pw_kernel_run_at(const pw_kernel* kernel, const int64_t* sizes, size_t size_count,
                                       void* const* buffers, const size_t* bytes, size_t count);
/* Arguments: inputs then outputs, in program order. Out of range: 0 or "". Of a symbolic kernel extents that depend on
 * its sizes are -1, and so are bytes, as SIZE_MAX. */
PW_C_EXPORT size_t pw_kernel_argument_count(const pw_kernel* kernel);
PW_C_EXPORT const char* pw_kernel_argument_name(const pw_kernel* kernel, size_t index);
PW_C_EXPORT const char* pw_kernel_argument_type(const pw_kernel* kernel, size_t index); /* "f32", "i64" ... */
PW_C_EXPORT int pw_kernel_argument_is_output(const pw_kernel* kernel, size_t index);
PW_C_EXPORT size_t pw_kernel_argument_rank(const pw_kernel* kernel, size_t index);
PW_C_EXPORT int64_t pw_kernel_argument_extent(const pw_kernel* kernel, size_t index, size_t dimension);
PW_C_EXPORT size_t pw_kernel_argument_bytes(const pw_kernel* kernel, size_t index);
/* Dense row-major buffers, inputs then outputs in program order; sizes in bytes are checked. */
PW_C_EXPORT pw_status pw_kernel_run(pw_kernel* kernel, void* const* buffers, const size_t* bytes, size_t count);
PW_C_EXPORT void pw_kernel_free(pw_kernel* kernel);

#ifdef __cplusplus
}
#endif
#endif
