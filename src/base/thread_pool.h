// A fixed set of threads that all compute runs on. The caller's thread never computes, so its
// OpenMP and affinity settings stay its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace longformer {

class ThreadPool {
 public:
  // threads >= 1; 0 means default_threads().
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const noexcept;

  // Calls task(index, worker) once for each index in [0, count), worker in [0, threads()), and
  // returns when all are done. Indices are handed out in increasing order, one at a time. The first
  // exception is rethrown here, after all workers stopped. Not reentrant: a task may not call run()
  // on its own pool (throws kInternal).
  void run(int64_t count, const std::function<void(int64_t index, int worker)>& task);

  // LONGFORMER_THREADS, else the first number of OMP_NUM_THREADS, else the smaller of the affinity
  // mask and the cgroup CPU quota, at least 1. A LONGFORMER_THREADS that is not a whole number from
  // 1 to 4096 throws kInvalidArgument; such an OMP_NUM_THREADS is not ours to judge and is passed
  // over.
  static int default_threads();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longformer
