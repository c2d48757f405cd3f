/* The C ABI of Polyweft, first version.
 *
 * Conventions, once for all functions: handles are opaque; each type has one free function, which takes NULL; option
 * structs begin with struct_size = sizeof the struct, unknown tails are ignored and missing tails get defaults; a
 * function that can fail returns pw_status and writes its result through the last pointer only on success; no exception
 * leaves a function; text is UTF-8, NUL-ended. A handle belongs to one thread at a time. pw_last_error() is the message
 * of this thread's last failed call. A null argument is PW_BAD_INPUT with a message, except where a comment says what
 * NULL means; getters give 0 or "" for a NULL handle.
 *
 * Ownership: who gets a handle through an out pointer frees it. Texts that a function returns belong to the handle they
 * were asked of and live as long as it; pw_last_error() and pw_last_error_code() until this thread's next failed call.
 * A kernel, a record and a buffer stay valid after the tuner and the program they came from are freed. Times are
 * nanoseconds (_ns) or milliseconds (_ms), sizes bytes. */
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
  /* tune: asked between candidates, on the calling thread; non-zero ends the search, what was found is kept. Never when
   * NULL. */
  int (*cancelled)(void* user);
  void* user;
  int32_t symbolic; /* build: not 0: sizes stay arguments of the kernel, int64_t after the buffers in program order;
                       takes no parameters and no trace */
  int64_t max_workspace; /* bytes that a kernel may ask the runtime for in one call, all tasks at once; no limit when 0,
                            nothing at all when -1 */
  /* tune: called on the calling thread, with `user`. Nothing when NULL. */
  void (*progress)(void* user, const pw_progress* progress);
  const char* seeds;  /* tune: a folder of schedules to begin with, files as in the library; none when NULL */
  int32_t no_library; /* tune: not 0: begins with no schedule of the installed library */
} pw_task_options;

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
/* "PW0204" of this thread's last failed call; "" where the failure has none (a null argument). `polyweft explain` knows
 * it. */
PW_C_EXPORT const char* pw_last_error_code(void);

/* First program of the text. */
PW_C_EXPORT pw_status pw_program_parse(const char* text, pw_program** out);
/* The program of this name; PW_BAD_INPUT where the text does not have it. */
PW_C_EXPORT pw_status pw_program_parse_named(const char* text, const char* name, pw_program** out);
PW_C_EXPORT void pw_program_free(pw_program* program);
PW_C_EXPORT const char* pw_program_name(const pw_program* program);
/* 32 hex digits; valid until the program is freed. */
PW_C_EXPORT const char* pw_program_key(const pw_program* program);

PW_C_EXPORT pw_status pw_tuner_create(const pw_tuner_options* options, pw_tuner** out);
PW_C_EXPORT void pw_tuner_free(pw_tuner* tuner);
/* PW_OK when all checks of the language pass, PW_BAD_INPUT with messages in pw_last_error() otherwise. */
PW_C_EXPORT pw_status pw_tuner_check(pw_tuner* tuner, const pw_program* program);
PW_C_EXPORT pw_status pw_tuner_tune(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                    pw_record** out);
/* PW_NO (PW0713) when the database has no record of this task; pw_last_error() names the nearest one. */
PW_C_EXPORT pw_status pw_tuner_best(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                    pw_record** out);
PW_C_EXPORT pw_status pw_tuner_compile(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                       pw_kernel** out);

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
 * `symbol`: the program's name when NULL. */
PW_C_EXPORT pw_status pw_tuner_build(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                                     const char* emit, const char* symbol, pw_buffer** out);

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

/* 1 where the checker has proven the record's nest: only such records are served by pw_tuner_best. */
PW_C_EXPORT int pw_record_is_proven(const pw_record* record);

/* "record #12", "trace", "analytic model" or "base order". */
PW_C_EXPORT const char* pw_kernel_origin(const pw_kernel* kernel);
/* Arguments: inputs then outputs, in program order. Out of range: 0 or "". */
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
