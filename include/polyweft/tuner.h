// Tuner: the library's main door. Everything that the command line does, it does through this header.
//
// A program goes in; a proven, compiled, compared, measured and stored kernel comes out; the second request costs a
// look-up. All isl work runs in a killable helper process, all candidate kernels in a sandboxed one.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/database.h"
#include "polyweft/program.h"
#include "polyweft/records.h"
#include "polyweft/result.h"
#include "polyweft/target.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// Programs of one source text, in order, with warnings of the parser.
struct ParsedPrograms {
  std::vector<Program> programs;
  std::vector<Diagnostic> warnings;
};
/// Parses, resolves, types. Error::diagnostics has every message found; render() makes them readable. Milliseconds, no
/// isl.
PW_EXPORT Result<ParsedPrograms> parse_programs(const std::string& text, const std::string& source_name);
/// The first program of a text.
PW_EXPORT Result<Program> parse_program(const std::string& text);
/// The whole of a regular file. PW0001 where it cannot be read, is a folder, a pipe or a device, or has more than
/// `most_bytes`: nothing is waited for, and no more than those bytes are held.
PW_EXPORT Result<std::string> read_file(const std::string& path, uint64_t most_bytes);
/// Replaces a file. PW0004 where it cannot be written.
PW_EXPORT Status write_file(const std::string& path, const std::string& bytes);
/// FILE or FILE:PROGRAM. PW0001 where the file cannot be read, PW0002 where it has no such program.
PW_EXPORT Result<Program> load_program(const std::string& file_and_program);
/// `file:line:col: error: text [PWnnnn]`, source line, caret, notes.
PW_EXPORT std::string render(const Diagnostic& diagnostic, const std::string& source_name,
                             const std::string& source_text);
/// All messages of an error as text, one a paragraph.
PW_EXPORT std::string render(const Error& error, const std::string& source_text);
/// What `polyweft explain PWnnnn` prints; nothing for an unknown code.
PW_EXPORT std::optional<std::string> explain_code(const std::string& code);
/// Key of the canonical form: 32 hex digits.
PW_EXPORT std::string program_key(const Program& program);
PW_EXPORT Result<TensorData> read_npy(const std::string& path, ElementType expected);
/// Of the array in a .npy file, by its header alone. As read_npy.
PW_EXPORT Result<std::vector<int64_t>> npy_extents(const std::string& path, ElementType expected);
PW_EXPORT Status write_npy(const std::string& path, const TensorData& data);
/// Version of Polyweft, LLVM and isl: "polyweft 0.1.0 llvm 22.1.8 isl 0.25".
PW_EXPORT std::string toolchain();

