#include "tasks/label_set.h"

#include <algorithm>
#include <charconv>

#include "io/json.h"

namespace longformer::tasks {
namespace {

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::string> sort_labels(std::vector<std::string> names) {
  const bool numbers = std::all_of(names.begin(), names.end(),
                                   [](const std::string& name) { return whole_number(name); });
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    if (!numbers || *whole_number(a) == *whole_number(b)) return a < b;
    return *whole_number(a) < *whole_number(b);
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

LabelSet::LabelSet(const std::vector<std::string>& names) : names_(names) {
  for (size_t i = 0; i < names.size(); ++i) {
    numbers_.emplace(names[i], static_cast<int64_t>(i));
  }
}

std::optional<int64_t> LabelSet::find(const std::string& name) const {
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  const std::optional<int64_t> number = whole_number(name);
  return number && *number >= 0 && *number < size() ? number : std::nullopt;
}

std::string LabelSet::list() const {
  std::string names;
  for (const std::string& label : names_) {
    if (names.size() > 200) return names + ", …";
    names += (names.empty() ? "" : ", ") + io::short_value(io::Json(label));
  }
  return names;
}

}  // namespace longformer::tasks
