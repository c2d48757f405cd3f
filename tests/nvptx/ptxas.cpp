#include "nvptx/ptxas.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace polyweft::nvptx_test {
namespace {

namespace fs = std::filesystem;

int number_in(const std::string& line, const char* pattern) {
  std::smatch found;
  return std::regex_search(line, found, std::regex(pattern)) ? std::atoi(found[1].str().c_str()) : 0;
}

}  // namespace

std::string output_of(const std::string& command, int& code) {
  std::string out;
  std::array<char, 4096> piece;
  FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) return out;
  for (size_t n; (n = fread(piece.data(), 1, piece.size(), pipe)) > 0;) out.append(piece.data(), n);
  code = pclose(pipe);
  return out;
}

std::optional<std::string> ptxas() {
  if (const fs::path ours = PW_SOURCE_DIR "/build/venv/bin/ptxas"; fs::exists(ours)) return ours.string();
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');)
    if (fs::exists(fs::path(folder) / "ptxas")) return (fs::path(folder) / "ptxas").string();
  return std::nullopt;
}

Assembled assembled(const std::string& ptx, const std::string& machine) {
  std::string file = (fs::temp_directory_path() / "polyweft-ptx-XXXXXX").string();
  const int descriptor = mkstemp(file.data());
  if (descriptor < 0) return {"no temporary file", {}};
  close(descriptor);
  std::ofstream(file) << ptx;
  int code = -1;
  const std::string said =
      output_of("'" + *ptxas() + "' -arch=" + machine + " -v '" + file + "' -o /dev/null 2>&1", code);
  fs::remove(file);
  Assembled out;
  if (code != 0) {
    out.problem = said.empty() ? "ptxas failed" : said.substr(0, 2000);
    return out;
  }
  std::istringstream lines(said);
  AssembledKernel* kernel = nullptr;
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, found, std::regex("entry function '([^']+)'"))) kernel = &out.kernels[found[1].str()];
    if (!kernel) continue;
    if (line.find("spill stores") != std::string::npos)
      kernel->spill_bytes +=
          number_in(line, "([0-9]+) bytes spill stores") + number_in(line, "([0-9]+) bytes spill loads");
    if (line.find("Used ") != std::string::npos) {
      kernel->registers = number_in(line, "Used ([0-9]+) registers");
      kernel->shared_bytes = number_in(line, "([0-9]+) bytes smem");
    }
  }
  return out;
}

}  // namespace polyweft::nvptx_test
