// What the verbs of `db` share: which records are meant, and their way out of a database and into another.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "options.h"

namespace polyweft::cli {

struct DbOptions : CommonOptions {
  int64_t limit = 100, offset = 0;
  std::string program, proof, origin, file;
  std::set<std::string> given;   ///< options of the command line that choose records: --numerics, --threads, --target
  std::vector<int64_t> records;  ///< by number
  bool measurements = false;
};

using Sizes = std::vector<std::pair<std::string, int64_t>>;
/// The parameters of a record by name; "?" where its program's text does not have so many.
Sizes sizes_of(const TuningRecord& record);

/// By the filters, -p NAME=VALUE among them; the limit counts what is chosen.
Result<std::vector<TuningRecord>> chosen_records(Database& database, const DbOptions& options);

int export_records(Database& database, const DbOptions& options);
int import_records(const DbOptions& options);

}  // namespace polyweft::cli
