#include "io/temporaries.h"

#include <mutex>
#include <set>
#include <system_error>
#include <utility>

namespace longformer::io {
namespace {

struct Registry {
  std::mutex mutex;
  std::multiset<std::filesystem::path> paths;
};

Registry& registry() {
  static Registry shared;
  return shared;
}

}  // namespace

Temporary::Temporary(std::filesystem::path path) : path_(std::move(path)) {
  const std::lock_guard lock(registry().mutex);
  registry().paths.insert(path_);
}

Temporary::~Temporary() {
  const std::lock_guard lock(registry().mutex);
  registry().paths.erase(registry().paths.find(path_));
}

void remove_temporaries() noexcept {
  const std::lock_guard lock(registry().mutex);
  for (const std::filesystem::path& path : registry().paths) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
}

}  // namespace longformer::io