/// What a task is besides its program.
/// How an emitted kernel takes its arguments. halide: each a halide_buffer_t*; c: addresses of the elements, const for
/// inputs.
enum class Abi : uint8_t { halide, c };
struct TaskOptions {
  std::map<std::string, int64_t> parameters;  ///< the rest keep their defaults
  NumericsClass cls = NumericsClass::reassoc;
  int threads = 1;
  std::string trace;  ///< text of a trace that replaces record and model; empty: none
  /// compile(), build(), show() of loops, llvm, assembly: the sizes stay arguments of the kernel, after the buffers, as
  /// int64_t in program order. Takes neither parameters nor a trace. verify() runs such a kernel at these parameters.
  /// Whoever measures or stores binds the sizes: PW0521.
  bool symbolic = false;
  /// Bytes that a kernel may ask of halide_malloc in one call, all tasks at once; a proven bound. PW0821 names the
  /// least found where nothing keeps it.
  std::optional<int64_t> max_workspace = std::nullopt;
  Abi abi = Abi::halide;  ///< of what build() makes, C source apart: its functions take addresses
  /// Asked some fifty times a second by the calling thread. True ends the call within a second: PW0839, or of a search
  /// what was found so far.
  std::function<bool()> cancelled = {};
  /// Wall time of the call; beyond it as cancelled. Zero: none.
  std::chrono::milliseconds deadline{0};
  /// tune(), bench(): inputs by name whose data kernels are compared and timed on, instead of seeded ones. PW0005 for a
  /// name that is no input, PW0006 for another type or shape, PW0660 for more than 48 MiB.
  std::map<std::string, TensorData> inputs = {};
};
/// What is known before the first trial.
struct TuneStart {
  std::string key;         ///< of the program: 32 hex digits
  double flops = 0;        ///< of one call: multiply-add counts 2
  double bytes = 0;        ///< of all inputs and outputs
  double peak_gflops = 0;  ///< peak of multiply-adds in the program's widest float type on the task's threads, measured
                           ///< now; 0 where it cannot be
  double memory_gb_s = 0;  ///< rate of reading past the caches, measured now; 0 where it cannot be
  double fastest_over_peak = 1;  ///< rate of the fastest unit that the program can use over peak_gflops: vectors of its
                                 ///< narrowest integers, tensor instructions
  /// Roofline, nanoseconds: `flops` at the rate of that unit or, where `bytes` exceed the caches, `bytes` at the memory
  /// rate; 0: not known.
  double bound_ns = 0;
  double memory_ns = 0;  ///< of bound_ns what memory alone takes; 0 where all arguments fit the caches
  SearchEffort before;   ///< what earlier searches of this task spent: the limits count it
  int sketches = 0;
  double points = 0;  ///< of the space, before constraints
  std::optional<NearestRecord> nearest;
};
/// `start` before the first trial; `hit` where the database's record answers; `done` last, wherever a report is given;
/// `doing` whenever something else is being done, `what` says what: "ranking schedules".
enum class TuneEvent : uint8_t { start, hit, trial, best, done, doing };
struct TuneProgress {
  TuneEvent event = TuneEvent::start;
  int trial = 0, measured = 0, failed = 0;
  int64_t scored = 0;
  double elapsed_s = 0;
  RunStatus status = RunStatus::not_run;
  double ns = 0, predicted_ns = 0, best_ns = 0;
  double peak_gflops = 0;           ///< with `best` and `done`: as TuneReport's; 0 where it was not measured
  std::string what;                 ///< why it failed
  std::string trace;                ///< of the candidate, text
  const TuneStart* plan = nullptr;  ///< with TuneEvent::start; valid during the call
};
/// Limits are of all searches of a task together, as the database remembers them: a record answers where one of them is
/// reached, else the search goes on and measures nothing twice. With a trace (TaskOptions::trace) there is no search:
/// that schedule is proven, measured and stored.
struct TuneOptions : TaskOptions {
  static constexpr std::chrono::milliseconds kNoLimit = std::chrono::milliseconds::max();
  /// Wall time of everything, analysis and proof included; up to a second more, or a twentieth of it, where what was
  /// found is still to be proven. PW0839 where nothing was measured before. Zero: nothing is measured; the answer is
  /// the record, else the first choice of the model that is proven, which is not stored. kNoLimit: other limits end the
  /// search.
  std::chrono::milliseconds budget{60'000};
  int trials = 0;  ///< candidates that are built and run; zero: no limit
  double until =
      0;  ///< ends the search at this share of the roofline (TuneStart::bound_ns / best), 0 < until <= 1; zero: never
  uint64_t seed = 1;
  bool refresh = false;  ///< search from the beginning, whatever the database has; what failed before is not run again
  /// Schedules of the installed library whose programs have this one's structure are part of the search, adapted to
  /// sizes, types and machine; the best predicted ones are measured right after the first choices.
  bool uses_library = true;
  /// A folder of files like the library's, which are taken the same way: each a program in lines that begin with `#| `
  /// and a trace. Empty: none. PW0010 where it cannot be read; a file of it that is of no use is a warning (PW0011).
  std::string seeds;
  std::function<void(const TuneProgress&)> progress;
};
struct TuneReport {
  TuningRecord record;  ///< id 0: not stored (no database, or nothing was measured)
  bool hit = false;     ///< served from the database, nothing measured
  bool interrupted = false;
  int64_t served =
      0;  ///< number of the record that best() gives now: another than `record` where a schedule by hand is slower
  SearchEffort effort;  ///< of all searches of this task, this one included
  /// As BenchReport::warnings, of a schedule by hand; of a search the files of TuneOptions::seeds that are of no use.
  std::vector<std::string> warnings;
  int measured = 0, failed = 0, sketches = 0;
  int seeds = 0;  ///< of the sketches those that the library's schedules and those of TuneOptions::seeds make
  int refuted =
      0;  ///< kernels that ran and that the checker refuted, each a defect of this library: none of them is kept
  int64_t scored = 0;
  double wall_s = 0;
  double flops = 0;         ///< of one call: multiply-add counts 2
  double reference_ns = 0;  ///< the untuned base nest, warm, in turns with the record's kernel; 0: not measured
  Timing beside_base;       ///< ratio: the record's kernel over the untuned base nest, by pairs; 0: not compared
  double peak_gflops = 0;   ///< as BenchReport's, in turns with the record's kernel; 0: not measured
  std::string peak_of;      ///< as BenchReport's
  /// Why it ended: "budget", "trials", "share of the roofline", "space exhausted", "no expected gain", "interrupted",
  /// "deadline"; "hit": a record answered; "schedule": one by hand; "nothing measured".
  std::string reason;
};

/// Who measures is somebody else: `polyweft-runner --batch FILE`, on a machine without compilers or a database.
struct ProposeOptions {
  int candidates = 32;     ///< new ones, beside the served record, the first choice and the base nest
  std::string path;        ///< of the file
  std::string references;  ///< target of the CPU kernels that compute the right answers; empty: this machine. Where
                           ///< candidates run on a CPU, these are of the candidates' target
};
struct ProposeReport {
  int candidates = 0, without_code = 0;  ///< in the file; of these such as no code is made of
  bool is_exhausted = false;             ///< the space had no more
  std::vector<std::string> warnings;
};
struct ObserveReport {
  int candidates = 0, measured = 0, failed = 0;  ///< of the file; what its results say
  int rows = 0;                                  ///< new in the database
  std::string device, host;                      ///< that measured; device empty: its CPU
  bool is_emulated = false;
  std::optional<TuningRecord> record;  ///< the winner's, stored now or served before; none before all was measured
  bool is_new = false;                 ///< stored now
  int refuted = 0;                     ///< as TuneReport
};

/// The name of the target that a file of candidates is for. PW0614 where it is none.
PW_EXPORT Result<std::string> target_of_work(const std::string& path);
/// The target of references that whatever machine has a device can be expected to run: a common level of this
/// machine's architecture; empty where that is not known or more than this machine has.
PW_EXPORT std::string usual_references();

/// One of several programs that share a budget.
struct SharedProgram {
  Program program;
  TuneOptions options;  ///< `budget` does not count; `trace` is empty
  double calls = 1;     ///< how often it runs, in the unit of the others; above 0
  /// Before each of its searches, with the wall time at which this one ends, all searches of the program together.
  std::function<void(double until_s)> turn = {};
};

/// A kernel loaded in this process: call it as often as you like. Copies are one kernel, whose calls take turns;
/// kernels of several compile() and at() run side by side on as many threads.
class PW_EXPORT Kernel {
 public:
  struct Impl;
  explicit Kernel(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  /// Inputs in program order; gives the outputs. Packs const inputs where their bytes changed. PW06xx where a size or
  /// type is wrong.
  Result<std::vector<TensorData>> run(const std::vector<TensorData>& inputs);
  /// On the caller's memory: inputs and outputs in ABI order, dense row-major; elements that a partial output leaves
  /// undefined stay as they are.
  Status call(const std::vector<void*>& buffers);
  /// As run(), `repetitions` calls timed one by one on buffers of its own.
  Result<std::vector<std::chrono::nanoseconds>> time(const std::vector<TensorData>& inputs, int repetitions);
  /// Of a symbolic kernel (TaskOptions::symbolic): names of the sizes that a call takes, in program order. Empty: it
  /// has its sizes.
  const std::vector<std::string>& sizes() const;
  /// A symbolic kernel at these sizes, one for each of sizes(): the same code, called like any other kernel. Some
  /// microseconds. PW0670 for another number of sizes, for sizes that the program's assumptions exclude, and for a
  /// kernel that has its sizes.
  Result<Kernel> at(const std::vector<int64_t>& sizes) const;
  /// at(sizes), called once.
  Result<std::vector<TensorData>> run(const std::vector<TensorData>& inputs, const std::vector<int64_t>& sizes) const;
  Status call(const std::vector<void*>& buffers, const std::vector<int64_t>& sizes) const;
  /// In ABI order: inputs, outputs. Of a symbolic kernel extents that depend on its sizes are -1.
  const std::vector<ArgumentSpec>& arguments() const;
  /// "record #12", "trace", "analytic model", "base order", "symbolic base order".
  const std::string& origin() const;

 private:
  std::shared_ptr<Impl> impl_;
};

enum class ShowStage : uint8_t {
  program,
  scop,
  dependences,
  schedule,
  trace,
  loops,
  llvm,
  assembly,
  storage,
  vectors,
  levels
};
/// Names of code generation's passes over nests, in their order.
std::vector<std::string> PW_EXPORT code_passes();
std::optional<Emit> PW_EXPORT emit_named(const std::string& name);
std::optional<ShowStage> PW_EXPORT stage_named(const std::string& name);
struct BuildResult {
  std::vector<unsigned char> bytes;
  std::string origin;  ///< as Kernel::origin; of several targets each with its name
  /// What a program adds that links an object or an archive, in words: "the C library alone". Empty: nothing is said.
  std::string to_link;
};
/// Where a buffer of a kernel lies.
struct StorageBuffer {
  std::string name, tensor;  ///< tensor: what its cells hold elements of; empty: nothing of the program
  std::string kind;          ///< "argument", "packed", "constant", "workspace", "shared", "stack", "registers", "tiles"
  ElementType type = ElementType::f32;
  std::vector<int64_t> extents;
  std::vector<int64_t> windows;  ///< one a dimension: its cells are reused modulo this; 0: not folded
  std::string layout;            ///< "row-major", or digits of the dimensions, outermost first
  int64_t bytes = 0;
  int64_t first = -1,
          last =
              -1;   ///< statements of the nest in the order of the text, from 0, between which it is in use; -1: never
  int64_t at = -1;  ///< bytes from the start of its block, or of the buffer that it lies within; -1: memory of its own
                    ///< outside the workspace
  std::string within;  ///< kind "shared": the buffer in whose memory it lies
  int64_t block = -1;  ///< of the workspace
};
/// A block of the heap: what one call of halide_malloc gives.
struct StorageBlock {
  int64_t bytes = 0;      ///< without what aligns it
  int64_t instances = 1;  ///< at most so many at once: of the call 1, of tasks the iterations of their loop
};
struct Storage {
  std::string text;
  std::vector<StorageBuffer> buffers;
  std::vector<StorageBlock> blocks;
  int64_t workspace_bytes = 0;          ///< asked of halide_malloc by one call, all tasks at once: no call takes more
  int64_t single_assignment_bytes = 0;  ///< of the locals of the program, each element a cell
};
/// What must come before what.
struct Dependence {
  std::string kind;  ///< "flow": the sink reads what the source defines; "order": folds of one statement, where the
                     ///< class keeps it
  std::string source, sink;  ///< statements; of an order the same
  std::string
      relation;  ///< of a flow: from instances of the source to instances of the sink, isl's notation, symbolic sizes
  std::string reducer;               ///< of an order: "sum", "max" ...
  std::vector<std::string> indices;  ///< of an order: it is lexicographic in these
};
/// What no schedule of a task beats on this machine, as TuneStart has it: a bound that the kernel beats is none.
struct Roofline {
  double flops = 0, bytes = 0;              ///< of one call; bytes: of all arguments
  double peak_gflops = 0, memory_gb_s = 0;  ///< measured now; 0 where they cannot be
  double kernel_ns =
      0;  ///< the record's kernel now, in turns with the peak; 0: not run, and the peak is of bursts of its own
  double bound_ns = 0,
         memory_ns = 0;  ///< 0: not known; memory_ns: the part of memory alone, 0 where all arguments fit the caches
  std::string unknown = {};  ///< why there is no bound; empty: there is one, or nobody could measure
};
struct CheckReport {
  std::vector<Diagnostic> errors, warnings;
};
struct Comparison {
  bool equal = false;
  bool is_tested = true;  ///< false: no element could be judged, the reference or its bounds are not finite
  std::string detail;     ///< first difference, or the greatest share of the bound that was used
  std::vector<TensorData> outputs;
};
/// What a kernel is compared with: a stored record of the same program and binding, or a trace.
struct BenchRival {
  std::string name;
  int64_t record = 0;  ///< 0: the trace
  std::string trace;   ///< text
};
/// timing.ratio: rival / kernel, interleaved, with its 95 % interval.
struct BenchRow {
  std::string name;
  Timing timing;
};
struct BenchReport {
  std::string origin;
  Timing kernel;
  Timing reference;              ///< the untuned base nest, its ratio as that of a rival; all 0 where a device did not
                                 ///< run it, which a warning says
  std::vector<BenchRow> rivals;  ///< in the order in which they were given
  double flops = 0;
  double peak_gflops = 0;  ///< of the used threads, by `peak_of` in registers alone, in turns with the kernel and for
                           ///< as long; 0: none known
  std::string peak_of;  ///< the instruction that the kernel multiplies and adds with: "f32 multiply-adds", "tdpbusd";
                        ///< empty: none known
  std::vector<std::string>
      warnings;              ///< what a search would have refused: spilled registers, far slower than the base nest
  bool is_emulated = false;  ///< times are an emulator's: they say nothing of the machine that the target describes
};

/// What this host knows of a stored record.
enum class Standing : uint8_t {
  unknown,   ///< nothing: its nest is proven before it is served
  attested,  ///< this host has proven it as it stands
  altered,   ///< this host had proven it, and it was changed since
};
PW_EXPORT const char* name_of(Standing standing);
/// $XDG_STATE_HOME/polyweft/secret, else ~/.local/state/polyweft/secret; empty where neither is known. Reads the
/// environment, as who fills in TunerOptions may.
PW_EXPORT std::string default_secret_path();
/// Is code being made that nobody waits for any more, since a call was stopped? The end of a process waits for it;
/// a program that must not wait ends with _exit().
PW_EXPORT bool is_code_being_made();
/// $XDG_CACHE_HOME/polyweft/answers.db, else ~/.cache/polyweft/answers.db; empty where neither is known.
PW_EXPORT std::string default_cache_path();

/// Processor time of one stage of planning, search and code generation.
struct StageTime {
  std::string stage;  ///< "isl: bands", "ranking by the model"
  double processor_ms = 0;
  int64_t entered = 0;  ///< how often
};

struct TunerOptions {
  std::string database;  ///< path; empty: no database
  /// Where that file is not there, who looks finds nothing. Without it: PW0724, but for tune(), propose(), observe(),
  /// adopt() and probe(), which make it.
  bool may_miss_database = false;
  /// File of this host's secret, made with mode 0600 at the first use, which tells the records that this host has
  /// proven from all others. Empty, or where it cannot be made: each process proves a record again before it serves it.
  std::string secret = default_secret_path();
  /// File of analyses and first choices that later processes of this user take as they are: by program, target and
  /// build, each with a MAC of `secret`; up to 64 MiB. Empty, unwritable or altered: they are made anew.
  std::string cache = {};
  std::function<void(const std::string&)> notice = {};  ///< a line for the user: a record was proven again, or could
                                                        ///< not be; data on which the reference is not finite
  /// What a call does now, in a few words ("ranking schedules"), for a line that the next one replaces.
  std::function<void(const std::string&)> doing = {};
  std::string
      helper_directory;  ///< where polyweft-isl and polyweft-runner are; empty: beside the library or its libexec
  /// Command and arguments of the runner that tune() and bench() ask, on whatever machine: a polyweft-runner of this
  /// build for the target's architecture behind an emulator or ssh. Empty: the installed one, which runs kernels of
  /// this machine.
  std::vector<std::string> runner = {};
  std::chrono::milliseconds isl_deadline{10'000};
  int64_t workspace_limit_bytes = int64_t{4} << 30;
};

/// Any thread may call: one call is answered at a time, the others wait for their turn, as long as their deadline and
/// `cancelled` let them (PW0839). The functions of the options are called by the calling thread, and may call the
/// object themselves. Kernels run beside it. Several objects and processes may share a database file. An object is
/// moved and destroyed while nobody calls it.
class PW_EXPORT Tuner {
 public:
  Tuner(Target target, TunerOptions options);
  ~Tuner();
  Tuner(Tuner&&) noexcept;
  Tuner& operator=(Tuner&&) noexcept;

