#include "output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string_view>

#include "files.h"
#include "status_line.h"

namespace polyweft::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool colors(const std::string& wish, int stream) {
  if (wish == "always") return true;
  if (wish == "never" || !environment("NO_COLOR").empty()) return false;
  if (const std::string force = environment("CLICOLOR_FORCE"); !force.empty() && force != "0") return true;
  const std::string term = environment("TERM");
  return isatty(stream) && !term.empty() && term != "dumb";
}

int width_of_terminal() {
  const std::string columns = environment("COLUMNS");
  if (const int given = std::atoi(columns.c_str()); given > 0) return given;
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// A sequence of UTF-8 at `at` that shows as itself: its length, or 0.
size_t visible_sequence(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const unsigned lead = byte(at);
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0) return 0;
  uint32_t point = lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
    point = (point << 6) | (byte(at + i) & 0x3f);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000) || point > 0x10ffff ||
                        (point >= 0xd800 && point < 0xe000);
  const bool control = point < 0xa0 || point == 0xad || point == 0x61c || point == 0xfeff;
  const bool turns =
      (point >= 0x200b && point < 0x2010) || (point >= 0x2028 && point < 0x2030) || (point >= 0x2060 && point < 0x2070);
  return overlong || control || turns ? 0 : length;
}

}  // namespace

Terminal terminal_of(const std::string& color) {
  Terminal out;
  out.watched = isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) && environment("TERM") != "dumb";
  out.color_out = colors(color, STDOUT_FILENO);
  out.color_err = colors(color, STDERR_FILENO);
  out.width = width_of_terminal();
  return out;
}

std::string painted(const std::string& text, Paint paint, bool enabled) {
  constexpr std::array kCodes = {"1;31", "32", "33", "1", "2"};
  return enabled ? fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<size_t>(paint)], text) : text;
}

std::string painted_messages(const std::string& rendered, bool enabled) {
  if (!enabled) return rendered;
  std::string out;
  for (size_t at = 0; at < rendered.size();) {
    const size_t end = std::min(rendered.find('\n', at), rendered.size() - 1) + 1;
    std::string line = rendered.substr(at, end - at);
    for (const auto& [word, paint] : {std::pair{"error:", Paint::red}, {"warning:", Paint::yellow}}) {
      const size_t found = line.rfind(word, 0) == 0 ? 0 : line.find(std::string(" ") + word);
      if (found == std::string::npos || line[0] == ' ') continue;
      const size_t start = line.find(word, found);
      line = line.substr(0, start) + painted(word, paint, true) + line.substr(start + std::string_view(word).size());
      break;
    }
    out += line;
    at = end;
  }
  return out;
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

nlohmann::json to_json(const TuningRecord& record) {
  return {{"event", "record"},
          {"record", record.id},
          {"program", record.program_name},
          {"key", record.key.program},
          {"binding", record.key.binding},
          {"numerics", name_of(record.key.cls)},
          {"threads", record.key.threads},
          {"target", record.key.target},
          {"median_ns", record.measurement.timing.median_ns},
          {"proof", name_of(record.certificate.verdict)},
          {"origin", record.origin}};
}

void print_json(const char* verb, nlohmann::json line) {
  line["schema"] = std::string("polyweft.") + verb + "/1";
  std::cout << line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << "\n" << std::flush;
}

std::string printable(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    const bool plain = (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
    const size_t length = plain ? 1 : visible_sequence(text, at);
    out += length > 0 ? text.substr(at, length) : fmt::format("\\x{:02x}", c);
    at += length > 0 ? length : 1;
  }
  return out;
}

std::string printable_line(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) out += c == '\n' ? "\\x0a" : c == '\t' ? "\\x09" : std::string(1, c);
  return out;
}

int report(const Error& error, const OutputOptions& options) {
  const int exit_code = static_cast<int>(kind_of(error.code));
  clear_status();
  if (options.json) {
    nlohmann::json messages = nlohmann::json::array();
    for (const auto& d : error.diagnostics) messages.push_back(to_json(d, error.source_name));
    print_json("error", {{"event", "error"},
                         {"code", error.code},
                         {"message", error.message},
                         {"notes", error.notes},
                         {"diagnostics", messages},
                         {"exit", exit_code}});
    return exit_code;
  }
  std::string source;
  if (!error.source_name.empty())
    if (auto text = read_file(error.source_name)) source = std::move(text).value();
  std::cerr << painted_messages(printable(render(error, source)), options.terminal().color_err) << std::flush;
  return exit_code;
}

void report_warnings(const std::vector<Diagnostic>& warnings, const Program& program, const OutputOptions& options) {
  if (options.json) return;
  const bool color = options.terminal().color_err;
  for (const auto& warning : warnings)
    std::cerr << painted_messages(printable(render(warning, program.source_name, program.source_text)), color)
              << std::flush;
}

std::string human_time(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string day(int64_t unix_time) {
  const std::time_t time = unix_time;
  std::tm parts{};
  char text[32] = "";
  if (gmtime_r(&time, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

std::string human_bytes(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string human_count(double count) {
  if (count >= 1e6) return fmt::format("{:.1e}", count);
  std::string digits = fmt::format("{:.0f}", count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string spread_text(const Timing& timing) {
  return timing.samples > 1 ? fmt::format(" +-{:.1f} %", 100 * timing.ci_rel) : "";
}

bool is_beyond_peak(double rate, double peak) {
  constexpr double kNoise = 1.02;
  return peak > 0 && rate > kNoise * peak;
}

std::string share_of_peak(double rate, double peak, int digits) {
  return is_beyond_peak(rate, peak) ? "> 100 %" : fmt::format("{:.{}f} %", 100 * rate / peak, digits);
}

double gflops(double flops, double ns) {
  return ns > 0 ? flops / ns : 0;
}

std::string binding_text(const std::vector<int64_t>& binding) {
  return fmt::format("{}", fmt::join(binding, ","));
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace polyweft::cli
