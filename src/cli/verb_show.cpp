#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "nest_outline.h"
#include "verbs.h"

namespace polyweft::cli {
namespace {

struct ShowOptions : CommonOptions {
  std::string what, stage, after;
  bool symbolic = false;
};

Result<std::string> text_of_program(Tuner& tuner, const ShowOptions& options, ShowStage stage) {
  auto program = load(options.what);
  if (!program) return program.error();
  TaskOptions task;
  if (auto filled = fill_task(options, task); !filled) return filled.error();
  task.symbolic = options.symbolic;
  return tuner.show(*program, task, stage, options.after);
}

void record_json(const TuningRecord& r) {
  nlohmann::json line = to_json(r);
  line.update({{"ci_rel", r.measurement.timing.ci_rel},
               {"check_ms", r.certificate.check_ms},
               {"toolchain", r.measurement.toolchain},
               {"unix_time", r.measurement.unix_time},
               {"trace", r.trace_text},
               {"nest", r.nest_text}});
  print_json("show", std::move(line));
}

void record_text(const TuningRecord& r, const ShowOptions& options) {
  const bool color = options.terminal().color_out;
  const bool proven = r.certificate.verdict == Verdict::proven;
  const std::string target = r.key.target.substr(0, r.key.target.find(','));
  std::cout << fmt::format(
      "{}   {} {}   {}/{}, {} thread{}   {}{}   tuned {}, proof {}, origin {}\n",
      painted("record " + std::to_string(r.id), Paint::bold, color), printable_line(r.program_name),
      printable_line(r.key.program.substr(0, 8)), printable_line(target), name_of(r.key.cls), r.key.threads,
      r.key.threads == 1 ? "" : "s", human_time(r.measurement.timing.median_ns),
      is_emulated(r.key) ? " expected in an emulator" : spread_text(r.measurement.timing), day(r.measurement.unix_time),
      painted(name_of(r.certificate.verdict), proven ? Paint::green : Paint::red, color), printable_line(r.origin));
  std::cout << fmt::format("sizes {}   measured by {}\n", binding_text(r.key.binding),
                           printable_line(r.measurement.toolchain));
  std::cout << "trace (edit and pass to `run|build|bench --schedule`)\n" << printable(r.trace_text);
  if (auto nest = parse_loop_nest(r.nest_text); nest && verify(*nest)) std::cout << outline(*nest);
  std::cout << "stages: --stage program|scop|dependences|schedule|trace|loops|storage|vectors|levels|llvm|assembly · "
               "numbers: "
               "--json "
               "· why: polyweft explain "
            << r.id << "\n";
}

int show_stage(const Result<std::string>& text, const std::string& stage, const ShowOptions& options) {
  if (!text) return report(text.error(), options);
  if (options.json)
    print_json("show", {{"event", "stage"}, {"stage", stage}, {"text", *text}});
  else
    std::cout << printable(*text) << (text->empty() || text->back() == '\n' ? "" : "\n");
  return kDone;
}

nlohmann::json dependence_json(const Dependence& d) {
  nlohmann::json out = {{"kind", d.kind}, {"source", d.source}, {"sink", d.sink}};
  if (d.kind == "flow")
    out["relation"] = d.relation;
  else
    out.update({{"reducer", d.reducer}, {"indices", d.indices}});
  return out;
}

// Text as for a person beside the same in pieces.
int show_dependences(const Result<std::string>& text, const Result<std::vector<Dependence>>& found,
                     const ShowOptions& options) {
  if (!text || !found) return report(text ? found.error() : text.error(), options);
  auto dependences = nlohmann::json::array();
  for (const Dependence& d : *found) dependences.push_back(dependence_json(d));
  print_json("show", {{"event", "stage"}, {"stage", options.stage}, {"text", *text}, {"dependences", dependences}});
  return kDone;
}

nlohmann::json loop_json(const LoopCost& loop) {
  return {{"function", loop.function},
          {"label", loop.label},
          {"first_line", loop.first_line},
          {"last_line", loop.last_line},
          {"depth", loop.depth},
          {"hot", loop.hot},
          {"instructions", loop.instructions},
          {"fmas", loop.fmas},
          {"vector", loop.vector},
          {"loads", loop.loads},
          {"stores", loop.stores},
          {"spills", loop.spills},
          {"cycles", loop.cycles},
          {"fma_ports", loop.fma_ports},
          {"load_ports", loop.load_ports},
          {"store_ports", loop.store_ports},
          {"front_end", loop.front_end},
          {"port_bound", loop.port_bound},
          {"busiest_port", loop.busiest_port},
          {"bound", loop.bound}};
}

int show_assembly(const Result<Assembly>& assembly, const ShowOptions& options) {
  if (!assembly) return report(assembly.error(), options);
  if (!options.json) return show_stage(assembly->text, options.stage, options);
  auto loops = nlohmann::json::array();
  for (const LoopCost& loop : assembly->loops) loops.push_back(loop_json(loop));
  print_json("show", {{"event", "stage"},
                      {"stage", options.stage},
                      {"text", assembly->text},
                      {"model", assembly->model},
                      {"loops", loops}});
  return kDone;
}

Result<Assembly> assembly_of_program(Tuner& tuner, const ShowOptions& options) {
  auto program = load(options.what);
  if (!program) return program.error();
  TaskOptions task;
  if (auto filled = fill_task(options, task); !filled) return filled.error();
  task.symbolic = options.symbolic;
  return tuner.assembly(*program, task);
}

nlohmann::json buffer_json(const StorageBuffer& b) {
  return {{"name", b.name},       {"tensor", b.tensor},   {"kind", b.kind},     {"type", name_of(b.type)},
          {"extents", b.extents}, {"windows", b.windows}, {"layout", b.layout}, {"bytes", b.bytes},
          {"first", b.first},     {"last", b.last},       {"block", b.block},   {"at", b.at},
          {"within", b.within}};
}

int show_storage(const Result<Storage>& storage, const ShowOptions& options) {
  if (!storage) return report(storage.error(), options);
  if (!options.json) return show_stage(storage->text, options.stage, options);
  auto buffers = nlohmann::json::array(), blocks = nlohmann::json::array();
  for (const StorageBuffer& buffer : storage->buffers) buffers.push_back(buffer_json(buffer));
  for (const StorageBlock& block : storage->blocks)
    blocks.push_back({{"bytes", block.bytes}, {"instances", block.instances}});
  print_json("show", {{"event", "stage"},
                      {"stage", options.stage},
                      {"text", storage->text},
                      {"buffers", buffers},
                      {"blocks", blocks},
                      {"workspace_bytes", storage->workspace_bytes},
                      {"single_assignment_bytes", storage->single_assignment_bytes}});
  return kDone;
}

Result<Storage> storage_of_program(Tuner& tuner, const ShowOptions& options) {
  auto program = load(options.what);
  if (!program) return program.error();
  TaskOptions task;
  if (auto filled = fill_task(options, task); !filled) return filled.error();
  task.symbolic = options.symbolic;
  return tuner.storage(*program, task);
}

Result<std::vector<Dependence>> dependences_of_program(Tuner& tuner, const ShowOptions& options) {
  auto program = load(options.what);
  if (!program) return program.error();
  TaskOptions task;
  if (auto filled = fill_task(options, task); !filled) return filled.error();
  return tuner.dependences(*program, task);
}

// The tree of a schedule that somebody writes: what `show RECORD` has of a stored one.
int show_outline(Tuner& tuner, const ShowOptions& options) {
  auto text = text_of_program(tuner, options, ShowStage::loops);
  if (!text) return report(text.error(), options);
  auto nest = parse_loop_nest(*text);
  if (!nest) return report(nest.error(), options);
  if (options.json)
    print_json("show", {{"event", "stage"}, {"stage", "loops"}, {"text", *text}, {"outline", outline(*nest)}});
  else
    std::cout << outline(*nest)
              << "stages: --stage program|scop|dependences|schedule|trace|loops|storage|vectors|levels|llvm|assembly\n";
  return kDone;
}

// A card shows the nest that would run: what is stored as proven must be proven for this host, too.
Status may_be_shown(Tuner& tuner, const TuningRecord& record) {
  if (record.certificate.verdict != Verdict::proven) return Ok{};
  auto nest = tuner.show(record, ShowStage::loops);
  return nest ? Status(Ok{}) : nest.error();
}

int show_record(Tuner given, const ShowOptions& options) {
  auto record = find_record(given, options.what);
  if (!record) return report(record.error(), options);
  auto of_record = tuner_of(*record, std::move(given), options);
  if (!of_record) return report(of_record.error(), options);
  Tuner& tuner = *of_record;
  const TimingsAtEnd timings(tuner, options);
  if (options.stage == "assembly") return show_assembly(tuner.assembly(*record), options);
  if (options.stage == "storage") return show_storage(tuner.storage(*record), options);
  if (options.stage == "dependences" && options.json)
    return show_dependences(tuner.show(*record, ShowStage::dependences), tuner.dependences(*record), options);
  if (!options.stage.empty())
    return show_stage(tuner.show(*record, *stage_named(options.stage), options.after), options.stage, options);
  if (auto may = may_be_shown(tuner, *record); !may) return report(may.error(), options);
  if (options.json)
    record_json(*record);
  else
    record_text(*record, options);
  return kDone;
}

/// "split_loops, scalar_replacement"
std::string joined_passes() {
  return fmt::format("{}", fmt::join(code_passes(), ", "));
}

int run_show(const ShowOptions& options) {
  if (!options.after.empty() && options.stage != "vectors")
    return report(fail("PW0003", "--after " + options.after + ": only --stage vectors has passes"), options);
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  if (is_record_number(options.what)) return show_record(std::move(*tuner), options);
  const TimingsAtEnd timings(*tuner, options);
  if (options.stage == "assembly") return show_assembly(assembly_of_program(*tuner, options), options);
  if (options.stage == "storage") return show_storage(storage_of_program(*tuner, options), options);
  if (options.stage == "dependences" && options.json)
    return show_dependences(text_of_program(*tuner, options, ShowStage::dependences),
                            dependences_of_program(*tuner, options), options);
  if (options.stage.empty() && !options.schedule.empty()) return show_outline(*tuner, options);
  const std::string stage = options.stage.empty() ? "loops" : options.stage;
  return show_stage(text_of_program(*tuner, options, *stage_named(stage)), stage, options);
}

}  // namespace

Verb add_show(CLI::App& app) {
  auto options = std::make_shared<ShowOptions>();
  options->add_to(app);
  options->add_workspace_to(app);
  options->add_schedule_to(app);
  app.add_option("FILE|RECORD", options->what,
                 "Program text, FILE:PROGRAM, - for standard input, or the number of a record")
      ->required();
  app.add_option("--stage", options->stage,
                 "Which stage: program, scop, dependences, schedule, trace, loops, storage, vectors, llvm or assembly "
                 "(default: loops; with --schedule: its tree; of a record: all at a glance)")
      ->type_name("STAGE")
      ->check(CLI::IsMember({"program", "scop", "dependences", "schedule", "trace", "loops", "storage", "vectors",
                             "levels", "llvm", "assembly"}));
  app.add_option("--after", options->after,
                 "Stage vectors: behind this pass of code generation (" + joined_passes() + "; default: the last)")
      ->type_name("PASS");
  app.add_flag("--symbolic", options->symbolic,
               "Stages loops, vectors, llvm: of the kernel that keeps its sizes as arguments");
  return [options] { return run_show(*options); };
}

}  // namespace polyweft::cli
