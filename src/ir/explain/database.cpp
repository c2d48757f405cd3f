#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kDatabaseEntries = std::to_array<Entry>({
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
    {"PW0713",
     "The database has no record of this program, sizes, numerics class, target and number of threads together."},
    {"PW0720",
     "A stored nest runs only where this host has proven it, and an attestation of this host says so. This one has "
     "none that fits, and when it was proven\n"
     "again it was refuted, or was no nest at all: the row was changed, or made elsewhere by something else than "
     "Polyweft."},
    {"PW0721",
     "A stored nest without this host's attestation is proven again before it runs, and this proof did not come to an "
     "end (a quota, the deadline, a\n"
     "construct that the checker does not cover). Nothing speaks against the nest, but it is not served."},
    {"PW0722",
     "The secret by which this host knows the records that it has proven: $XDG_STATE_HOME/polyweft/secret or "
     "~/.local/state/polyweft/secret, mode 0600,\n"
     "made at the first use. Without it every process proves the records that it serves again."},
    {"PW0724",
     "A database is made by 'polyweft tune' and 'polyweft db import' only, and its folder never, so that a mistyped "
     "path is noticed."},
    {"PW0725", "'polyweft db import' takes what is not in the database yet."},
    {"PW0726", "A line of the file is no record as 'polyweft db export' writes it: JSON Lines, one record a line."},
    {"PW0727", "A database is a regular file. The path is that of a folder, a pipe, a socket or a device."},
    {"PW0728",
     "A time of a call that no clock tells: 0, infinite, below 0.001 ns or above thirty years, or a ratio that follows "
     "from such times. A record with one would win or lose for ever, so none is stored, and one that a file has is "
     "not served: 'polyweft db delete N --measurements' removes it."},
});

}  // namespace

std::span<const Entry> database() {
  return kDatabaseEntries;
}

}  // namespace polyweft::explain
