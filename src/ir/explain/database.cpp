#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kEntries = std::to_array<Entry>({
    {"PW0701", "The file is an SQLite file, but its tables are not exactly those of Polyweft. Nothing in it is read."},
    {"PW0702", "The database was made by a newer Polyweft. Older files are always opened."},
    {"PW0703", "Another process held the database for more than 30 s."},
    {"PW0704", "The file or its folder cannot be written."},
    {"PW0705", "The disk is full. What was committed stays."},
    {"PW0706", "The file is damaged or not a database. 'polyweft db verify' tells which rows are still good."},
    {"PW0707", "SQLite refused an operation; the message is its own."},
    {"PW0708", "A row does not match its digest: it was changed or damaged. It is not served."},
    {"PW0709", "The operation needs a database."},
    {"PW0710", "There is no record of this number."},
    {"PW0711", "A record whose key, canonical text and program do not belong together: it is not served."},
    {"PW0712", "A record can be timed beside a kernel only if it is of the same program, sizes and numerics class."},
    {"PW0713", "The database has no record of this program, sizes, numerics class, target and number of threads together."},
});

}  // namespace

std::span<const Entry> database() {
  return kEntries;
}

}  // namespace polyweft::explain
