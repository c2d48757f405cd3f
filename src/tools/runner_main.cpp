// polyweft-runner: runs candidate kernels behind walls. Frames in on standard input, frames out on standard output; see
// targets/workers/runner_protocol.h for the messages. One thread: candidates' processes are forks of it.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>

#include "runner_batch.h"
#include "runner_clock.h"
#include "runner_device.h"
#include "runner_emulation.h"
#include "runner_json.h"
#include "runner_lab.h"
#include "runner_sandbox.h"
#include "support/build_identity.h"
#include "support/cpu_features.h"
#include "support/framing.h"
#include "support/limits.h"
#include "targets/workers/runner_protocol.h"

namespace {

using namespace polyweft;
using targets::RunnerMessage;

struct Answer {
  RunnerMessage type;
  std::string payload;
};

Answer refusal(const Error& error) {
  return {RunnerMessage::refused, targets::encode(error)};
}

/// What a greeting says.
struct Greeting {
  runner::SandboxReport walls;
  bool is_emulated = false;
  runner::Device* device = nullptr;
};

std::string weaker(const Greeting& greeting) {
  if (!greeting.is_emulated) return greeting.walls.weaker;
  return "an emulator makes the system calls: walls are its own" +
         (greeting.walls.weaker.empty() ? "" : "; " + greeting.walls.weaker);
}

Answer describe(const Greeting& greeting) {
  const runner::SandboxReport& walls = greeting.walls;
  std::vector<std::string> kinds = {kElfShared}, devices;
  if (greeting.device) {
    const auto name = greeting.device->name();
    if (!name) return refusal(name.error());
    kinds.push_back(kDeviceKernels);
    devices.push_back(*name);
  }
  return {RunnerMessage::described, targets::encode(targets::WorkerDescription{
                                        walls.landlock_abi, walls.seccomp, weaker(greeting), build_identity(),
                                        native_architecture(), kinds, devices, greeting.is_emulated})};
}

Answer begin(runner::Lab& lab, const std::string& payload) {
  auto task = targets::decode_task(payload);
  if (!task) return refusal(task.error());
  auto reference_ns = lab.begin(*task, payload);
  if (!reference_ns) return refusal(reference_ns.error());
  return {RunnerMessage::began, ByteWriter().f64(*reference_ns).bytes()};
}

Answer set_incumbent(runner::Lab& lab, const std::string& payload) {
  auto kernel = targets::decode_kernel(payload);
  if (!kernel) return refusal(kernel.error());
  if (Status accepted = lab.set_incumbent(std::move(*kernel)); !accepted) return refusal(accepted.error());
  return {RunnerMessage::accepted, ""};
}

Answer run(runner::Lab& lab, const std::string& payload) {
  auto request = targets::decode_request(payload);
  if (!request) return refusal(request.error());
  auto outcome = lab.run(*request);
  if (!outcome) return refusal(outcome.error());
  return {RunnerMessage::outcome, targets::encode(*outcome)};
}

Answer answer(runner::Lab& lab, const Greeting& greeting, const Frame& frame) {
  switch (static_cast<RunnerMessage>(frame.type)) {
    case RunnerMessage::hello:
      return describe(greeting);
    case RunnerMessage::begin:
      return begin(lab, frame.payload);
    case RunnerMessage::set_incumbent:
      return set_incumbent(lab, frame.payload);
    case RunnerMessage::run:
      return run(lab, frame.payload);
    default:
      return refusal(fail("PW0605", "runner: message of unknown type " + std::to_string(frame.type)));
  }
}

/// What stands behind `option` on the command line; empty where it is not there.
std::string_view value_of(std::string_view option, int argc, char** argv) {
  std::string_view value;
  for (int i = 1; i < argc; ++i)
    if (const std::string_view word = argv[i]; word.starts_with(option)) value = word.substr(option.size());
  return value;
}

uint64_t number_of(std::string_view option, uint64_t usual, int argc, char** argv) {
  uint64_t number = usual;
  const std::string_view value = value_of(option, argc, argv);
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

bool is_told(std::string_view option, int argc, char** argv) {
  return std::find(argv + 1, argv + argc, option) != argv + argc;
}

/// Of whoever started us: the level that this CPU counts as. A level of another architecture is that of its own CPU.
Status hold_as_told(int argc, char** argv) {
  const std::string_view level = value_of("--host=", argc, argv);
  return level.starts_with(native_architecture()) ? hold_cpu(std::string(level)) : Status(Ok{});
}

int serve(runner::Lab& lab, const Greeting& greeting) {
  while (true) {
    auto frame = read_frame(0);
    if (!frame) return frame.error().code == "PW0607" ? 0 : 1;
    const Answer reply = answer(lab, greeting, *frame);
    if (!write_frame(1, static_cast<uint16_t>(reply.type), reply.payload)) return 1;
  }
}

/// Of "--batch FILE" or "--batch=FILE"; empty: frames are served.
std::string path_of_batch(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::string_view(argv[i]) == "--batch") return argv[i + 1];
  return std::string(value_of("--batch=", argc, argv));
}

/// Of a batch, as the command line says it.
int said(const Error& error, bool is_json) {
  constexpr int kEnvironment = 3;
  if (!is_json) {
    std::fprintf(stderr, "error: %s [%s]\n", error.message.c_str(), error.code.c_str());
    for (const std::string& note : error.notes) std::fprintf(stderr, "  note: %s\n", note.c_str());
    return kEnvironment;
  }
  std::string notes;
  for (const std::string& note : error.notes) notes += (notes.empty() ? "" : ",") + runner::json_text(note);
  std::printf(
      "{\"schema\":\"polyweft.error/1\",\"event\":\"error\",\"code\":%s,\"message\":%s,\"notes\":[%s],"
      "\"diagnostics\":[],\"exit\":%d}\n",
      runner::json_text(error.code).c_str(), runner::json_text(error.message).c_str(), notes.c_str(), kEnvironment);
  std::fflush(stdout);
  return kEnvironment;
}

int measure(runner::Lab& lab, runner::BatchJob& job, const Greeting& greeting, bool is_json) {
  if (is_json) job.print_json();
  std::string device, machine;
  if (greeting.device) {
    const auto name = greeting.device->name(), module = greeting.device->machine();
    if (!name) return said(name.error(), is_json);
    if (!module) return said(module.error(), is_json);
    device = *name, machine = *module;
  }
  const Status done = job.run(lab, device, machine, greeting.is_emulated);
  return done ? 0 : said(done.error(), is_json);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string batch_path = path_of_batch(argc, argv);
  if (batch_path.empty()) die_with_parent(getppid());
  exit_when_out_of_memory();
  if (Status held = hold_as_told(argc, argv); !held) {
    std::fprintf(stderr, "polyweft-runner: %s\n", held.error().message.c_str());
    return 1;
  }
  runner::ProcessSetting setting;
  setting.memory_limit_bytes = number_of("--memory-limit=", uint64_t{8} << 30, argc, argv);
  setting.model_limit_ns = 1e6 * static_cast<double>(number_of("--call-limit-ms=", 120'000, argc, argv));
  setting.null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
  setting.own_memory_figures = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (setting.null_device < 0) {
    std::fprintf(stderr, "polyweft-runner: cannot open /dev/null\n");
    return 1;
  }
  const bool is_json = is_told("--json", argc, argv);
  bool is_emulated = is_told("--emulated", argc, argv) || runner::runs_in_emulator();
  std::optional<runner::Device> device;
  if (const std::string_view name = value_of("--device=", argc, argv); !name.empty()) device.emplace(std::string(name));
  std::optional<runner::BatchJob> job;
  if (!batch_path.empty()) {
    auto opened = runner::BatchJob::open(batch_path);
    if (!opened) return said(opened.error(), is_json);
    job.emplace(std::move(*opened));
    if (!device && !job->batch().device.empty()) device.emplace(job->batch().device);
    is_emulated = is_emulated || job->batch().is_emulated;
  }
  if (device) keep_freed_memory();
  const runner::Sandbox sandbox = device ? runner::Sandbox::beside_device() : runner::Sandbox::lock_supervisor();
  setting.sandbox = &sandbox;
  setting.device = device ? &*device : nullptr;
  setting.is_emulated = is_emulated;
  setting.clock_step_ns = runner::clock_step_ns();
  runner::Lab lab(setting);
  const int code = job ? measure(lab, *job, {sandbox.report(), is_emulated, setting.device}, is_json)
                       : serve(lab, {sandbox.report(), is_emulated, setting.device});
  device.reset();
  _exit(code);
}
