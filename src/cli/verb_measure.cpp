#include <cstdlib>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {
namespace {

struct MeasureCommand : OutputOptions {
  std::string work, runner, deadline;
};

int run_measure(const MeasureCommand& command) {
  auto runner = words_of("--runner", command.runner);
  if (!runner) return report(runner.error(), command);
  MeasureOptions options;
  options.runner = std::move(*runner);
  options.json = command.json;
  if (const char* helpers = std::getenv("POLYWEFT_HELPERS")) options.helper_directory = helpers;
  auto code = measure(command.work, options);
  return code ? *code : report(code.error(), command);
}

}  // namespace

Verb add_measure(CLI::App& app) {
  auto options = std::make_shared<MeasureCommand>();
  app.add_option("WORK", options->work, "What tune --propose has written; WORK.results is written beside it")
      ->required();
  add_runner_to(app, options->runner);
  app.add_option("--deadline", options->deadline, "End after this time: 60s, 500ms, 5m; the next one goes on")
      ->type_name("TIME");
  app.add_flag("--json", options->json, "JSON Lines on standard output");
  return [options] { return run_measure(*options); };
}

}  // namespace polyweft::cli
