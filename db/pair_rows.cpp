#include "db/pair_rows.h"

#include <SQLiteCpp/Column.h>

#include <cstring>

#include "db/record_rows.h"
#include "db/row_digest.h"

namespace polyweft::db {
namespace {

std::string bytes_of(const std::vector<float>& samples) {
  std::string out(samples.size() * sizeof(float), '\0');
  if (!samples.empty()) std::memcpy(out.data(), samples.data(), out.size());
  return out;
}

std::vector<float> samples_of(const std::string& bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
  return out;
}

std::string pairs_digest(int64_t measurement, const Measurement& m) {
  return RowDigest("pairs")
      .integer(measurement)
      .text(m.beside)
      .real(m.timing.ratio_lo)
      .real(m.timing.ratio_hi)
      .text(bytes_of(m.timing.samples_ns))
      .text(bytes_of(m.timing.beside_ns))
      .finish();
}

}  // namespace

void add_pairs(SQLite::Database& handle, int64_t measurement, const Measurement& m) {
  if (m.timing.samples_ns.empty() && m.beside.empty()) return;
  SQLite::Statement add(handle,
                        "INSERT INTO pairs (measurement, beside, ratio_lo, ratio_hi, samples_ns, beside_ns, digest) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?)");
  const std::string samples = bytes_of(m.timing.samples_ns), beside = bytes_of(m.timing.beside_ns),
                    digest = pairs_digest(measurement, m);
  add.bind(1, measurement);
  add.bind(2, m.beside);
  add.bind(3, m.timing.ratio_lo);
  add.bind(4, m.timing.ratio_hi);
  add.bind(5, samples.data(), static_cast<int>(samples.size()));
  add.bind(6, beside.data(), static_cast<int>(beside.size()));
  add.bind(7, digest.data(), static_cast<int>(digest.size()));
  add.exec();
}

std::string pair_columns(const std::string& table) {
  std::string out;
  for (const char* column : {"beside", "ratio_lo", "ratio_hi", "samples_ns", "beside_ns", "digest"})
    out += (out.empty() ? "" : ", ") + table + "." + column;
  return out;
}

void pairs_at(SQLite::Statement& row, int c, int64_t measurement, Measurement& m) {
  if (row.getColumn(c).isNull()) return;
  Measurement found = m;
  found.beside = row.getColumn(c).getString();
  found.timing.ratio_lo = row.getColumn(c + 1).getDouble();
  found.timing.ratio_hi = row.getColumn(c + 2).getDouble();
  found.timing.samples_ns = samples_of(blob_at(row, c + 3));
  found.timing.beside_ns = samples_of(blob_at(row, c + 4));
  if (blob_at(row, c + 5) == pairs_digest(measurement, found)) m = std::move(found);
}

std::vector<std::string> damaged_pairs(SQLite::Database& handle) {
  std::vector<std::string> out;
  SQLite::Statement rows(handle, "SELECT measurement, " + pair_columns("pairs") + " FROM pairs ORDER BY measurement");
  while (rows.executeStep()) {
    const int64_t measurement = rows.getColumn(0).getInt64();
    Measurement read;
    pairs_at(rows, 1, measurement, read);
    const bool is_sound = !read.beside.empty() || !read.timing.samples_ns.empty();
    if (!is_sound) out.push_back("pairs of measurement #" + std::to_string(measurement) + " do not match their digest");
  }
  return out;
}

}  // namespace polyweft::db
