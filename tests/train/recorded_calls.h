// System calls with a record, faults on order, and what a disk holds after the power went.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "train/system_calls.h"

namespace longformer::test {

struct Call {
  enum Kind { kCreate, kOpen, kWrite, kSync, kClose, kMakeDirectory, kRename, kRemove };
  Kind kind;
  std::string path, to;  // `to` of a rename
  std::string data;      // of a write
};

class RecordedCalls final : public train::SystemCalls {
 public:
  std::vector<Call> log;
  size_t most_bytes = 0;                          // of a write; 0: all
  int64_t free = int64_t{1} << 40;                // free_bytes()
  std::function<int(const Call&, size_t)> fault;  // an errno value instead of call number n

  int open(const char* path, int flags, mode_t mode) override {
    if (refused({flags & O_CREAT ? Call::kCreate : Call::kOpen, path})) return -1;
    const int file = SystemCalls::open(path, flags, mode);
    names_[file] = path;
    return file;
  }
  ssize_t write(int file, const void* data, size_t size) override {
    if (most_bytes > 0) size = std::min(size, most_bytes);
    if (refused({Call::kWrite, names_[file], "", {static_cast<const char*>(data), size}}))
      return -1;
    return SystemCalls::write(file, data, size);
  }
  int fsync(int file) override { return refused({Call::kSync, names_[file]}) ? -1 : 0; }
  int close(int file) override {
    const int result = SystemCalls::close(file);
    return refused({Call::kClose, names_[file]}) ? -1 : result;
  }
  int mkdir(const char* path, mode_t mode) override {
    return refused({Call::kMakeDirectory, path}) ? -1 : SystemCalls::mkdir(path, mode);
  }
  int rename(const char* from, const char* to) override {
    return refused({Call::kRename, from, to}) ? -1 : SystemCalls::rename(from, to);
  }
  int remove(const char* path) override {
    return refused({Call::kRemove, path}) ? -1 : SystemCalls::remove(path);
  }
  int64_t free_bytes(const char*) override { return free; }

 private:
  bool refused(Call call) {
    const int error = fault ? fault(call, calls_++) : 0;
    if (error != 0) {
      errno = error;
      return true;
    }
    log.push_back(std::move(call));
    return false;
  }

  size_t calls_ = 0;
  std::map<int, std::string> names_;
};

// A disk with a cache: what was synced stays, of the rest some may.
class CachedDisk {
 public:
  enum class Names { kSynced, kAll };
  enum class Data { kSynced, kHalf, kAll };

  explicit CachedDisk(std::string root) : root_(std::move(root)), top_(new Node) {
    top_->directory = true;
  }

  void apply(const Call& call) {
    switch (call.kind) {
      case Call::kCreate:
      case Call::kMakeDirectory: {
        auto node = std::make_shared<Node>();
        node->directory = call.kind == Call::kMakeDirectory;
        parent(call.path)->now[base(call.path)] = node;
        return;
      }
      case Call::kWrite:
        find(call.path)->data += call.data;
        return;
      case Call::kSync: {
        const auto node = find(call.path);
        node->synced = node->data.size();
        node->durable = node->now;
        return;
      }
      case Call::kRename: {
        const auto node = find(call.path);
        parent(call.path)->now.erase(base(call.path));
        parent(call.to)->now[base(call.to)] = node;
        return;
      }
      case Call::kRemove:
        parent(call.path)->now.erase(base(call.path));
        return;
      default:
        return;
    }
  }

  // Writes what would be found into an empty directory.
  void materialize(const std::filesystem::path& directory, Names names, Data data) const {
    put(*top_, directory, names, data);
  }

 private:
  struct Node {
    bool directory = false;
    std::string data;
    size_t synced = 0;
    std::map<std::string, std::shared_ptr<Node>> now, durable;
  };

  static std::string base(const std::string& path) {
    return std::filesystem::path(path).filename().string();
  }
  std::shared_ptr<Node> parent(const std::string& path) const {
    return find(std::filesystem::path(path).parent_path().string());
  }
  std::shared_ptr<Node> find(const std::string& path) const {
    std::shared_ptr<Node> node = top_;
    if (path == root_) return node;
    for (const auto& part : std::filesystem::path(path).lexically_relative(root_)) {
      node = node->now.at(part.string());
    }
    return node;
  }

  static void put(const Node& node, const std::filesystem::path& path, Names names, Data data) {
    if (!node.directory) {
      size_t size = node.synced;
      if (data == Data::kHalf) size += (node.data.size() - node.synced) / 2;
      if (data == Data::kAll) size = node.data.size();
      std::ofstream(path, std::ios::binary) << node.data.substr(0, size);
      return;
    }
    std::filesystem::create_directories(path);
    for (const auto& [name, entry] : names == Names::kAll ? node.now : node.durable) {
      put(*entry, path / name, names, data);
    }
  }

  std::string root_;
  std::shared_ptr<Node> top_;
};

}  // namespace longformer::test
