// Which schedules of schedules/library the rules derive for a machine. Each trace is replayed at its own sizes and its
// nest looked for among the nests of the rules' templates, by hash; names of bands do not count. A line for each trace,
// tab-separated: its name, then
//   derived      a template has this nest
//   reached      a template of a rule and at most three mutations have it, and which (containment/chains.h)
//   sizes        a template has these steps, but offers other sizes: the decisions that differ
//   structure    the first step that no template has in this place, and the template that is nearest
//   instruction  the machine lacks an instruction that the trace names
//   refused      adapted to the machine the trace is not legal
// A step counts as equal whatever its sizes. Usage: bench_containment [--machine wide|narrow|TARGET] [--library FOLDER]
// [--derived FILE] [--mutations N] [--show] [--found FOLDER] [NAME_PART]; TARGET is for schedules/library/gpu; wide: 16
// lanes of f32 in 32 registers, 48 KB and 2 MB, tiles; narrow: 8 lanes in 16 registers, 32 KB and 512 KB, with each
// trace as a search on such a machine begins with it (schedules/seeds): as many vectors, blocks for as many registers.
// With a file of names (tests/library/derived.txt) those alone, without mutations: exit 1 where one is derived no
// longer. With --found FOLDER nothing is compared with the library: for each of its traces FOLDER/NAME.trace is a
// schedule that a search found on 8 lanes and 16 registers, and FOLDER/NAME.derived becomes the template that is
// nearest to it, with the sizes that are nearest to those of the library's trace. The file of names is made by
// bench_containment --mutations 0 | awk '$2 == "derived" {print $1}' > tests/library/derived.txt; for GPUs with
// --machine sm_80 --library schedules/library/gpu, tests/library/derived_gpu.txt
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "bench/containment/chains.h"
#include "driver/task.h"
#include "ir/nests/instruction.h"
#include "poly/band.h"
#include "poly/base_nest.h"
#include "schedules/seeds/seed_template.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "tests/library/cases.h"
#include "tests/machines.h"

using namespace polyweft;

namespace {

constexpr size_t kMostPoints = 4'000;  // of a template, with sizes that the trace names
constexpr double kAlike = 0.25;        // share of steps from which on a template's nests are looked at
constexpr size_t kNearest = 3;         // templates whose mutations are tried

struct Setting {
  Target target;
  Machine machine;
  bool adapts = false;  ///< traces are adapted: they were written for wide vectors
};

Setting setting_of(const std::string& name) {
  if (name != "wide" && name != "narrow") {
    const Target target = find_target(name).value();
    return {target, target.machine};
  }
  Setting out{*find_target(name == "narrow" ? "x86-64-v3" : "x86-64-v4"), {}};
  if (name == "wide")
    for (const char* feature : {"amx-bf16", "amx-int8", "amx-tile", "avx512bf16", "avx512vnni"})
      out.target.features.push_back(feature);
  std::sort(out.target.features.begin(), out.target.features.end());
  out.machine = name == "narrow" ? test::machine_with(32, 16, {32 << 10, 512 << 10, 16 << 20})
                                 : test::machine_with(64, 32, {48 << 10, 2 << 20, 32 << 20});
  out.machine.units.instructions = ir::instructions_of(out.target);
  out.adapts = name == "narrow";
  return out;
}

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '@';
}

/// The steps of a trace, numbers and decisions as "#".
std::vector<std::string> steps_of(const Trace& trace) {
  std::set<std::string> decisions;
  for (const Decision& d : trace.decisions) decisions.insert(d.name);
  std::vector<std::string> out;
  std::istringstream lines(trace.text());
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  ", 0) != 0) continue;
    std::string step, word;
    const auto flush = [&] {
      const bool is_number =
          !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); });
      step += is_number || decisions.contains(word) ? "#" : word;
      word.clear();
    };
    for (const char c : line.substr(2))
      if (is_letter(c)) {
        word += c;
      } else {
        flush();
        step += c;
      }
    flush();
    out.push_back(step);
  }
  return out;
}

std::set<int64_t> numbers_of(const std::string& text) {
  std::set<int64_t> out{0, 1};
  for (size_t at = 0; at < text.size(); ++at) {
    if (!std::isdigit(static_cast<unsigned char>(text[at])) || (at > 0 && is_letter(text[at - 1]))) continue;
    size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    if (end - at < 10) out.insert(std::stoll(text.substr(at, end - at)));
    at = end;
  }
  return out;
}

/// How many steps the two have in common, in order.
size_t common_steps(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j)
      table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : std::max(table[i - 1][j], table[i][j - 1]);
  return table.back().back();
}

