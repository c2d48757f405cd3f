// What the evaluator says of a program, kept for all nests that are compared with it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "polyweft/program.h"

namespace polyweft::test {

struct Reference {
  std::vector<TensorData> inputs;
  Result<ir::Evaluation> wanted;
};

/// What the evaluator says of these inputs. The last few are kept: many nests of one program are compared with it.
inline std::shared_ptr<const Reference> reference(const Program& program, uint64_t seed, ir::DataKind kind,
                                                  const ir::EvaluateOptions& options) {
  static std::map<std::string, std::shared_ptr<const Reference>> kept;
  const std::string key = print(program) + std::to_string(seed) + " " + std::to_string(static_cast<int>(kind)) + " " +
                          std::to_string(options.with_bounds) +
                          (options.tags ? std::string(name_of(*options.tags)) : "");
  if (const auto found = kept.find(key); found != kept.end()) return found->second;
  if (kept.size() >= 8) kept.clear();
  auto inputs = ir::seeded_inputs(program, seed, kind);
  auto wanted = ir::evaluate(program, inputs, options);
  return kept[key] = std::make_shared<const Reference>(Reference{std::move(inputs), std::move(wanted)});
}

/// Of whole numbers, with the term that each element stands for.
inline std::shared_ptr<const Reference> tag_reference(const Program& program, NumericsClass cls) {
  ir::EvaluateOptions options;
  options.tags = cls;
  return reference(program, 3, ir::DataKind::integers, options);
}

}  // namespace polyweft::test
