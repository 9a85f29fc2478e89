#include "cli/bench_run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "base/memory.h"
#include "cli/bench_reference.h"
#include "cli/command.h"
#include "io/documents/subprocess.h"
#include "longformer/error.h"

namespace longformer::cli {
namespace {

constexpr double kShareOfMemory = 0.9;  // the rest is for the system
// Of a process beyond its calls: imports, loading, inputs.
constexpr auto kStartTime = std::chrono::seconds(300);
constexpr double kCallsOfAProcess = 4;
constexpr uint64_t kMaxOutput = 1 << 16;
constexpr int kCannotImport = 3;     // exit code of bench_reference.py
constexpr double kAgreement = 1e-4;  // of mean |output|; one key more or less in the window shows

std::string name_of(const BenchPoint& point) {
  return point.implementation + " at " + counted(point.length, "token");
}

// The last line of what a program said.
std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const size_t begin = text.rfind('\n');
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

io::ProgramResult run_python(const std::string& python, const std::string& argument,
                             std::chrono::milliseconds time) {
  io::Program program;
  program.command = {python, "-c", std::string(bench_reference_source()), argument};
  program.limits = {.time = time, .output_bytes = kMaxOutput};
  io::ProgramResult result;
  try {
    result = io::run_program(program);
  } catch (const Error& missing) {
    if (missing.code() != ErrorCode::kNotFound) throw;
    throw Error(ErrorCode::kNotFound,
                "no such program; name a Python that can import torch and transformers", python);
  }
  if (result.end == io::ProgramEnd::kExited && result.status == kCannotImport) {
    throw Error(ErrorCode::kNotFound,
                "cannot run the reference (" + last_line(result.errors) + "); install it with \"" +
                    python +
                    " -m pip install torch transformers\", or name another Python with --python",
                python);
  }
  return result;
}

io::ProgramResult run_self(const BenchPoint& point, std::chrono::milliseconds time) {
  io::Program program;
  program.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "bench", "--point",
                     json_text(to_json(point))};
  program.limits = {.time = time, .output_bytes = kMaxOutput};
  return io::run_program(program);
}

class Runner {
 public:
  explicit Runner(const BenchPlan& plan) : plan_(plan) {}

  std::vector<BenchRow> run_length(int64_t length, const std::function<void()>& done_one) {
    std::map<std::string, BenchRow> rows;
    std::map<std::string, double> magnitudes;
    for (int repeat = 0; repeat < plan_.repeats; ++repeat) {
      for (const std::string& implementation : plan_.implementations) {
        BenchPoint point = plan_.point;
        point.implementation = implementation;
        point.length = length;
        const bool first = repeat == 0;
        if (first ? left_out(point) : !rows.contains(implementation)) continue;
        const std::optional<BenchResult> result = run(point);
        done_one();
        if (!result) {
          rows.erase(implementation);
          continue;
        }
        BenchRow& row = rows[implementation];
        row.point = point;
        row.seconds.push_back(result->seconds);
        row.peak_bytes = std::max(row.peak_bytes, result->peak_bytes);
        magnitudes[implementation] = result->magnitude;
      }
    }
    expect_agreement(length, magnitudes);
    return in_order(std::move(rows));
  }

 private:
  // What was measured last decides how long a point will take.
  struct Last {
    int64_t length = 0;
    double seconds = 0;
  };

  bool left_out(const BenchPoint& point) {
    const std::string& name = point.implementation;
    if (stopped_.contains(name)) return true;
    uint64_t needed = predicted_bytes(point);
    // Mapped and packed; the reference holds one copy, but reads another.
    if (__builtin_add_overflow(needed, 2 * plan_.weights_bytes, &needed)) needed = ~uint64_t{0};
    const uint64_t available = memory_room().bytes;
    if (static_cast<double>(needed) > kShareOfMemory * static_cast<double>(available)) {
      stop(point, "it needs about " + memory_text(needed) + " of memory; " +
                      memory_text(available) + " are free");
      return true;
    }
    if (const auto last = last_.find(name); last != last_.end()) {
      const double growth =
          static_cast<double>(point.length) / static_cast<double>(last->second.length);
      const double seconds = last->second.seconds * (name == kFull ? growth * growth : growth);
      if (seconds > plan_.limit_seconds) {
        stop(point, "a call would take about " + duration_text(seconds) + " (--limit " +
                        json_text(plan_.limit_seconds) + ")");
        return true;
      }
    }
    return false;
  }

  // Longer texts only need more.
  void stop(const BenchPoint& point, const std::string& reason) {
    stopped_[point.implementation] = true;
    notice(name_of(point) + " and above is left out: " + reason);
  }

