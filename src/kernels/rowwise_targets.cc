// Which SIMD targets the row-wise kernels were compiled for and may use.
#include <hwy/highway.h>

#include "kernels/rowwise.h"

namespace longformer::kernels {

std::vector<std::string> supported_targets() {
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

bool limit_target(std::string_view name) {
  for (int bit = 0; bit < 63; ++bit) {
    const int64_t target = int64_t{1} << bit;
    const std::string_view candidate = hwy::TargetName(target);
    if (candidate == "Unknown" || candidate != name) continue;
    // Better targets have lower bits.
    hwy::DisableTargets(target - 1);
    // Kernels that ran before have fixed their choice; make it again.
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return true;
  }
  return false;
}

}  // namespace longformer::kernels
