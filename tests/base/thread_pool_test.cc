#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "longformer/error.h"

namespace longformer {
namespace {

// Sets or clears a variable and puts the old value back.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~ScopedVariable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(ThreadPool, CallsEachIndexOnceForAnyCountAndSize) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t count : {0, 1, 2, 6, 7, 8, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      std::atomic<bool> worker_in_range{true};
      pool.run(count, [&](int64_t index, int worker) {
        calls[static_cast<size_t>(index)].fetch_add(1);
        if (worker < 0 || worker >= threads) worker_in_range = false;
      });
      EXPECT_TRUE(worker_in_range);
      for (const auto& n : calls) EXPECT_EQ(n.load(), 1);
    }
  }
}

TEST(ThreadPool, NeverRunsOnTheCallingThreadAndOneThreadIsOneWorker) {
  ThreadPool pool(3);
  std::mutex mutex;
  std::vector<std::set<std::thread::id>> ids(3);
  for (int run = 0; run < 50; ++run) {
    pool.run(30, [&](int64_t, int worker) {
      const std::lock_guard lock(mutex);
      ids[static_cast<size_t>(worker)].insert(std::this_thread::get_id());
    });
  }
  for (const auto& of_worker : ids) {
    EXPECT_LE(of_worker.size(), 1u);
    EXPECT_FALSE(of_worker.contains(std::this_thread::get_id()));
  }
}

TEST(ThreadPool, HandsOutIndicesInIncreasingOrder) {
  ThreadPool pool(1);
  std::vector<int64_t> order;
  pool.run(100, [&](int64_t index, int) { order.push_back(index); });
  std::vector<int64_t> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(ThreadPool, RethrowsAnExceptionAndWorksAfterwards) {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    std::atomic<int64_t> calls{0};
    EXPECT_THROW(pool.run(1'000'000,
                          [&](int64_t index, int) {
                            ++calls;
                            if (index == 3) throw std::out_of_range("three");
                          }),
                 std::out_of_range);
    EXPECT_LT(calls.load(), 1'000'000);  // the rest was not started
    std::atomic<int64_t> sum{0};
    pool.run(101, [&](int64_t index, int) { sum += index; });
    EXPECT_EQ(sum.load(), 5050);
  }
}

TEST(ThreadPool, ManyShortRunsLoseNothing) {
  ThreadPool pool(4);
  std::atomic<int64_t> sum{0};
  int64_t expected = 0;
  for (int64_t run = 0; run < 5000; ++run) {
    const int64_t count = run % 9;
    expected += count;
    pool.run(count, [&](int64_t, int) { sum.fetch_add(1, std::memory_order_relaxed); });
    ASSERT_EQ(sum.load(), expected);
  }
}

TEST(ThreadPool, CallersFromSeveralThreadsTakeTurns) {
  ThreadPool pool(2);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int64_t> sum{0};
  const auto caller = [&] {
    for (int run = 0; run < 100; ++run) {
      pool.run(4, [&](int64_t, int) {
        const int now = ++inside;
        int seen = most.load();
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        ++sum;
        --inside;
      });
    }
  };
  std::thread a(caller), b(caller), c(caller);
  a.join(), b.join(), c.join();
  EXPECT_EQ(sum.load(), 3 * 100 * 4);
  EXPECT_LE(most.load(), 2);
}

TEST(ThreadPool, RefusesRunFromItsOwnTaskButNotFromAnotherPool) {
  ThreadPool outer(2), inner(2);
  try {
    outer.run(1, [&](int64_t, int) { outer.run(1, [](int64_t, int) {}); });
    FAIL() << "a nested run was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
  std::atomic<int> calls{0};
  outer.run(3, [&](int64_t, int) { inner.run(5, [&](int64_t, int) { ++calls; }); });
  EXPECT_EQ(calls.load(), 15);
}

TEST(ThreadPool, RefusesImpossibleCounts) {
  EXPECT_THROW(ThreadPool(-1), Error);
  EXPECT_THROW(ThreadPool(4097), Error);
}

TEST(DefaultThreads, OwnVariableWinsOverOpenMP) {
  const ScopedVariable own("LONGFORMER_THREADS", "5"), openmp("OMP_NUM_THREADS", "3");
  EXPECT_EQ(ThreadPool::default_threads(), 5);
  EXPECT_EQ(ThreadPool().threads(), 5);
}

TEST(DefaultThreads, OwnVariableMustBeAWholeNumber) {
  for (const char* const text :
       {"0", "-1", "4097", "2x", " 2", "1.5", "x", "99999999999999999999"}) {
    const ScopedVariable own("LONGFORMER_THREADS", text), openmp("OMP_NUM_THREADS", "3");
    try {
      ThreadPool::default_threads();
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("LONGFORMER_THREADS"), std::string::npos);
    }
  }
}

TEST(DefaultThreads, OpenMPMayBeAListAndIsIgnoredWhenBroken) {
  const ScopedVariable own("LONGFORMER_THREADS", nullptr);
  {
    const ScopedVariable openmp("OMP_NUM_THREADS", "4,2");
    EXPECT_EQ(ThreadPool::default_threads(), 4);
  }
  const ScopedVariable none("OMP_NUM_THREADS", nullptr);
  const int machine = ThreadPool::default_threads();
  EXPECT_GE(machine, 1);
  EXPECT_LE(machine, affinity_cores());
  for (const char* const text : {"", "many", "0", ",2", "-4"}) {
    const ScopedVariable openmp("OMP_NUM_THREADS", text);
    EXPECT_EQ(ThreadPool::default_threads(), machine) << text;
  }
}

}  // namespace
}  // namespace longformer
