// Measuring work of Tuner::propose: the runner's own batch job, started as people start it.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "polyweft/polyweft.h"
#include "support/cpu_features.h"
#include "support/helper_path.h"

namespace polyweft {
namespace {

constexpr int kNotStarted = 127;

std::vector<std::string> batch_command(const std::string& path, const MeasureOptions& options) {
  std::vector<std::string> out = options.runner;
  if (out.empty()) out.push_back(helper_program("polyweft-runner", options.helper_directory));
  if (const std::string level = held_cpu_level(); !level.empty()) out.push_back("--host=" + level);
  if (options.json) out.push_back("--json");
  out.push_back("--batch=" + path);
  return out;
}

Error not_measured(const std::string& program, const std::string& why) {
  return fail("PW0606", program + " cannot be started: " + why);
}

}  // namespace

// Whoever ends the command ends the measuring with it; what was measured is on the disk.
Result<int> measure(const std::string& path, const MeasureOptions& options) {
  std::vector<std::string> words = batch_command(path, options);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) return not_measured(words[0], std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(argv[0], argv.data());
    _exit(kNotStarted);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return not_measured(words[0], std::strerror(errno));
  if (WIFSIGNALED(status))
    return fail("PW0601", words[0] + " was ended by signal " + std::to_string(WTERMSIG(status)),
                {"the same command goes on with what is left"});
  const int code = WEXITSTATUS(status);
  if (code == kNotStarted) return not_measured(words[0], "there is no such program");
  return code;
}

}  // namespace polyweft
