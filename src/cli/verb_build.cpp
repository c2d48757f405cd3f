#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {
namespace {

struct BuildOptions : CommonOptions {
  std::string file, emit = "object", path, name, abi = "halide";
  bool symbolic = false;
};

int run_build(const BuildOptions& options) {
  auto job = make_job(options, options.file);
  if (!job) return report(job.error(), options);
  const TimingsAtEnd timings(job->tuner, options);
  job->task.symbolic = options.symbolic;
  job->task.abi = options.abi == "c" ? Abi::c : Abi::halide;
  auto built = job->tuner.build(job->program, job->task, *emit_named(options.emit), options.name);
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
                         {"origin", built->origin}});
  else
    std::cerr << fmt::format("{}: {} of {}, {} bytes, from {}\n", options.path, options.emit,
                             printable(job->program.name), bytes.size(), built->origin);
  return kDone;
}

}  // namespace

Verb add_build(CLI::App& app) {
  auto options = std::make_shared<BuildOptions>();
  options->add_to(app);
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
