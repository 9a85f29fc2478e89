// Which SIMD targets the row-wise kernels were compiled for and may use.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rowwise_targets.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/rowwise.h"

HWY_BEFORE_NAMESPACE();
namespace longformer::kernels {
namespace HWY_NAMESPACE {

int64_t this_target() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace longformer::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longformer::kernels {

HWY_EXPORT(this_target);

namespace {

// hwy::SupportedTargets() lets all kernels choose among everything that the processor has, whatever
// was disabled; this takes the choice back.
void choose_again() { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }

}  // namespace

std::vector<std::string> supported_targets() {
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  choose_again();
  return names;
}

std::string current_target() { return hwy::TargetName(HWY_DYNAMIC_DISPATCH(this_target)()); }

bool limit_target(std::string_view name) {
  for (int bit = 0; bit < 63; ++bit) {
    const int64_t target = int64_t{1} << bit;
    const std::string_view candidate = hwy::TargetName(target);
    if (candidate == "Unknown" || candidate != name) continue;
    // Better targets have lower bits.
    hwy::DisableTargets(target - 1);
    choose_again();
    return true;
  }
  return false;
}

}  // namespace longformer::kernels
#endif  // HWY_ONCE