  // None where the process was ended from outside.
  std::optional<BenchResult> run(const BenchPoint& point) {
    const auto time = kStartTime + std::chrono::milliseconds(static_cast<int64_t>(
                                       kCallsOfAProcess * 1000 * plan_.limit_seconds));
    const io::ProgramResult ended = point.implementation == kReference
                                        ? run_python(plan_.python, json_text(to_json(point)), time)
                                        : run_self(point, time);
    if (ended.end == io::ProgramEnd::kOverTime) {
      stop(point, "its process did not end in time");
      return std::nullopt;
    }
    if (ended.end == io::ProgramEnd::kSignalled) {
      stop(point, "its process was ended by signal " + std::to_string(ended.status) +
                      (ended.status == 9 ? " (the system ran out of memory?)" : ""));
      return std::nullopt;
    }
    if (ended.end != io::ProgramEnd::kExited || ended.status != 0) {
      std::string reason = last_line(ended.errors);
      if (reason.starts_with("longformer: ")) reason.erase(0, 12);
      throw Error(ended.status == kUsage ? ErrorCode::kInvalidArgument : ErrorCode::kIo,
                  "failed with exit code " + std::to_string(ended.status) + ": " + reason,
                  name_of(point));
    }
    const BenchResult result = result_from_json(last_line(ended.output));
    last_[point.implementation] = {point.length, result.seconds};
    if (!result.peak_is_of_the_call && !plan_.point.model.empty() && !said_peak_) {
      said_peak_ = true;
      notice("the system does not let the peak of memory be reset: loading the model counts, too");
    }
    return result;
  }

  void expect_agreement(int64_t length, const std::map<std::string, double>& magnitudes) {
    const auto ours = magnitudes.find(kOurs);
    if (ours == magnitudes.end()) return;
    for (const auto& [name, value] : magnitudes) {
      if (name == kFull) continue;  // attends to more
      if (std::abs(value - ours->second) <= kAgreement * std::abs(ours->second)) continue;
      throw Error(ErrorCode::kInternal,
                  "computed another output than longformer (mean magnitude " + json_text(value) +
                      " and " + json_text(ours->second) + "): the times do not compare",
                  name + " at " + counted(length, "token"));
    }
  }

  std::vector<BenchRow> in_order(std::map<std::string, BenchRow> rows) const {
    std::vector<BenchRow> result;
    for (const std::string& name : plan_.implementations) {
      const auto row = rows.find(name);
      if (row == rows.end()) continue;
      std::sort(row->second.seconds.begin(), row->second.seconds.end());
      result.push_back(std::move(row->second));
    }
    return result;
  }

  const BenchPlan& plan_;
  std::map<std::string, Last> last_;
  std::map<std::string, bool> stopped_;
  bool said_peak_ = false;
};

// Three digits and a unit; `value` in units[0].
std::string with_unit(double value, const std::vector<const char*>& units) {
  size_t unit = 0;
  while (unit + 1 < units.size() && value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, units[unit]);
  return text;
}

}  // namespace

double BenchRow::median() const {
  const size_t middle = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
}

std::string duration_text(double seconds) { return with_unit(seconds * 1e6, {"us", "ms", "s"}); }

std::string bytes_text(double bytes) { return with_unit(bytes / 1e3, {"kB", "MB", "GB", "TB"}); }

std::string reference_versions(const std::string& python) {
  const io::ProgramResult result = run_python(python, "check", kStartTime);
  if (result.end == io::ProgramEnd::kExited && result.status == 0) {
    const Json versions = Json::parse(last_line(result.output), nullptr, false);
    if (versions.is_object() && versions.contains("torch") && versions.contains("transformers") &&
        versions["torch"].is_string() && versions["transformers"].is_string()) {
      return "Transformers " + versions["transformers"].get<std::string>() + ", PyTorch " +
             versions["torch"].get<std::string>();
    }
  }
  throw Error(ErrorCode::kNotFound,
              "is no Python that can run the reference: it ended with " +
                  std::to_string(result.status) + ", saying \"" + last_line(result.errors) + "\"",
              python);
}

void run_bench(const BenchPlan& plan,
               const std::function<void(const std::vector<BenchRow>& rows)>& rows_of_length) {
  ProgressBar bar;
  double done = 0, all = 0;
  const double each =
      static_cast<double>(plan.repeats) * static_cast<double>(plan.implementations.size());
  for (const int64_t length : plan.lengths) all += static_cast<double>(length) * each;
  Runner runner(plan);
  for (const int64_t length : plan.lengths) {
    const double before = done;
    const std::vector<BenchRow> rows = runner.run_length(length, [&] {
      done += static_cast<double>(length);
      bar.update(done / all);
    });
    done = before + static_cast<double>(length) * each;  // those left out
    bar.clear();
    if (!rows.empty()) rows_of_length(rows);
  }
}

}  // namespace longformer::cli
