#include "driver/trace_library.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "polyweft/tuner.h"
#include "schedules/seeds/trace_file.h"
#include "support/files.h"
#include "support/helper_path.h"

namespace polyweft {
namespace {

namespace fs = std::filesystem;

/// What stands behind the path that a message begins with.
std::string without_path(const Error& error, const fs::path& path) {
  return error.message.substr(path.string().size() + 1);
}

/// "line 3: .." of the first message.
std::string with_line(const Error& error) {
  if (error.diagnostics.empty()) return error.message;
  const Diagnostic& first = error.diagnostics.front();
  return "line " + std::to_string(first.where.line) + ": " + first.text;
}

Result<LibraryTrace> trace_of(const fs::path& path) {
  const auto text = read_regular_file(path, kMostTextBytes, "PW0011");
  if (!text) return fail("PW0011", "it" + without_path(text.error(), path));
  const std::string source = schedules::program_in(*text);
  if (source.empty()) return fail("PW0011", "it holds no program in lines that begin with '#| '");
  auto program = parse_program(source);
  if (!program) return fail("PW0011", "its program, " + with_line(program.error()));
  auto trace = parse_trace(*text);
  if (!trace) return fail("PW0011", with_line(trace.error()));
  return LibraryTrace{path.filename(), std::move(*program), std::move(*trace)};
}

}  // namespace

std::string left_out(const std::string& file, const std::string& why) {
  return file + ": left out: " + why + " [PW0011]";
}

std::string library_folder(const Machine& machine) {
  const std::string folder = shared_data("library");
  return folder.empty() || !machine.has_grid() ? folder : folder + "/gpu";
}

std::vector<LibraryTrace> library_traces(const std::string& folder, const std::string& structure_key) {
  std::vector<LibraryTrace> out;
  const auto known = read_regular_file(fs::path(folder) / "structures.txt", kMostTextBytes, "PW0011");
  std::istringstream index(known ? *known : std::string());
  for (std::string key, name; index >> key >> name;) {
    if (key != structure_key) continue;
    if (auto trace = trace_of(fs::path(folder) / (name + ".trace"))) out.push_back(std::move(*trace));
  }
  return out;
}

Result<FolderOfTraces> traces_in(const std::string& folder) {
  std::error_code problem;
  std::vector<fs::path> files;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem))
    if (at->path().extension() == ".trace") files.push_back(at->path());
  if (problem) return fail("PW0010", "--seeds " + folder + ": cannot be read: " + problem.message());
  if (files.empty()) return fail("PW0010", "--seeds " + folder + ": has no file NAME.trace");
  std::sort(files.begin(), files.end());
  FolderOfTraces out;
  for (const fs::path& file : files) {
    auto trace = trace_of(file);
    if (trace)
      out.traces.push_back(std::move(*trace));
    else
      out.left_out.push_back(left_out(file, trace.error().message));
  }
  return out;
}

}  // namespace polyweft
