#include "cost_models/pairs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "driver/compile_service.h"
#include "driver/isl_client.h"
#include "driver/planner.h"
#include "driver/task.h"
#include "driver/threads.h"
#include "polyweft/program.h"
#include "support/helper_path.h"

namespace polyweft::pairs {
namespace {

Error error_at(int line, const std::string& what) {
  return fail("PW0901", "line " + std::to_string(line) + ": " + what);
}

/// A word at the left margin with the rest of its line and the lines below it.
struct Entry {
  int line = 0;
  std::string word, rest, block;
};
Result<std::vector<Entry>> entries_of(const std::string& text) {
  std::vector<Entry> out;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.rfind("  ", 0) == 0) {
      if (out.empty()) return error_at(number, "an indented line below nothing");
      out.back().block += line.substr(2) + "\n";
      continue;
    }
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    out.push_back({number, line.substr(0, space), space == std::string::npos ? "" : line.substr(space + 1), ""});
  }
  return out;
}

Result<MeasuredPair> measured_in(const Entry& entry) {
  MeasuredPair out;
  std::istringstream in(entry.rest);
  std::string more;
  if (!(in >> out.one_ns >> out.other_ns >> out.ratio >> out.ratio_lo >> out.ratio_hi) || (in >> more))
    return error_at(entry.line, "five numbers are wanted");
  constexpr double kNear = 1.5;  // the ratio is of pairs, the times are medians of each side
  const double of_times = out.one_ns / out.other_ns;
  if (!(out.one_ns > 0 && out.other_ns > 0 && out.ratio_lo > 0) || out.ratio_lo > out.ratio ||
      out.ratio > out.ratio_hi || !(of_times < kNear * out.ratio_hi && of_times * kNear > out.ratio_lo))
    return error_at(entry.line, "times, ratio and interval do not agree");
  if (out.ratio_lo < kLeastRatio && out.ratio_hi > 1 / kLeastRatio)
    return error_at(entry.line, "nearer to one another than anything can be said about");
  return out;
}

class Reader {
 public:
  Result<PairFile> read(const std::string& text) {
    auto entries = entries_of(text);
    if (!entries) return entries.error();
    for (const Entry& entry : *entries)
      if (Status taken = take(entry); !taken) return taken.error();
    if (Status whole = end_pair(); !whole) return whole.error();
    return std::move(out_);
  }

 private:
  Status take(const Entry& entry) {
    if (entry.word == "machine") {
      out_.machines.emplace_back(entry.rest, entry.block);
      return Ok{};
    }
    if (entry.word == "near") return take_near(entry);
    if (entry.word == "pair") {
      if (Status whole = end_pair(); !whole) return whole;
      if (!names_.insert(entry.rest).second) return error_at(entry.line, "a second pair " + entry.rest);
      out_.pairs.push_back({});
      out_.pairs.back().name = entry.rest;
      line_ = entry.line;
      return Ok{};
    }
    if (out_.pairs.empty()) return error_at(entry.line, entry.word + " without a pair");
    return take_of_pair(entry, out_.pairs.back());
  }
  Status take_near(const Entry& entry) {
    std::istringstream in(entry.rest);
    std::string name;
    double ratio = 0;
    if (!(in >> name >> ratio) || ratio <= 0) return error_at(entry.line, "a name and a ratio are wanted");
    out_.near.emplace_back(name, ratio);
    return Ok{};
  }
  Status take_of_pair(const Entry& entry, Pair& pair) {
    const std::map<std::string, std::string*> texts = {
        {"term", &pair.term}, {"program", &pair.program}, {"one", &pair.one}, {"other", &pair.other}};
    if (const auto found = texts.find(entry.word); found != texts.end()) {
      *found->second = entry.word == "term" ? entry.rest : entry.block;
      return Ok{};
    }
    if (entry.word == "threads") {
      std::istringstream(entry.rest) >> pair.threads;
      return pair.threads >= 1 ? Status(Ok{}) : Status(error_at(entry.line, "no number of threads"));
    }
    if (entry.word == "wrong") {
      const bool is_known = std::any_of(out_.machines.begin(), out_.machines.end(),
                                        [&](const auto& machine) { return machine.first == entry.rest; });
      if (!is_known) return error_at(entry.line, "no machine " + entry.rest);
      pair.wrong_for.insert(entry.rest);
      return Ok{};
    }
    if (entry.word != "measured") return error_at(entry.line, "unknown word " + entry.word);
    auto measured = measured_in(entry);
    if (!measured) return measured.error();
    pair.measured = *measured;
    return Ok{};
  }
  Status end_pair() const {
    if (out_.pairs.empty()) return Ok{};
    const Pair& pair = out_.pairs.back();
    if (pair.program.empty() || pair.term.empty()) return error_at(line_, pair.name + " lacks a program or a term");
    if (pair.one == pair.other) return error_at(line_, pair.name + " has one schedule twice");
    return Ok{};
  }

