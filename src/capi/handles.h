// What the handles of the C ABI hold.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "polyweft/c_api.h"
#include "polyweft/dsl.h"
#include "polyweft/tuner.h"

struct pw_program {
  polyweft::Program program;
  std::string key;
};
struct pw_tuner {
  polyweft::Tuner tuner;
};
struct pw_record {
  polyweft::TuningRecord record;
  std::string differs_in = {};  ///< of a nearest one, from what was asked for
};
struct pw_kernel {
  polyweft::Kernel kernel;
};
struct pw_record_list {
  std::vector<pw_record> records;
};
struct pw_buffer {
  std::vector<unsigned char> bytes;  ///< and a NUL behind them
};
struct pw_report {
  polyweft::TuneReport report;
  std::optional<pw_record> record;
  std::optional<polyweft::Error> error;
  std::string error_text;
};
struct pw_report_list {
  std::vector<pw_report> reports;
};
struct pw_builder {
  using Expression = std::variant<polyweft::dsl::Value, polyweft::dsl::Index, polyweft::dsl::Element>;
  polyweft::dsl::ProgramBuilder builder;
  std::vector<Expression> expressions;  ///< by their numbers, from 1 on
  std::vector<polyweft::dsl::TensorRef> tensors;
  std::vector<polyweft::dsl::CombinerHandle> combiners;
  std::optional<polyweft::Error> misuse;  ///< the first
};

namespace polyweft::capi {

template <class Bytes>
pw_buffer* new_buffer(const Bytes& bytes) {
  auto* out = new pw_buffer{{bytes.begin(), bytes.end()}};
  out->bytes.push_back(0);
  return out;
}

}  // namespace polyweft::capi