/// A decision vector whose nest has this hash, of sizes that the trace names; none where there is none.
bool has_nest(const NestTemplate& made, const std::set<int64_t>& numbers, const std::string& wanted) {
  std::vector<std::vector<int64_t>> values;
  size_t points = 1;
  for (const Decision& d : made.trace.decisions) {
    std::vector<int64_t> named;
    for (const int64_t v : d.candidates)
      if (numbers.contains(v)) named.push_back(v);
    if (named.empty()) named = d.candidates.empty() ? std::vector<int64_t>{d.value} : d.candidates;
    values.push_back(named);
    points = std::min(kMostPoints, points * named.size());
  }
  for (size_t number = 0; number < points; ++number) {
    std::vector<int64_t> decisions(values.size());
    for (size_t c = values.size(), rest = number; c-- > 0; rest /= values[c].size())
      decisions[c] = values[c][rest % values[c].size()];
    if (violated(made.trace, decisions)) continue;
    const auto nest = instantiate(made, decisions);
    if (nest && hash(*nest) == wanted) return true;
  }
  return false;
}

std::string sizes_that_differ(const Trace& wanted, const Trace& nearest) {
  std::string out;
  for (const Decision& w : wanted.decisions) {
    const auto same = std::find_if(nearest.decisions.begin(), nearest.decisions.end(),
                                   [&](const Decision& d) { return d.name == w.name; });
    const bool is_offered =
        same != nearest.decisions.end() &&
        (same->candidates.empty() ? same->value == w.value
                                  : std::count(same->candidates.begin(), same->candidates.end(), w.value) > 0);
    if (!is_offered) out += (out.empty() ? "" : ", ") + w.name + " = " + std::to_string(w.value);
  }
  return out.empty() ? "together" : out;
}

struct Containment {
  std::string kind, detail;
};

/// A trace, the template that it makes and its nest.
struct Wanted {
  Trace trace;
  std::string hash;
};

/// The trace of a machine with such vectors as a search for this one begins with it; where there is none, why.
std::variant<Trace, Containment> adapted(const Trace& trace, const Program& program, NumericsClass cls,
                                         const Setting& setting, const schedules::Isl& isl,
                                         const schedules::VectorUnit& from = {}) {
  const auto own = schedules::structured(program);
  if (!own) return Containment{"error", "no structure"};
  schedules::SizeChange change;
  change.from = from;
  change.to = {setting.machine.units.vector_bits / 8, setting.machine.units.vector_registers};
  change.instructions = setting.machine.units.instructions;
  const auto open = schedules::open_trace(trace, schedules::Counterparts(*own, *own), change);
  if (!open) return Containment{"instruction", ""};
  const auto made = schedules::seed_template(program, cls, *open, isl);
  if (!made) return Containment{"refused", made.error().message};
  const auto values = schedules::instantiable(made->made, made->chosen.front());
  if (!values) return Containment{"refused", "no values of its decisions make a nest"};
  return with_values(made->made.trace, *values);
}

std::string first_difference(const std::vector<std::string>& steps, const std::vector<std::string>& own) {
  size_t at = 0;
  while (at < steps.size() && at < own.size() && steps[at] == own[at]) ++at;
  return "'" + (at < steps.size() ? steps[at] : "the end") + "' instead of '" +
         (at < own.size() ? own[at] : "the end") + "'";
}

