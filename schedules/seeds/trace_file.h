// A file of a folder of traces: comments, the program that its trace is for in lines that begin with `#| `, the trace.
#pragma once

#include <string>

namespace polyweft::schedules {

/// The text of the program that a trace's file holds; empty where it holds none.
std::string program_in(const std::string& file_text);

}  // namespace polyweft::schedules
