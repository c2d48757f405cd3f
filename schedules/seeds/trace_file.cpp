#include "schedules/seeds/trace_file.h"

#include <sstream>

namespace polyweft::schedules {

std::string program_in(const std::string& file_text) {
  std::istringstream lines(file_text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("#| ", 0) == 0) out += line.substr(3) + "\n";
  return out;
}

}  // namespace polyweft::schedules
