// From the schemas of older versions to this one's.
#pragma once

#include <SQLiteCpp/Database.h>

namespace polyweft::db {

/// Rewrites the tables of schema `version` (1..kSchemaVersion-1) as those of kSchemaVersion, inside the caller's
/// transaction, with foreign keys off and legacy_alter_table on. No row is lost, a damaged one stays damaged. Throws
/// SQLite::Exception, also where the tables are not those of that version.
void migrate(SQLite::Database& handle, int version);

}  // namespace polyweft::db