  PairFile out_;
  std::set<std::string> names_;
  int line_ = 0;
};

std::string indented(const std::string& block) {
  std::istringstream in(block);
  std::string out;
  for (std::string line; std::getline(in, line);) out += "  " + line + "\n";
  return out;
}
std::string number(double value) {
  std::ostringstream out;
  out.precision(value < 1000 ? 4 : 7);
  out << value;
  return out.str();
}

double size_named(const std::string& name, const Machine& machine) {
  constexpr double kElement = 4;
  const auto elements = [&](size_t cache) { return static_cast<double>(machine.cache_bytes(cache)) / kElement; };
  if (name == "V") return static_cast<double>(machine.vector_bytes()) / kElement;
  if (name == "R") return machine.units.vector_registers;
  if (name == "L1") return elements(0);
  if (name == "L2") return elements(std::min<size_t>(1, machine.caches() - 1));
  if (name == "L3") return elements(machine.caches() - 1);
  if (name == "P") return static_cast<double>(machine.page_bytes.value) / kElement;
  if (name == "W") return static_cast<double>(machine.memories.front().ways.value);
  char* end = nullptr;
  const double value = std::strtod(name.c_str(), &end);
  return !name.empty() && *end == 0 ? value : 0;
}

/// 0: no such product.
double value_of(const std::string& product, const Machine& machine) {
  double out = 1;
  char sign = '*';
  for (size_t at = 0; at <= product.size();) {
    const size_t end = std::min(product.find_first_of("*/", at), product.size());
    const double factor = size_named(product.substr(at, end - at), machine);
    if (factor <= 0) return 0;
    out = sign == '*' ? out * factor : std::floor(out / factor);
    sign = end < product.size() ? product[end] : '*';
    at = end + 1;
  }
  return out;
}

}  // namespace

Result<PairFile> read_pairs(const std::string& text) {
  return Reader().read(text);
}

std::string text_of(const PairFile& file) {
  std::string out;
  for (const auto& [name, description] : file.machines) out += "machine " + name + "\n" + indented(description);
  for (const Pair& pair : file.pairs) {
    out += "\npair " + pair.name + "\nterm " + pair.term + "\n";
    if (pair.threads > 1) out += "threads " + std::to_string(pair.threads) + "\n";
    out += "program\n" + indented(pair.program) + "one\n" + indented(pair.one) + "other\n" + indented(pair.other);
    const MeasuredPair& m = pair.measured;
    if (m.ratio > 0)
      out += "measured " + number(m.one_ns) + " " + number(m.other_ns) + " " + number(m.ratio) + " " +
             number(m.ratio_lo) + " " + number(m.ratio_hi) + "\n";
    for (const std::string& machine : pair.wrong_for) out += "wrong " + machine + "\n";
  }
  if (!file.near.empty()) out += "\n";
  for (const auto& [name, ratio] : file.near) out += "near " + name + " " + number(ratio) + "\n";
  return out;
}

Result<std::string> expand_sizes(const std::string& text, const Machine& machine) {
  std::string out;
  size_t at = 0;
  for (size_t open = text.find('{'); open != std::string::npos; open = text.find('{', at)) {
    const size_t close = text.find('}', open);
    if (close == std::string::npos) return fail("PW0901", "a size without an end");
    const std::string product = text.substr(open + 1, close - open - 1);
    const double value = value_of(product, machine);
    if (value < 1) return fail("PW0901", "no size: {" + product + "}");
    out += text.substr(at, open - at) + std::to_string(static_cast<int64_t>(value));
    at = close + 1;
  }
  return out + text.substr(at);
}

Result<LoopNest> nest_of(const Pair& pair, const std::string& trace, const Target& target) {
  IslClient::Options helper;
  helper.helper = helper_program("polyweft-isl");
  IslClient isl(helper);
  const CompileService compiler(target);
  Stored none{""};
  Trust trust({}, isl, none);
  Planner planner(compiler, isl, none, trust);
  auto program = parse_program(pair.program);
  if (!program) return program.error();
  TaskOptions options;
  options.threads = pair.threads;
  auto task = make_task(*program, options, target);
  if (!task) return task.error();
  if (trace.empty()) return planner.base_nest(*task);
  auto nest_template = planner.replay(*task, trace);
  if (!nest_template) return nest_template.error();
  auto nest = instantiate(*nest_template, values_of(nest_template->trace));
  return nest ? Result<LoopNest>(on_threads(std::move(*nest), pair.threads)) : nest;
}

}  // namespace polyweft::pairs
