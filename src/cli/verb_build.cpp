#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "verbs.h"

namespace polyweft::cli {
namespace {

struct BuildOptions : CommonOptions {
  std::string file, emit = "object", path, name, abi = "halide";
  bool symbolic = false;
};

// "x86-64-v2,x86-64-v3"; a path may have a comma in it.
std::vector<std::string> targets_of(const BuildOptions& options) {
  std::error_code ignored;
  if (std::filesystem::exists(options.target, ignored)) return {options.target};
  std::vector<std::string> out;
  std::istringstream words(options.target);
  for (std::string word; std::getline(words, word, ',');) out.push_back(word);
  return out.empty() ? std::vector<std::string>{options.target} : out;
}

Result<BuildResult> build_product(const BuildOptions& options, const Program& program) {
  TaskOptions task;
  if (auto filled = fill_task(options, task); !filled) return filled.error();
  task.symbolic = options.symbolic;
  task.abi = options.abi == "c" ? Abi::c : Abi::halide;
  std::vector<Tuner> tuners;
  for (const std::string& target : targets_of(options)) {
    CommonOptions one = options;
    one.target = target;
    auto tuner = make_tuner(one);
    if (!tuner) return tuner.error();
    tuners.push_back(std::move(*tuner));
  }
  const TimingsAtEnd timings(tuners.front(), options);
  const Emit emit = *emit_named(options.emit);
  return tuners.size() == 1 ? tuners.front().build(program, task, emit, options.name)
                            : Tuner::build_for_all(tuners, program, task, emit, options.name);
}

int run_build(const BuildOptions& options) {
  const auto program = load(options.file);
  if (!program) return report(program.error(), options);
  auto built = build_product(options, *program);
  if (!built) return report(built.error(), options);
  const std::string bytes(built->bytes.begin(), built->bytes.end());
  if (options.path == "-") {
    std::cout << bytes << std::flush;
    return kDone;
  }
  if (auto written = write_file(options.path, bytes); !written) return report(written.error(), options);
  if (options.json)
    print_json("build", {{"event", "done"},
                         {"path", options.path},
                         {"emit", options.emit},
                         {"bytes", bytes.size()},
                         {"origin", built->origin},
                         {"to_link", built->to_link}});
  else
    std::cerr << fmt::format("{}: {} of {}, {} bytes, from {}\n", options.path, options.emit, printable(program->name),
                             bytes.size(), built->origin);
  if (!options.json && !built->to_link.empty()) std::cerr << fmt::format("to link it: {}\n", built->to_link);
  return kDone;
}

}  // namespace

Verb add_build(CLI::App& app) {
  auto options = std::make_shared<BuildOptions>();
  options->add_to(app);
  app.get_option("--target")
      ->description(
          "Target: host, x86-64-v3, x86-64-v4, or a description file; several levels of x86-64 with commas between go "
          "into "
          "one product");
  options->add_workspace_to(app);
  options->add_schedule_to(app);
  app.add_option("FILE", options->file, "Program text, FILE:PROGRAM, or - for standard input")->required();
  app.add_option("--emit", options->emit,
                 "What to write; c: the plain loops of the base order, or of --schedule, as C11; artifact: what the "
                 "runner loads")
      ->check(CLI::IsMember({"object", "assembly", "llvm", "shared", "static", "header", "c", "artifact"}))
      ->capture_default_str();
  app.add_option("-o,--output", options->path, "Where to write it; - for standard output")->required();
  app.add_option("--name", options->name, "Symbol (default: the program's name)");
  app.add_option("--abi", options->abi,
                 "How the kernel takes its arguments: halide_buffer_t*, or plain pointers to the elements")
      ->check(CLI::IsMember({"halide", "c"}))
      ->capture_default_str();
  app.add_flag("--symbolic", options->symbolic,
               "Keep the sizes as arguments of the kernel: int64_t after the buffers, in program order");
  return [options] { return run_build(*options); };
}

}  // namespace polyweft::cli
