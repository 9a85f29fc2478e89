// Names of classes: which there are in files, and the number of one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace longformer::tasks {

// Names as a new head has them: whole numbers by value where all are, else by their bytes.
std::vector<std::string> sort_labels(std::vector<std::string> names);

class LabelSet {
 public:
  // Of equal names the first one counts.
  explicit LabelSet(const std::vector<std::string>& names);
  int64_t size() const { return static_cast<int64_t>(names_.size()); }
  bool has(const std::string& name) const { return numbers_.contains(name); }
  // By its name or, where no label is called so, by its number; none where it is neither.
  std::optional<int64_t> find(const std::string& name) const;
  const std::string& name(int64_t number) const { return names_[static_cast<size_t>(number)]; }
  // The names, for messages; the first where there are many.
  std::string list() const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, int64_t> numbers_;
};

}  // namespace longformer::tasks
