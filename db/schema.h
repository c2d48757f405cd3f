// The schema of the schedule database: its text is compared byte for byte when a file is opened.
#pragma once

#include <string>
#include <vector>

namespace polyweft::db {

inline constexpr int kSchemaVersion = 6;
inline constexpr int kApplicationId = 0x50574546;  // "PWEF"

struct SchemaObject {
  const char* name;
  const char* sql;  ///< exactly as SQLite keeps it in sqlite_schema
};
/// Tables before the indices on them.
const std::vector<SchemaObject>& schema_objects();

/// Objects of older versions that this one does not have.
inline constexpr const char* kNamesOfOlderSchemas[] = {"record_by_time"};

}  // namespace polyweft::db
