// Program texts that a command names: FILE, FILE:PROGRAM, a folder, or - for standard input.
#pragma once

#include <string>
#include <vector>

#include "polyweft/polyweft.h"

namespace polyweft::cli {

/// Where a text is, and which of its programs is meant; all where `program` is empty.
struct ProgramFile {
  std::string path, program;
  /// As messages name it.
  std::string shown() const;
};
/// FILE:PROGRAM only where FILE:PROGRAM itself is no file: a path may hold a colon.
ProgramFile program_file(const std::string& word);
/// Files as they are, folders as the .weft files in and below them, sorted. PW0001 for a folder without any.
Result<std::vector<ProgramFile>> program_files(const std::vector<std::string>& words);
/// Its programs, or the one that is meant: PW0001, PW0002 with the names of those that are there, or what the parser
/// says.
Result<ParsedPrograms> parse_file(const ProgramFile& file);

}  // namespace polyweft::cli
