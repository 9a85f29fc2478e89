// How long one query over N stored vectors takes: the product with all of them, as search --index
// does it, over a synthetic index in a temporary directory.
//
//   scan_bench [--passages N] [--dims N] [--vectors f32|f16|int8] [--threads N] [--repeat N]
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "io/collection/vector_segment.h"
#include "kernels/isa.h"
#include "longformer/error.h"
#include "tasks/index_search.h"

namespace {

using namespace longformer;
using Clock = std::chrono::steady_clock;

struct Options {
  int64_t passages = 1'000'000;
  int64_t dims = 384;
  int64_t threads = 0;
  int64_t repeat = 11;
  io::VectorKind kind = io::VectorKind::kInt8;
};

double milliseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string_view value = argv[i + 1];
    if (name == "--vectors") {
      options.kind = io::vector_kind_from_name(value).value_or(options.kind);
      continue;
    }
    int64_t* const target = name == "--passages"  ? &options.passages
                            : name == "--dims"    ? &options.dims
                            : name == "--threads" ? &options.threads
                            : name == "--repeat"  ? &options.repeat
                                                  : nullptr;
    if (target == nullptr ||
        std::from_chars(value.data(), value.data() + value.size(), *target).ec != std::errc()) {
      throw Error(ErrorCode::kInvalidArgument, "unknown option or number", std::string(name));
    }
  }
  return options;
}

// Random directions are what a scan cannot tell from real ones.
void fill(const std::filesystem::path& directory, const io::VectorLayout& layout, int64_t rows) {
  io::VectorWriter writer(directory, layout, 1, 0);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> pool(static_cast<size_t>(layout.dims) + 65'536);
  for (float& value : pool) value = uniform(random);
  for (int64_t i = 0; i < rows; ++i) {
    const size_t begin = random() % 65'536;
    writer.append(std::span(pool).subspan(begin, static_cast<size_t>(layout.dims)));
  }
  writer.sync();
}

void measure(const Options& options, const std::filesystem::path& directory) {
  const io::VectorLayout layout{options.kind, options.dims};
  fill(directory, layout, options.passages);
  ThreadPool pool(static_cast<int>(options.threads));
  const std::vector<float> query(static_cast<size_t>(options.dims),
                                 1.0f / static_cast<float>(options.dims));
  const Clock::time_point start = Clock::now();
  const io::VectorReader vectors(directory, layout, 1, options.passages);
  const auto scan = [&] {
    return tasks::scan_vectors(vectors, {{1, 0, options.passages, 0}}, query, pool);
  };
  scan();
  std::printf(
      "%s, %d threads, %lld x %lld %s (%.0f MB): first, with mapping %.1f ms",
      kernels::isa_description().c_str(), pool.threads(), static_cast<long long>(options.passages),
      static_cast<long long>(options.dims), std::string(io::vector_kind_name(options.kind)).c_str(),
      static_cast<double>(options.passages * layout.row_bytes()) / 1e6, milliseconds(start));
  std::vector<double> times;
  for (int64_t i = 0; i < options.repeat; ++i) {
    const Clock::time_point begin = Clock::now();
    scan();
    times.push_back(milliseconds(begin));
  }
  std::sort(times.begin(), times.end());
  std::printf(", then median %.1f, best %.1f ms\n", times[times.size() / 2], times.front());
}

}  // namespace

int main(int argc, char** argv) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "longformer-scan-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    std::fprintf(stderr, "no temporary directory\n");
    return 1;
  }
  int code = 0;
  try {
    measure(read_options(argc, argv), pattern);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "scan_bench: %s\n", error.what());
    code = 2;
  }
  std::error_code ignored;
  std::filesystem::remove_all(pattern, ignored);
  return code;
}
