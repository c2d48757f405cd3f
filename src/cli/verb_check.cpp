#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {
namespace {

struct CheckOptions : CommonOptions {
  std::string file;
};

void print_diagnostics(const std::vector<Diagnostic>& diagnostics, const Program& program, const CheckOptions& options) {
  for (const auto& d : diagnostics) {
    if (options.json)
      print_json("check", {{"event", "diagnostic"}, {"program", program.name}, {"diagnostic", to_json(d, program.source_name)}});
    else
      std::cerr << printable(render(d, program.source_name, program.source_text));
  }
}

bool check_one(Tuner& tuner, const Program& program, const CheckOptions& options) {
  const CheckReport report = tuner.check(program);
  print_diagnostics(report.warnings, program, options);
  print_diagnostics(report.errors, program, options);
  const bool passed = report.errors.empty();
  if (options.json)
    print_json("check", {{"event", "program"}, {"program", program.name}, {"key", program_key(program)}, {"passed", passed}});
  else if (passed)
    std::cout << fmt::format("{}: ok   key {}\n", printable(program.name), program_key(program));
  return passed;
}

int run(const CheckOptions& options) {
  auto text = read_file(options.file);
  if (!text) return report(text.error(), options);
  auto parsed = parse_programs(*text, options.file);
  if (!parsed) return report(parsed.error(), options);
  if (!parsed->programs.empty()) print_diagnostics(parsed->warnings, parsed->programs.front(), options);
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  bool passed = true;
  for (const auto& program : parsed->programs) passed &= check_one(*tuner, program, options);
  return passed ? kDone : kBadInput;
}

}  // namespace

Verb add_check(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  options->add_to(app);
  app.add_option("FILE", options->file, "Program text")->required();
  return [options] { return run(*options); };
}

}  // namespace polyweft::cli
