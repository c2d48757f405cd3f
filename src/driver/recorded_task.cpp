#include "driver/recorded_task.h"

#include "polyweft/tuner.h"

namespace polyweft {

Error mixed_up(const TuningRecord& record, const std::string& what) {
  return fail("PW0711", "record #" + std::to_string(record.id) + ": " + what, {"run: polyweft db verify"});
}

Result<Task> task_of_text(const TuningRecord& record, const Target& target) {
  constexpr int kMostThreads = 1024;
  if (record.key.threads < 1 || record.key.threads > kMostThreads)
    return mixed_up(record, "its number of threads is not in 1 .. " + std::to_string(kMostThreads));
  auto parsed = parse_programs(record.program_text, "");
  if (!parsed) return mixed_up(record, "its program is none: " + parsed.error().message);
  for (const auto& program : parsed->programs) {
    if (program_key(program) != record.key.program) continue;
    if (program.parameters.size() != record.key.binding.size())
      return mixed_up(record, "its sizes are not those of its program");
    TaskOptions options;
    options.cls = record.key.cls;
    options.threads = record.key.threads;
    for (size_t p = 0; p < program.parameters.size(); ++p)
      options.parameters[program.parameters[p].name] = record.key.binding[p];
    return make_task(program, options, target);
  }
  return mixed_up(record, "its program text does not have its key");
}

Result<Task> task_of(const TuningRecord& record, const Target& target) {
  auto task = task_of_text(record, target);
  if (task && task->canonical_text != record.canonical_text)
    return mixed_up(record, "its canonical text is not its program's");
  return task;
}

}  // namespace polyweft
