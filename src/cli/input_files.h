// Options NAME=FILE.npy of inputs and outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "polyweft/tuner.h"

namespace polyweft::cli {

/// By name. PW0003 for what is no NAME=FILE.
Result<std::map<std::string, std::string>> named_paths(const std::vector<std::string>& texts, const char* option);
/// Every name must be one of the tensors, else a typing error would silently run on seeded data: PW0005.
Status names_exist(const std::map<std::string, std::string>& paths, const Program& program,
                   const std::vector<TensorId>& tensors, const char* what);
/// The data of the options --input, by name, at these sizes; - is standard input. PW0006 for another shape.
Result<std::map<std::string, TensorData>> read_inputs(const std::vector<std::string>& texts, const Program& program,
                                                      const std::map<std::string, int64_t>& parameters);

}  // namespace polyweft::cli
