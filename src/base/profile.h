// Where the time goes: calls, seconds and FLOP of each operation, shape and implementation. Off, a
// scope costs one relaxed load; on, two clock readings and a look-up in a table of its thread's.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace longformer {

// What a scope is counted under. The texts must live as long as the process.
struct ProfileKey {
  const char* operation = "";
  std::array<int64_t, 3> shape{};  // 0: no such dimension
  const char* type = "";
  const char* implementation = "";
  bool operator==(const ProfileKey&) const = default;
};

struct ProfileLine {
  std::string operation;
  std::string shape;  // "128 x 3072 x 768 bf16"; empty where there is none
  std::string implementation;
  uint64_t calls = 0;
  double seconds = 0.0;  // of all threads together, without the scopes inside
  double flop = 0.0;     // 0: not counted
};

namespace profile_internal {
inline std::atomic<bool>& switched_on() noexcept {
  static constinit std::atomic<bool> on{false};
  return on;
}
}  // namespace profile_internal

inline bool profiling() noexcept {
  return profile_internal::switched_on().load(std::memory_order_relaxed);
}
// From now on, for the whole process.
void set_profiling(bool on) noexcept;

// Counts the time from here to the end of the block. A scope inside another takes its time from the
// outer one, so that the lines add up to the time in scopes.
class ProfileScope {
 public:
  explicit ProfileScope(const ProfileKey& key, double flop = 0.0) noexcept {
    if (profiling()) begin(key, flop);
  }
  ~ProfileScope() {
    if (running_.has_value()) end();
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  struct Running {
    ProfileKey key;
    double flop;
    ProfileScope* outer;
    std::chrono::steady_clock::time_point start;
    double inner_seconds;  // of the scopes inside
  };
  void begin(const ProfileKey& key, double flop) noexcept;
  void end() noexcept;
  std::optional<Running> running_;
};

// What all threads have counted since the last call, the longest first.
std::vector<ProfileLine> take_profile();

}  // namespace longformer
