#include "driver/device_key.h"

#include <string_view>

namespace polyweft {
namespace {

constexpr std::string_view kOnDevice = "; on ";  // on disk: frozen

}  // namespace

TaskKey on_device(TaskKey key, const std::string& device) {
  if (!device.empty() && key.target.find(kOnDevice) == std::string::npos) key.target += std::string(kOnDevice) + device;
  return key;
}

bool is_on_some_device(const TaskKey& key, const TaskKey& task) {
  TaskKey plain = key;
  const size_t at = key.target.find(kOnDevice);
  if (at == std::string::npos) return false;
  plain.target.resize(at);
  return plain == task;
}

}  // namespace polyweft
