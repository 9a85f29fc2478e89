#include "train/resume.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "longformer/error.h"

namespace longformer::train {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Lines of the one that the other lacks, each with what it is.
void add_missing(const std::vector<std::string>& lines, const std::vector<std::string>& other,
                 const std::string& what, std::vector<std::string>& differences) {
  constexpr size_t kShown = 3;
  std::vector<std::string> missing;  // training and evaluation set may say the same
  for (const std::string& line : lines) {
    if (std::find(other.begin(), other.end(), line) != other.end()) continue;
    if (std::find(missing.begin(), missing.end(), line) == missing.end()) missing.push_back(line);
  }
  for (size_t i = 0; i < std::min(missing.size(), kShown); ++i) {
    differences.push_back(what + " \"" + missing[i] + "\"");
  }
  if (missing.size() > kShown) {
    differences.push_back(what + " " + std::to_string(missing.size() - kShown) + " lines more");
  }
}

}  // namespace

void check_resume(const TrainingState& saved, const ResumePlan& plan, const std::string& place,
                  const std::function<void(const std::string&)>& notice) {
  std::vector<std::string> differences = resume_differences(saved.options, plan.options);
  const std::vector<std::string> then = lines_of(saved.identity), now = lines_of(plan.identity);
  add_missing(then, now, "there was", differences);
  add_missing(now, then, "there is now", differences);
  if (then != now && differences.empty()) {
    differences.push_back("the same facts stand in another order");
  }
  if (plan.total_steps < saved.total_steps) {
    differences.push_back("there are " + std::to_string(plan.total_steps) + " steps in all, and " +
                          std::to_string(saved.total_steps) + " before; there may only be more");
  }
  if (!differences.empty()) {
    std::string list;
    for (const std::string& difference : differences) {
      list += (list.empty() ? "" : "; ") + difference;
    }
    throw Error(ErrorCode::kInvalidArgument,
                "cannot be continued with what would change its numbers: " + list +
                    ". Take the old values, or begin in another directory",
                place);
  }
  if (plan.total_steps > saved.total_steps) {
    notice("there are now " + std::to_string(plan.total_steps) + " steps in all instead of " +
           std::to_string(saved.total_steps) +
           ": the learning rate goes on along the new schedule");
  }
}

}  // namespace longformer::train
