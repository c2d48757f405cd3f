#include "options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

namespace polyweft::cli {

void CommonOptions::add_to(CLI::App& app) {
  app.add_option("-p,--parameter", parameters, "Bind a parameter: NAME=VALUE (repeat for more)")->type_name("NAME=VALUE")->allow_extra_args(false);
  app.add_option("--threads", threads, "Threads a kernel may use")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--numerics", numerics, "How far arithmetic may be changed")->check(CLI::IsMember({"strict", "contract", "reassoc"}))->capture_default_str();
  app.add_option("--database", database, "Schedule database (default: the XDG data folder)")->type_name("PATH");
  app.add_option("--target", target, "Target: host, x86-64-v3, x86-64-v4, or a description file")->capture_default_str();
  app.add_flag("--json", json, "JSON Lines on standard output");
}

void CommonOptions::add_schedule_to(CLI::App& app) {
  app.add_option("--schedule", schedule, "Use this trace instead of record and model; it is proven first")->type_name("TRACE");
}

std::string default_database() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data && *data) return std::string(data) + "/polyweft/schedules.db";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : ".") + "/.local/share/polyweft/schedules.db";
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail("PW0001", path + ": cannot be read", {"is the path right, and may you read it?"});
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Status write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  if (!out) return fail("PW0004", path + ": cannot be written", {"does the folder exist, is there space, and may you write there?"});
  return Ok{};
}

namespace {

Result<std::pair<std::string, int64_t>> parse_parameter(const std::string& text) {
  const auto equals = text.find('=');
  int64_t value = 0;
  const char* end = text.data() + text.size();
  if (equals != std::string::npos) {
    const auto [stop, problem] = std::from_chars(text.data() + equals + 1, end, value);
    if (problem == std::errc() && stop == end && equals > 0) return std::pair(text.substr(0, equals), value);
  }
  return fail("PW0003", "-p " + text + ": expected NAME=VALUE with an integer value, e.g. -p M=512");
}

}  // namespace

Status fill_task(const CommonOptions& options, TaskOptions& task) {
  for (const auto& text : options.parameters) {
    auto parameter = parse_parameter(text);
    if (!parameter) return parameter.error();
    task.parameters[parameter->first] = parameter->second;
  }
  task.cls = *numerics_class_named(options.numerics);
  task.threads = options.threads;
  if (options.schedule.empty()) return Ok{};
  auto trace = read_file(options.schedule);
  if (!trace) return trace.error();
  task.trace = std::move(trace).value();
  return Ok{};
}

Result<Tuner> make_tuner(const CommonOptions& options) {
  auto target = find_target(options.target);
  if (!target) return target.error();
  TunerOptions tuner;
  tuner.database = options.database.empty() ? default_database() : options.database;
  if (const char* helpers = std::getenv("POLYWEFT_HELPERS")) tuner.helper_directory = helpers;
  return Tuner(std::move(target).value(), std::move(tuner));
}

int exit_code_of(const std::string& code) {
  const std::string group = code.size() >= 4 ? code.substr(2, 2) : "";
  if (group == "04") return kNo;
  if (group == "06" || group == "07") return kEnvironment;
  if (group == "09") return kInternal;
  return kBadInput;
}

nlohmann::json to_json(const Diagnostic& d, const std::string& file) {
  return {{"severity", d.severity == Severity::error ? "error" : "warning"},
          {"code", d.code},
          {"text", d.text},
          {"file", file},
          {"line", d.where.line},
          {"column", d.where.column},
          {"length", d.where.length},
          {"notes", d.notes}};
}

void print_json(const char* verb, nlohmann::json line) {
  line["schema"] = std::string("polyweft.") + verb + "/1";
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n" << std::flush;
}

std::string printable(const std::string& text) {
  std::string out;
  for (unsigned char c : text) {
    if (c >= 0x20 && c != 0x7f && c < 0x80)
      out += static_cast<char>(c);
    else if (c == '\n' || c == '\t')
      out += static_cast<char>(c);
    else
      out += fmt::format("\\x{:02x}", c);
  }
  return out;
}

int report(const Error& error, const CommonOptions& options) {
  const int exit_code = exit_code_of(error.code);
  if (options.json) {
    nlohmann::json messages = nlohmann::json::array();
    for (const auto& d : error.diagnostics) messages.push_back(to_json(d, error.source_name));
    print_json("error", {{"event", "error"}, {"code", error.code}, {"message", error.message}, {"notes", error.notes}, {"diagnostics", messages}, {"exit", exit_code}});
    return exit_code;
  }
  std::string source;
  if (!error.source_name.empty())
    if (auto text = read_file(error.source_name)) source = std::move(text).value();
  std::cerr << printable(render(error, source)) << std::flush;
  return exit_code;
}

void report_warnings(const std::vector<Diagnostic>& warnings, const Program& program, const CommonOptions& options) {
  if (options.json) return;
  for (const auto& warning : warnings) std::cerr << printable(render(warning, program.source_name, program.source_text)) << std::flush;
}

std::string human_time(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string human_bytes(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

}  // namespace polyweft::cli
