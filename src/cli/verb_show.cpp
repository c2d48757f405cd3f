#include <algorithm>
#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {
namespace {

struct ShowOptions : CommonOptions {
  std::string what, stage = "loops";
};

bool is_record_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

Result<std::string> text_of_record(Tuner& tuner, const ShowOptions& options, ShowStage stage) {
  auto database = tuner.database();
  if (!database) return database.error();
  auto record = (*database)->record(std::stoll(options.what));
  if (!record) return record.error();
  if (!*record) return fail("PW0710", "record #" + options.what + " is not in the database", {"list them with: polyweft db list"});
  return tuner.show(**record, stage);
}

Result<std::string> text_of_program(Tuner& tuner, const ShowOptions& options, ShowStage stage) {
  auto program = load_program(options.what);
  if (!program) return program.error();
  TaskOptions task;
  if (auto filled = fill_task(options, task); !filled) return filled.error();
  return tuner.show(*program, task, stage);
}

int run(const ShowOptions& options) {
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  const ShowStage stage = *stage_named(options.stage);
  auto text = is_record_number(options.what) && options.what.size() < 18 ? text_of_record(*tuner, options, stage) : text_of_program(*tuner, options, stage);
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
