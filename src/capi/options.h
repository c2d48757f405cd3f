// Option structs of C: sized, so that callers and library may be of different versions.
#pragma once

#include <cstring>

#include "errors.h"
#include "polyweft/c_api.h"
#include "polyweft/tuner.h"

namespace polyweft::capi {

/// The caller's struct, cut or filled up to the size that this library knows.
template <class T>
T known_part(const T* options) {
  T out{};
  if (options) std::memcpy(&out, options, options->struct_size < sizeof(T) ? options->struct_size : sizeof(T));
  return out;
}
/// What the caller's struct has room for.
template <class T>
void give_known_part(T* out, T result) {
  result.struct_size = out->struct_size;
  std::memcpy(out, &result, out->struct_size < sizeof result ? out->struct_size : sizeof result);
}
/// A struct that does not even have its own size was not filled in by the caller.
template <class T>
bool has_size(const T* options) {
  return !options || options->struct_size >= sizeof(size_t);
}

pw_status fill(const pw_tuner_options* given, TunerOptions& out, std::string& target);
/// All but the data of inputs.
pw_status fill(const pw_task_options* given, TuneOptions& out);
/// The data of inputs: their shapes are the program's at the options' parameters.
pw_status fill_inputs(const pw_task_options* given, Tuner& tuner, const Program& program, TuneOptions& out);

}  // namespace polyweft::capi
