#include "driver/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "schedules/hulls.h"

namespace polyweft {
namespace {

double bytes_of(const Box& box, ElementType type) {
  double bytes = static_cast<double>(size_bytes(type));
  for (uint32_t d = 0; d < box.lo.size(); ++d) bytes *= static_cast<double>(std::max<int64_t>(0, box.extent(d)));
  return bytes;
}

double memory_at_hand() {
  double out = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  rlimit own{};
  if (getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY)
    out = std::min(out, static_cast<double>(own.rlim_cur));
  return out;
}

std::string gib(double bytes) {
  const double tenths = std::ceil(bytes / (1 << 30) * 10);
  return tenths < 1e9 ? std::to_string(static_cast<int64_t>(tenths) / 10) + "." +
                            std::to_string(static_cast<int64_t>(tenths) % 10) + " GiB"
                      : "over 10^8 GiB";
}

}  // namespace

Status arguments_fit(const Program& bound, int copies) {
  const std::vector<Box> boxes = schedules::tensor_boxes(bound);
  double wanted = 0;
  for (const auto& ids : {bound.inputs(), bound.outputs()})
    for (TensorId id : ids) wanted += copies * bytes_of(boxes[id], bound.tensors[id].type);
  const double at_hand = memory_at_hand();
  if (wanted <= at_hand) return Ok{};
  return fail("PW0814",
              bound.name + ": " + std::to_string(copies) + (copies == 1 ? " copy" : " copies") +
                  " of its inputs and outputs take " + gib(wanted) + "; this process has " + gib(at_hand),
              {"bind smaller sizes"});
}

}  // namespace polyweft
