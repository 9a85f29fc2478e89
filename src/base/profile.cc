#include "base/profile.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <tuple>
#include <unordered_map>

namespace longformer {
namespace {

using Clock = std::chrono::steady_clock;

struct Totals {
  uint64_t calls = 0;
  double seconds = 0.0;
  double flop = 0.0;
};

struct KeyHash {
  size_t operator()(const ProfileKey& key) const noexcept {
    uint64_t hash = 0;
    const auto add = [&](uint64_t value) {
      hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    };
    // Equal texts at two places are two entries here; take_profile() joins them.
    for (const char* text : {key.operation, key.type, key.implementation}) {
      add(reinterpret_cast<uintptr_t>(text));
    }
    for (const int64_t size : key.shape) add(static_cast<uint64_t>(size));
    return hash;
  }
};

// Of one thread. The mutex is taken by that thread, and by take_profile().
struct Table {
  std::mutex mutex;
  std::unordered_map<ProfileKey, Totals, KeyHash> totals;
};

// The tables outlive their threads until somebody has taken what they hold.
struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Table>> tables;
};

Registry& registry() {
  static Registry all;
  return all;
}

struct ThreadProfile {
  std::shared_ptr<Table> table = std::make_shared<Table>();
  ProfileScope* innermost = nullptr;

  ThreadProfile() {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.tables.push_back(table);
  }
};

ThreadProfile& thread_profile() {
  static thread_local ThreadProfile profile;
  return profile;
}

std::string shape_text(const ProfileKey& key) {
  std::string text;
  for (const int64_t size : key.shape) {
    if (size == 0) continue;
    if (!text.empty()) text += " x ";
    text += std::to_string(size);
  }
  if (*key.type != '\0') text += (text.empty() ? "" : " ") + std::string(key.type);
  return text;
}

}  // namespace

void set_profiling(bool on) noexcept {
  profile_internal::switched_on().store(on, std::memory_order_relaxed);
}

void ProfileScope::begin(const ProfileKey& key, double flop) noexcept {
  try {
    ThreadProfile& thread = thread_profile();
    running_.emplace(Running{key, flop, thread.innermost, Clock::now(), 0.0});
    thread.innermost = this;
  } catch (const std::bad_alloc&) {
    // Not counted.
  }
}

void ProfileScope::end() noexcept {
  const double seconds = std::chrono::duration<double>(Clock::now() - running_->start).count();
  ThreadProfile& thread = thread_profile();
  thread.innermost = running_->outer;
  if (running_->outer != nullptr) running_->outer->running_->inner_seconds += seconds;
  try {
    const std::lock_guard lock(thread.table->mutex);
    Totals& totals = thread.table->totals[running_->key];
    ++totals.calls;
    totals.seconds += seconds - running_->inner_seconds;
    totals.flop += running_->flop;
  } catch (const std::bad_alloc&) {
    // Not counted.
  }
}

std::vector<ProfileLine> take_profile() {
  std::map<std::tuple<std::string, std::string, std::string>, Totals> joined;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const std::shared_ptr<Table>& table : all.tables) {
    const std::lock_guard table_lock(table->mutex);
    for (const auto& [key, totals] : table->totals) {
      Totals& sum = joined[{key.operation, shape_text(key), key.implementation}];
      sum.calls += totals.calls;
      sum.seconds += totals.seconds;
      sum.flop += totals.flop;
    }
    table->totals.clear();
  }
  // Nobody else holds the table of a thread that has ended.
  std::erase_if(all.tables, [](const auto& table) { return table.use_count() == 1; });
  std::vector<ProfileLine> lines;
  for (const auto& [key, totals] : joined) {
    const auto& [operation, shape, implementation] = key;
    lines.push_back({operation, shape, implementation, totals.calls, totals.seconds, totals.flop});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const ProfileLine& a, const ProfileLine& b) {
    return a.seconds > b.seconds;
  });
  return lines;
}

}  // namespace longformer
