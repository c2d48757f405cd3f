// Folders of traces: the installed library, which has an index, and those of users.
#pragma once

#include <string>
#include <vector>

#include "polyweft/program.h"
#include "polyweft/target.h"
#include "polyweft/trace.h"

namespace polyweft {

/// A trace and the program that it was written for, as parsed.
struct LibraryTrace {
  std::string name;  ///< of its file
  Program program;
  Trace trace;
};

/// Where the library for such machines is, one with grids or a CPU; empty where it is not installed.
std::string library_folder(const Machine& machine);
/// The library's traces whose programs have a structure (schedules::key_of), in the order of their names. Reads the
/// index and their files: some milliseconds.
std::vector<LibraryTrace> library_traces(const std::string& folder, const std::string& structure_key);

struct FolderOfTraces {
  std::vector<LibraryTrace> traces;
  std::vector<std::string> left_out;  ///< a line each: the file, what is wrong with it, [PW0011]
};
/// All files NAME.trace of a folder, by their names. PW0010 where it cannot be read or has none.
Result<FolderOfTraces> traces_in(const std::string& folder);
/// "FILE: why [PW0011]".
std::string left_out(const std::string& file, const std::string& why);

}  // namespace polyweft
