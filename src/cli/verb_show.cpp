#include <algorithm>
#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {
namespace {

struct ShowOptions : CommonOptions {
  std::string what, stage = "loops";
};

Result<std::string> text_of_record(Tuner& tuner, const ShowOptions& options, ShowStage stage) {
  auto record = find_record(tuner, options.what);
  if (!record) return record.error();
  return tuner.show(*record, stage);
}

Result<std::string> text_of_program(Tuner& tuner, const ShowOptions& options, ShowStage stage) {
  auto program = load(options.what);
  if (!program) return program.error();
  TaskOptions task;
  if (auto filled = fill_task(options, task); !filled) return filled.error();
  return tuner.show(*program, task, stage);
}

int run(const ShowOptions& options) {
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  const ShowStage stage = *stage_named(options.stage);
  auto text = is_record_number(options.what) ? text_of_record(*tuner, options, stage) : text_of_program(*tuner, options, stage);
  if (!text) return report(text.error(), options);
  if (options.json)
    print_json("show", {{"event", "stage"}, {"stage", options.stage}, {"text", *text}});
  else
    std::cout << *text << (text->empty() || text->back() == '\n' ? "" : "\n");
  return kDone;
}

}  // namespace

Verb add_show(CLI::App& app) {
  auto options = std::make_shared<ShowOptions>();
  options->add_to(app);
  options->add_schedule_to(app);
  app.add_option("FILE|RECORD", options->what, "Program text, FILE:PROGRAM, or the number of a record")->required();
  app.add_option("--stage", options->stage, "Which stage")
      ->check(CLI::IsMember({"program", "scop", "dependences", "schedule", "trace", "loops", "llvm", "assembly"}))
      ->capture_default_str();
  return [options] { return run(*options); };
}

}  // namespace polyweft::cli
