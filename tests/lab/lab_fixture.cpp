#include "lab_fixture.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

namespace polyweft::lab_tests {
namespace {

std::vector<unsigned char> compiled(const std::string& file, const std::string& flags) {
  const std::string object = PW_BINARY_DIR "/lab_test_" + std::to_string(getpid()) + ".so";
  const std::string command =
      "cc -O1 -fPIC -shared -w " + flags + " -o '" + object + "' '" PW_SOURCE_DIR "/tests/lab/" + file + "'";
  PW_CHECK(std::system(command.c_str()) == 0);
  std::ifstream in(object, std::ios::binary);
  std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  unlink(object.c_str());
  return bytes;
}

size_t entries(const std::string& path) {
  size_t count = 0;
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return 0;
  while (const dirent* entry = readdir(dir)) count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

}  // namespace

const std::vector<unsigned char>& object_of(const std::string& file, const std::string& flags) {
  static std::map<std::string, std::vector<unsigned char>> objects;
  auto& object = objects[file + flags];
  if (object.empty()) object = compiled(file, flags);
  return object;
}

LoadableKernel kernel(const std::string& symbol) {
  return {kElfShared, object_of("kernels.c"), symbol, symbol};
}

ArgumentSpec input(const std::string& name, ElementType type, std::vector<int64_t> extents) {
  ArgumentSpec argument;
  argument.name = name;
  argument.type = type;
  argument.extents = std::move(extents);
  return argument;
}

ArgumentSpec output(const std::string& name, ElementType type, std::vector<int64_t> extents) {
  ArgumentSpec argument = input(name, type, std::move(extents));
  argument.is_output = true;
  return argument;
}

RunnerTask matrix_task() {
  RunnerTask task;
  task.id = "matrix";
  task.arguments = {input("A", ElementType::f32, {24, 16}), input("B", ElementType::f32, {16, 20}),
                    output("C", ElementType::f32, {24, 20})};
  task.reference = kernel("reference");
  task.bound = kernel("bound");
  task.seed = 7;
  return task;
}

RunRequest compare(const std::string& symbol) {
  RunRequest request;
  request.candidate = kernel(symbol);
  request.time_budget = std::chrono::milliseconds(0);
  return request;
}

RunnerOptions small_options() {
  RunnerOptions options;
  options.memory_limit_bytes = int64_t{1} << 30;
  return options;
}

targets::WorkerRunner& shared_runner() {
  static std::unique_ptr<targets::WorkerRunner> runner = [] {
    auto started = targets::WorkerRunner::start(small_options());
    if (!started) std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return std::move(*started);
  }();
  return *runner;
}

RunOutcome run(const RunnerTask& task, const RunRequest& request) {
  RunOutcome failed;
  if (Status began = shared_runner().begin(task); !began) {
    failed.detail = began.error().code + " " + began.error().message;
    return failed;
  }
  auto outcome = shared_runner().run(request);
  if (outcome) return *outcome;
  failed.detail = outcome.error().code + " " + outcome.error().message;
  return failed;
}

size_t open_descriptors(const std::string& process) {
  return entries("/proc/" + process + "/fd");
}

size_t child_processes(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  return static_cast<size_t>(std::distance(std::istream_iterator<int>(in), std::istream_iterator<int>()));
}

}  // namespace polyweft::lab_tests
