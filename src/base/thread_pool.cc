#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "longformer/error.h"

namespace longformer {
namespace {

constexpr int kMaxThreads = 4096;

// Passes follow each other closely and a wake-up by the system costs microseconds, so waiting
// begins with a short spin. It must be short and then give way: where there are more threads than
// processors, the thread that is waited for may need this very one (measured there: 200 pauses cost
// 13 us a run, 20 pauses and 8 yields 4 us).
constexpr int kPauses = 20;
constexpr int kYields = 8;

void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <typename T>
void wait_while_equal(const std::atomic<T>& value, T old) noexcept {
  for (int i = 0; i < kPauses + kYields; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    i < kPauses ? pause_briefly() : std::this_thread::yield();
  }
  value.wait(old, std::memory_order_acquire);
}

std::optional<int> parse_thread_count(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < 1 || value > kMaxThreads) return std::nullopt;
  return value;
}

}  // namespace

struct ThreadPool::Impl {
  // Each worker sleeps on its own number, so that a small run wakes only the workers it can use.
  struct alignas(64) Worker {
    std::atomic<uint32_t> started{
        0};  // runs begun; the worker is behind while this differs from its own count
    std::thread thread;
  };

  std::mutex one_run;  // callers from several threads take turns
  std::deque<Worker> workers;
  const std::function<void(int64_t, int)>* task = nullptr;
  int64_t count = 0;
  bool stop = false;  // published by the increment of `started`
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<int> running{0};
  std::mutex failure_mutex;
  std::exception_ptr failure;

  void work(int worker) noexcept {
    uint32_t seen = 0;
    for (;;) {
      std::atomic<uint32_t>& started = workers[static_cast<size_t>(worker)].started;
      wait_while_equal(started, seen);
      ++seen;
      if (stop) return;
      take_indices(worker);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }

  void take_indices(int worker) noexcept {
    try {
      for (;;) {
        const int64_t index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= count) return;
        (*task)(index, worker);
      }
    } catch (...) {
      next.store(count, std::memory_order_relaxed);  // the others finish what they have and stop
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  void wake(size_t workers_to_wake) {
    for (size_t i = 0; i < workers_to_wake; ++i) {
      workers[i].started.fetch_add(1, std::memory_order_release);
      workers[i].started.notify_one();
    }
  }

  void join() {
    stop = true;
    wake(workers.size());
    for (Worker& worker : workers) {
      if (worker.thread.joinable()) worker.thread.join();
    }
  }

  bool is_worker(std::thread::id id) const {
    return std::any_of(workers.begin(), workers.end(),
                       [id](const Worker& worker) { return worker.thread.get_id() == id; });
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  if (threads == 0) threads = default_threads();
  if (threads < 1 || threads > kMaxThreads) {
    throw Error(ErrorCode::kInvalidArgument,
                "the number of threads is " + std::to_string(threads) + "; allowed: 1 to 4096");
  }
  impl_->workers.resize(static_cast<size_t>(threads));
  try {
    for (int i = 0; i < threads; ++i) {
      impl_->workers[static_cast<size_t>(i)].thread =
          std::thread([impl = impl_.get(), i] { impl->work(i); });
    }
  } catch (const std::system_error& error) {
    impl_->join();
    throw Error(ErrorCode::kIo, "the system refused to start " + std::to_string(threads) +
                                    " threads (" + error.code().message() + "); ask for fewer");
  }
}

ThreadPool::~ThreadPool() {
  if (impl_) impl_->join();
}

int ThreadPool::threads() const noexcept { return static_cast<int>(impl_->workers.size()); }

void ThreadPool::run(int64_t count, const std::function<void(int64_t, int)>& task) {
  if (count <= 0) return;
  if (impl_->is_worker(std::this_thread::get_id())) {
    throw Error(ErrorCode::kInternal, "a task called run() on its own thread pool");
  }
  const std::lock_guard lock(impl_->one_run);
  const int active = static_cast<int>(std::min<int64_t>(count, threads()));
  impl_->task = &task;
  impl_->count = count;
  impl_->failure = nullptr;
  impl_->next.store(0, std::memory_order_relaxed);
  impl_->running.store(active, std::memory_order_relaxed);
  impl_->wake(static_cast<size_t>(active));
  for (int left = active; left != 0; left = impl_->running.load(std::memory_order_acquire)) {
    wait_while_equal(impl_->running, left);
  }
  impl_->task = nullptr;
  if (impl_->failure) std::rethrow_exception(std::exchange(impl_->failure, nullptr));
}

int ThreadPool::default_threads() {
  if (const char* own = std::getenv("LONGFORMER_THREADS"); own != nullptr && *own != '\0') {
    const auto threads = parse_thread_count(own);
    if (!threads) {
      throw Error(ErrorCode::kInvalidArgument, "is not a whole number from 1 to 4096",
                  "LONGFORMER_THREADS");
    }
    return *threads;
  }
  if (const char* openmp = std::getenv("OMP_NUM_THREADS"); openmp != nullptr) {
    const std::string_view list(openmp);  // one number a nesting level: "4,2"
    if (const auto threads = parse_thread_count(list.substr(0, list.find(',')))) return *threads;
  }
  const int quota = quota_cores();
  const int cores = affinity_cores();
  return std::clamp(quota > 0 ? std::min(quota, cores) : cores, 1, kMaxThreads);
}

}  // namespace longformer
