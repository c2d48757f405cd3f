#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <set>

#include "program_files.h"
#include "verbs.h"

namespace polyweft::cli {
namespace {

struct CheckOptions : CommonOptions {
  std::vector<std::string> files;
};

/// What the whole command knows.
struct Checking {
  const CheckOptions& options;
  Tuner tuner;
  std::map<std::string, int64_t> sizes;  ///< of -p
  bool several_files = false;
  std::set<std::string> sizes_used = {};
  int exit_code = kDone;
};

void print_diagnostics(const std::vector<Diagnostic>& diagnostics, const Program& program,
                       const CheckOptions& options) {
  for (const auto& d : diagnostics) {
    if (options.json)
      print_json("check",
                 {{"event", "diagnostic"}, {"program", program.name}, {"diagnostic", to_json(d, program.source_name)}});
    else
      std::cerr << printable(render(d, program.source_name, program.source_text));
  }
}

/// The sizes of -p that are this program's own.
Result<std::map<std::string, int64_t>> own_sizes(const Program& program, Checking& checking) {
  std::map<std::string, int64_t> own;
  for (const auto* list : {&program.parameters, &program.const_parameters})
    for (const Parameter& parameter : *list)
      if (auto size = checking.sizes.find(parameter.name); size != checking.sizes.end()) own.insert(*size);
  for (const auto& [name, value] : own) checking.sizes_used.insert(name);
  auto binding = make_binding(program, own);
  if (!binding) return binding.error();
  return own;
}

std::string sizes_text(const std::map<std::string, int64_t>& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes) out += (out.empty() ? " at " : ", ") + name + " = " + std::to_string(value);
  return out;
}

void check_one(const Program& program, Checking& checking) {
  const CheckOptions& options = checking.options;
  auto sizes = own_sizes(program, checking);
  if (!sizes) {
    checking.exit_code = report(sizes.error(), options);
    return;
  }
  const CheckReport found = checking.tuner.check(program, *sizes);
  print_diagnostics(found.warnings, program, options);
  print_diagnostics(found.errors, program, options);
  const bool passed = found.errors.empty();
  if (!passed) checking.exit_code = kBadInput;
  if (options.json)
    print_json("check", {{"event", "program"},
                         {"program", program.name},
                         {"file", program.source_name},
                         {"key", program_key(program)},
                         {"passed", passed}});
  else if (passed)
    std::cout << fmt::format("{}{}: ok{}   key {}\n",
                             checking.several_files ? printable(program.source_name) + ": " : "",
                             printable(program.name), sizes_text(*sizes), program_key(program));
}

void check_file(const ProgramFile& file, Checking& checking) {
  auto parsed = parse_file(file);
  if (!parsed) {
    checking.exit_code = report(parsed.error(), checking.options);
    return;
  }
  print_diagnostics(parsed->warnings, parsed->programs.front(), checking.options);
  for (const auto& program : parsed->programs) check_one(program, checking);
}

int run_check(const CheckOptions& options) {
  TaskOptions task;
  if (auto filled = fill_task(options, task); !filled) return report(filled.error(), options);
  auto files = program_files(options.files);
  if (!files) return report(files.error(), options);
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  Checking checking{options, std::move(*tuner), task.parameters, files->size() > 1};
  for (const ProgramFile& file : *files) check_file(file, checking);
  for (const auto& [name, value] : checking.sizes)
    if (checking.exit_code == kDone && checking.sizes_used.count(name) == 0)
      return report(fail("PW0120", name + ": no program here has such a parameter"), options);
  return checking.exit_code;
}

}  // namespace

Verb add_check(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  options->add_to(app);
  app.add_option("FILE", options->files, "Program texts, FILE:PROGRAM, folders of .weft files, or - for standard input")
      ->required();
  return [options] { return run_check(*options); };
}

}  // namespace polyweft::cli