Containment among(const std::vector<NestTemplate>& templates, const Wanted& wanted, const containment::Case& c,
                  const Setting& setting, size_t mutations, bool shows) {
  const std::vector<std::string> steps = steps_of(wanted.trace);
  const std::set<int64_t> numbers = numbers_of(wanted.trace.text());
  std::vector<std::pair<double, const NestTemplate*>> nearest;
  for (const NestTemplate& made : templates) {
    const auto own = steps_of(made.trace);
    const double alike = 2.0 * static_cast<double>(common_steps(steps, own)) /
                         static_cast<double>(std::max<size_t>(1, steps.size() + own.size()));
    nearest.emplace_back(alike, &made);
    if (alike >= kAlike && has_nest(made, numbers, wanted.hash)) return {"derived", ""};
  }
  if (nearest.empty()) return {"structure", "no template"};
  std::stable_sort(nearest.begin(), nearest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto spelled = containment::spelled(c, wanted.trace, values_of(wanted.trace));
  for (size_t k = 0; k < std::min(kNearest, nearest.size()) && spelled && mutations > 0; ++k) {
    const NestTemplate& from = *nearest[k].second;
    if (from.fixed || from.batch) continue;
    const auto values = containment::nearest_values(from.trace, *spelled);
    const auto start = containment::spelled(c, from.trace, values);
    if (!start) continue;
    const auto found = containment::chain(c, setting.machine, *start, {*spelled, wanted.hash}, mutations);
    if (shows && !found) std::printf("nearest %s%s\n", start->text().c_str(), spelled->text().c_str());
    if (!found) continue;
    std::string names;
    for (const std::string& name : *found) names += (names.empty() ? "" : ", ") + name;
    return {"reached", std::to_string(found->size()) + ": " + names};
  }
  const Trace& trace = nearest.front().second->trace;
  const std::vector<std::string> own = steps_of(trace);
  if (own == steps) return {"sizes", sizes_that_differ(wanted.trace, trace)};
  char share[32];
  std::snprintf(share, sizeof share, "%.2f", nearest.front().first);
  return {"structure", std::string(share) + " of " + std::to_string(templates.size()) +
                           " templates: " + first_difference(steps, own)};
}

/// The template that is nearest to a found schedule, with sizes that are nearest to those of another.
Result<Trace> nearest_to(const Trace& found, const Trace& sizes, const std::vector<NestTemplate>& templates,
                         const containment::Case& c) {
  const auto steps = steps_of(found);
  const NestTemplate* nearest = nullptr;
  double most = -1;
  for (const NestTemplate& made : templates) {
    const auto own = steps_of(made.trace);
    const double alike = 2.0 * static_cast<double>(common_steps(steps, own)) /
                         static_cast<double>(std::max<size_t>(1, steps.size() + own.size()));
    if (alike > most) most = alike, nearest = &made;
  }
  if (!nearest) return fail("PW0304", "no template");
  const auto spelled = containment::spelled(c, sizes, values_of(sizes));
  if (!spelled) return spelled.error();
  std::printf("%.2f ", most);
  return with_values(nearest->trace, containment::nearest_values(nearest->trace, *spelled));
}

/// A trace of the library, what isl says of its program, and the rules' templates.
struct Derived {
  Task task;
  Trace trace;
  schedules::Isl isl;
  std::vector<NestTemplate> templates = {};
};

Result<std::unique_ptr<Derived>> read(const std::filesystem::path& file, const Setting& setting) {
  const std::string text = library_test::contents(file);
  const auto program = parse_program(library_test::program_in(text));
  if (!program) return program.error();
  auto task = make_task(*program, {}, setting.target);
  if (!task) return task.error();
  auto trace = parse_trace(text);
  if (!trace) return trace.error();
  auto out = std::make_unique<Derived>(Derived{*std::move(task), containment::with_numbered_bands(*trace), {}});
  const Program& own = out->task.program;
  out->isl = {nullptr, [&own](const poly::BandQuestion& question) { return poly::band_facts(own, question); },
              [&own] { return poly::propose_bands(own); }};
  if (schedules::has_recurrence(own)) {
    auto base = poly::base_nest(own, out->task.key.cls);
    if (!base) return base.error();
    out->isl.recurrence_nest = std::make_shared<const LoopNest>(std::move(*base));
  }
  return out;
}

Status add_templates(Derived& d, const Setting& setting) {
  const NumericsClass cls = d.task.key.cls;
  auto templates = schedules::sketch_templates(d.task.program, cls, setting.machine, d.isl);
  if (!templates) return templates.error();
  auto more = schedules::search_templates(d.task.program, cls, setting.machine, *templates, d.isl);
  d.templates = *std::move(templates);
  std::move(more.begin(), more.end(), std::back_inserter(d.templates));
  return Ok{};
}

Containment containment_of(const std::filesystem::path& file, const Setting& setting, size_t mutations, bool shows) {
  auto read_file = read(file, setting);
  if (!read_file) return {"error", read_file.error().message};
  Derived& d = **read_file;
  const NumericsClass cls = d.task.key.cls;
  Wanted wanted{d.trace, ""};
  if (setting.adapts) {
    auto own = adapted(wanted.trace, d.task.program, cls, setting, d.isl);
    if (const auto* none = std::get_if<Containment>(&own)) return *none;
    wanted.trace = std::get<Trace>(std::move(own));
  }
  const auto replayed = schedules::replay(d.task.program, cls, wanted.trace, d.isl);
  if (!replayed) return {"error", replayed.error().message};
  const auto nest = instantiate(*replayed, values_of(replayed->trace));
  if (!nest) return {"error", nest.error().message};
  wanted.hash = hash(*nest);
  if (const auto status = add_templates(d, setting); !status) return {"error", status.error().message};
  return among(d.templates, wanted, {d.task.program, cls, d.isl}, setting, mutations, shows);
}

/// FOLDER/NAME.derived for the library's NAME from FOLDER/NAME.trace.
std::string derive(const std::filesystem::path& file, const std::filesystem::path& folder, const Setting& setting) {
  const auto source = folder / file.filename();
  if (!std::filesystem::exists(source)) return "";
  auto read_file = read(file, setting);
  const auto found = parse_trace(library_test::contents(source));
  if (!read_file || !found) return read_file ? found.error().message : read_file.error().message;
  Derived& d = **read_file;
  auto own =
      adapted(containment::with_numbered_bands(*found), d.task.program, d.task.key.cls, setting, d.isl, {32, 16});
  if (const auto* none = std::get_if<Containment>(&own)) return none->kind + " " + none->detail;
  if (const auto status = add_templates(d, setting); !status) return status.error().message;
  const auto made = nearest_to(std::get<Trace>(own), d.trace, d.templates, {d.task.program, d.task.key.cls, d.isl});
  if (!made) return made.error().message;
  std::ofstream(std::filesystem::path(source).replace_extension(".derived")) << made->text();
  return "written";
}

/// The kind of step in "..: 'stream O' instead of ..".
std::string first_word_missing(const std::string& detail) {
  const size_t from = detail.find('\'');
  if (from == std::string::npos) return detail;
  return detail.substr(from + 1, detail.find_first_of(" '", from + 1) - from - 1);
}

struct Options {
  std::string machine = "wide", derived, part, found;
  std::filesystem::path library = library_test::library_folder();
  size_t mutations = 3;
  bool shows = false;  ///< traces that are neither derived nor reached, each after those of the nearest templates
};

std::optional<Options> options_of(int argc, char** argv) {
  Options out;
  for (int a = 1; a < argc; ++a) {
    const std::string word = argv[a];
    if (word == "--show") {
      out.shows = true;
    } else if (word.rfind("--", 0) != 0) {
      out.part = word;
    } else if (a + 1 < argc && word == "--library") {
      out.library = argv[++a];
    } else if (a + 1 < argc && (word == "--machine" || word == "--derived" || word == "--found")) {
      (word == "--machine" ? out.machine : word == "--derived" ? out.derived : out.found) = argv[++a];
    } else if (a + 1 < argc && word == "--mutations" && std::isdigit(static_cast<unsigned char>(argv[a + 1][0]))) {
      out.mutations = std::stoul(argv[++a]);
    } else {
      return std::nullopt;
    }
  }
  const bool is_known = out.machine == "wide" || out.machine == "narrow" || find_target(out.machine).ok();
  return is_known ? std::optional(out) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = options_of(argc, argv);
  if (!options) {
    std::fprintf(
        stderr,
        "usage: bench_containment [--machine wide|narrow|TARGET] [--library FOLDER] [--derived FILE] [--mutations N] "
        "[--show] [--found FOLDER] [NAME_PART]\n");
    return 2;
  }
  std::set<std::string> expected;
  std::istringstream names(options->derived.empty() ? "" : library_test::contents(options->derived));
  for (std::string name; names >> name;)
    if (name.find(options->part) != std::string::npos) expected.insert(name);
  const Setting setting = setting_of(options->machine);
  std::map<std::string, int> counts, missing;
  for (const auto& file : library_test::library_files(options->library)) {
    const std::string name = file.stem();
    if (name.find(options->part) == std::string::npos || (!options->derived.empty() && expected.erase(name) == 0))
      continue;
    if (!options->found.empty()) {
      if (const auto said = derive(file, options->found, setting); !said.empty())
        std::printf("%s\t%s\n", name.c_str(), said.c_str());
      continue;
    }
    const Containment found =
        containment_of(file, setting, options->derived.empty() ? options->mutations : 0, options->shows);
    ++counts[found.kind];
    if (found.kind == "structure") ++missing[first_word_missing(found.detail)];
    std::printf("%s\t%s\t%s\n", name.c_str(), found.kind.c_str(), found.detail.c_str());
    std::fflush(stdout);
  }
  if (!options->found.empty()) return 0;
  for (const auto& [kind, count] : counts) std::printf("%s %d\n", kind.c_str(), count);
  for (const auto& [step, count] : missing) std::printf("first missing step %s: %d\n", step.c_str(), count);
  if (counts.empty()) return std::fprintf(stderr, "bench_containment: no such trace\n"), 2;
  if (options->derived.empty()) return 0;
  for (const std::string& name : expected) std::printf("%s\tis no trace of the library\n", name.c_str());
  return expected.empty() && counts.size() == counts.count("derived") ? 0 : 1;
}