  const Target& target() const;
  /// Where the processor's time of all calls so far went, helpers' and kernels' included, the most expensive stage
  /// first. Kernels of `run` count as the caller's.
  std::vector<StageTime> timings() const;
  /// All checks of the language, for all sizes, or for these alone (parameters by name; others stay open). Errors of
  /// the helper (limits) come as PW08xx diagnostics, sizes that make_binding refuses as PW0120.
  CheckReport check(const Program& program, const std::map<std::string, int64_t>& sizes = {});
  /// Searches, compares, measures, proves, stores. A hit returns at once.
  Result<TuneReport> tune(const Program& program, const TuneOptions& options);
  /// Writes the next candidates of a search to a file. PW0614 where it cannot be written.
  Result<ProposeReport> propose(const Program& program, const TuneOptions& options, const ProposeOptions& proposal);
  /// What `polyweft-runner --batch` has found, into the database: all that was measured, and once that is all of the
  /// file, the winner as a record, proven here. The same results twice add nothing. PW0614, PW0615 for files that are
  /// none, damaged or of other work; PW0616 where this tuner's target is not the file's; PW0709 without a database.
  Result<ObserveReport> observe(const std::string& path, const TuneOptions& options = {});
  /// Searches several programs in turns, within `budget` for all of them: after a first turn for each, the next one is
  /// for the program that is expected to save most time over all calls. What earlier commands spent counts, so that the
  /// same command goes on where it was stopped. One report a program, of its last turn; the first error of the library
  /// or of a program ends the turns of this program alone. PW0709 where no database was given.
  std::vector<Result<TuneReport>> tune(const std::vector<SharedProgram>& programs, std::chrono::milliseconds budget);
  /// The stored record of a task, if there is one.
  Result<std::optional<TuningRecord>> best(const Program& program, const TaskOptions& options);
  /// Where there is none: the nearest record of the program, and what it differs in. Nothing without a database.
  Result<std::optional<NearestRecord>> nearest(const Program& program, const TaskOptions& options);
  /// Record's nest to a callable kernel; no isl where this host or this process has proven it, else it is proven again.
  /// PW0720 where it is refuted, PW0721 where it cannot be proven here (and is not the base nest).
  Result<Kernel> compile(const TuningRecord& record);
  /// By trace, record, the analytic model's first choice, or the base order, whichever comes first; a trace is proven
  /// again.
  Result<Kernel> compile(const Program& program, const TaskOptions& options);
  Result<BuildResult> build(const Program& program, const TaskOptions& options, Emit emit, const std::string& symbol);
  /// One object, archive, shared object or header with code for the targets of all these tuners, which are of one
  /// architecture: at its first call the kernel takes the one with most features that its CPU has. SYMBOL_level() in
  /// the header says which, and holds it to a lesser one in tests. PW0523 where the architecture, or this form, has no
  /// such products.
  static Result<BuildResult> build_for_all(std::vector<Tuner>& tuners, const Program& program,
                                           const TaskOptions& options, Emit emit, const std::string& symbol);
  /// `after`: of stage vectors, the pass of code_passes() behind which; empty: the last one. PW0524 for another name.
  Result<std::string> show(const Program& program, const TaskOptions& options, ShowStage stage,
                           const std::string& after = {});
  /// PW0540 for the stages of code, where the record is of another target.
  Result<std::string> show(const TuningRecord& record, ShowStage stage, const std::string& after = {});
  /// Assembly with its innermost loops marked, each with its cost by LLVM's model of the target's CPU.
  /// PW0540 where the record is of another target.
  Result<Assembly> assembly(const Program& program, const TaskOptions& options);
  Result<Assembly> assembly(const TuningRecord& record);
  /// Of a program for all sizes.
  Result<std::vector<Dependence>> dependences(const Program& program, const TaskOptions& options);
  Result<std::vector<Dependence>> dependences(const TuningRecord& record);
  /// Measures the machine, and runs the record's kernel beside the peak where a call takes up to 250 ms: some tenths of
  /// a second. PW0540 where the record is of another target.
  Result<Roofline> roofline(const TuningRecord& record);
  /// Where the buffers of the kernel that would run lie, and how many bytes they take.
  Result<Storage> storage(const Program& program, const TaskOptions& options);
  Result<Storage> storage(const TuningRecord& record);
  /// Runs the kernel and the compiled base nest on these inputs and compares by LANGUAGE.md section 4.
  Result<Comparison> verify(const Program& program, const TaskOptions& options, const std::vector<TensorData>& inputs);
  /// Runs where TunerOptions::runner says. PW0712 for a record of another program or binding; PW0651 for a kernel that
  /// does not run correctly.
  Result<BenchReport> bench(const Program& program, const TaskOptions& options, std::chrono::milliseconds budget,
                            const std::vector<BenchRival>& against = {});
  /// Seeded inputs in program order: integer-valued or random.
  Result<std::vector<TensorData>> make_inputs(const Program& program, const TaskOptions& options, InputSet set,
                                              uint64_t seed);
  /// Proves a stored record again from its texts, and attests it unless it was altered. PW0720 where it is refuted,
  /// PW0721 where it is not proven.
  Result<Certificate> prove(const TuningRecord& record);
  Standing standing(const TuningRecord& record);
  /// Of one call of the record's kernel: multiply-add counts 2. 0 where this host has not proven it: an unproven nest
  /// may take for ever to count.
  double flops(const TuningRecord& record);
  /// Takes over a record that was made elsewhere: its texts must belong together (PW0711), its nest is proven, compared
  /// and timed here where its target is this one, and stored: as "adopted" where it was timed, else as "imported",
  /// which best() does not serve. Its canonical text may be left out. PW0725 where it is here already, PW0651 where it
  /// does not run correctly.
  Result<TuningRecord> adopt(const TuningRecord& foreign);
  /// Probes this machine for the target, and stores what it found for later searches instead of what they stored.
  /// PW0709 where no database was given.
  Result<ProbedHost> probe();
  /// The database, opened at first use; PW0709 where none was given, PW0724 where its file is not there.
  Result<Database*> database();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polyweft
#pragma GCC visibility pop
