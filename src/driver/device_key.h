// Records of devices: what was measured on one device, with one driver, does not answer for another one.
#pragma once

#include <string>

#include "polyweft/records.h"

namespace polyweft {

/// The key of searches whose kernels ran on this device, "NVIDIA H100, driver 580.65.06, CUDA 13.0"; the same key where
/// there is none, or where it has one already.
TaskKey on_device(TaskKey key, const std::string& device);
/// Is this the key of the same task on some device?
bool is_on_some_device(const TaskKey& key, const TaskKey& task);

}  // namespace polyweft
