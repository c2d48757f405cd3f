#include "amdgpu/readelf.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace polyweft::amdgpu_test {
namespace {

namespace fs = std::filesystem;

std::string without_spaces(const std::string& text) {
  const size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// Lines of "amdhsa.kernels:", whose entries begin with "  - " and lists in them with "      - ".
class Reader {
 public:
  Notes run(const std::string& said) {
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) take(line);
    end_kernel();
    return out_;
  }

 private:
  void take(std::string line) {
    if (line.rfind("amdhsa.", 0) == 0) {
      end_kernel();
      is_inside_ = line.rfind("amdhsa.kernels:", 0) == 0;
      if (line.rfind("amdhsa.target:", 0) == 0) out_.target = without_spaces(line.substr(line.find(':') + 1));
      return;
    }
    if (!is_inside_) return;
    if (line.rfind("  - ", 0) == 0) {
      end_kernel();
      has_kernel_ = true;
      line[2] = ' ';
    }
    const bool begins = line.rfind("      - ", 0) == 0;
    if (begins) line[6] = ' ';
    const size_t indent = line.find_first_not_of(' '), colon = line.find(':');
    if (indent == 8) return in_list(line, begins, colon);
    if (colon == std::string::npos) return;
    list_ = line.substr(indent, colon - indent);
    const std::string value = without_spaces(line.substr(colon + 1));
    if (list_ == ".name") name_ = value;
    if (!value.empty()) kernel_.numbers[list_] = std::atoi(value.c_str());
  }
  void in_list(const std::string& line, bool begins, size_t colon) {
    if (list_ == ".reqd_workgroup_size") kernel_.threads.push_back(std::atoi(line.c_str()));
    if (list_ != ".args" || colon == std::string::npos) return;
    if (begins) kernel_.arguments.emplace_back();
    const std::string key = without_spaces(line.substr(0, colon)), value = without_spaces(line.substr(colon + 1));
    if (key == ".offset") kernel_.arguments.back().offset = std::atoi(value.c_str());
    if (key == ".size") kernel_.arguments.back().bytes = std::atoi(value.c_str());
    if (key == ".value_kind") kernel_.arguments.back().kind = value;
  }
  void end_kernel() {
    if (has_kernel_) out_.kernels[name_] = kernel_;
    has_kernel_ = false, kernel_ = {}, name_.clear(), list_.clear();
  }

  Notes out_;
  NotedKernel kernel_;
  std::string name_, list_;
  bool is_inside_ = false, has_kernel_ = false;
};

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

Notes notes_of(const std::vector<unsigned char>& code_object) {
  std::string file = (fs::temp_directory_path() / "polyweft-hsaco-XXXXXX").string();
  const int descriptor = mkstemp(file.data());
  if (descriptor < 0) return {"no temporary file", "", {}};
  close(descriptor);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(code_object.data()), static_cast<std::streamsize>(code_object.size()));
  int code = -1;
  const std::string said = output_of(std::string(PW_READELF) + " --notes '" + file + "' 2>&1", code);
  fs::remove(file);
  if (code != 0) return {said.empty() ? "llvm-readelf failed" : said.substr(0, 2000), "", {}};
  return Reader().run(said);
}

}  // namespace polyweft::amdgpu_test
