#include "train/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "longformer/error.h"

namespace longformer::train {
namespace {

constexpr double kPolynomialEnd = 1e-7;
constexpr int64_t kTimescale = 10'000;  // of inverse_sqrt without warm-up

constexpr std::array<std::pair<const char*, ScheduleKind>, 6> kNames = {{
    {"linear", ScheduleKind::kLinear},
    {"cosine", ScheduleKind::kCosine},
    {"polynomial", ScheduleKind::kPolynomial},
    {"constant", ScheduleKind::kConstant},
    {"constant_with_warmup", ScheduleKind::kConstantWithWarmup},
    {"inverse_sqrt", ScheduleKind::kInverseSqrt},
}};

double quotient(int64_t a, int64_t b) noexcept {
  return static_cast<double>(a) / static_cast<double>(std::max<int64_t>(b, 1));
}

double factor(const Schedule& schedule, int64_t step) noexcept {
  const int64_t warmup = schedule.warmup_steps, total = schedule.total_steps;
  if (schedule.kind == ScheduleKind::kConstant) return 1;
  if (step < warmup) return quotient(step, warmup);
  switch (schedule.kind) {
    case ScheduleKind::kLinear:
      return std::max(0.0, quotient(total - step, total - warmup));
    case ScheduleKind::kCosine: {
      const double progress = quotient(step - warmup, total - warmup);
      return std::max(0.0, 0.5 * (1.0 + std::cos(std::numbers::pi * 0.5 * 2.0 * progress)));
    }
    case ScheduleKind::kPolynomial: {
      const double highest = schedule.learning_rate;
      if (step > total) return kPolynomialEnd / highest;
      const double remaining = 1 - quotient(step - warmup, total - warmup);
      return ((highest - kPolynomialEnd) * remaining + kPolynomialEnd) / highest;
    }
    case ScheduleKind::kInverseSqrt: {
      const int64_t timescale = warmup > 0 ? warmup : kTimescale;
      return 1.0 / std::sqrt(quotient(step + timescale - warmup, timescale));
    }
    default:
      return 1;
  }
}

}  // namespace

double Schedule::at(int64_t steps_done) const noexcept {
  return learning_rate * factor(*this, steps_done);
}

ScheduleKind schedule_kind(const std::string& name) {
  std::string known;
  for (const auto& [text, kind] : kNames) {
    if (name == text) return kind;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw Error(ErrorCode::kInvalidArgument, "\"" + name + "\" is no schedule; there are: " + known,
              "lr_scheduler_type");
}

int64_t warmup_steps(int64_t steps, double ratio, int64_t total_steps) noexcept {
  if (steps > 0) return steps;
  return static_cast<int64_t>(std::ceil(static_cast<double>(total_steps) * ratio));
}

}  // namespace longformer::train
