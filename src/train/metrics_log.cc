#include "train/metrics_log.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string_view>

#include "io/files.h"
#include "io/posix.h"
#include "longformer/error.h"
#include "train/event_file.h"
#include "train/log_files.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxLogBytes = uint64_t{4} << 30;

std::string present_bytes(const fs::path& path) {
  return io::entry_exists(path) ? io::read_file(path, kMaxLogBytes) : std::string();
}

// The bytes of whole lines from `begin` on for which keep(line) holds, up to the first that not.
template <typename Keep>
size_t lines_kept(std::string_view text, size_t begin, const Keep& keep) {
  for (size_t end; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
    if (!keep(text.substr(begin, end - begin))) break;
  }
  return begin;
}

bool is_json_up_to(std::string_view line, int64_t step) {
  try {
    const io::Json json = io::parse_json(line, "line", io::DuplicateKeys::kLastWins);
    const auto found = json.find("step");
    return json.is_object() && found != json.end() && found->is_number_integer() &&
           found->get<int64_t>() <= step;
  } catch (const Error&) {
    return false;
  }
}

bool is_row_up_to(std::string_view line, int64_t step) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  return error == std::errc() && end != line.data() + line.size() && *end == ',' && value <= step;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c == '\n' || c == '\r' ? ' ' : c;  // a row stays one line
  }
  return cell + '"';
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string row;
  for (size_t i = 0; i < cells.size(); ++i) row += (i > 0 ? "," : "") + csv_cell(cells[i]);
  return row + "\n";
}

std::vector<std::string> csv_cells(std::string_view row) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < row.size(); ++i) {
    if (quoted && row[i] == '"' && row.substr(i + 1).starts_with('"')) {
      cells.back() += row[i++];
    } else if (row[i] == '"') {
      quoted = !quoted;
    } else if (row[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += row[i];
    }
  }
  return cells;
}

std::string number_text(const io::Json& value) {
  if (!value.is_number_float()) return value.dump();
  char text[32];  // also of NaN and infinities
  const auto [end, error] = std::to_chars(text, text + sizeof text, value.get<double>());
  return {text, end};
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// As TensorBoard calls them: train/loss, eval/f1.
std::string tag_of(const std::string& name) {
  constexpr std::string_view kEvaluation = "eval_";
  return name.starts_with(kEvaluation) ? "eval/" + name.substr(kEvaluation.size())
                                       : "train/" + name;
}

std::vector<fs::path> event_files(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(kEventsPrefix)) paths.push_back(at->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::vector<std::string> MetricsLog::columns(const std::vector<std::string>& evaluation_metrics) {
  std::vector<std::string> names = {"step",          "epoch",  "loss",    "grad_norm",
                                    "learning_rate", "tokens", "seconds", "tokens_per_second",
                                    "skipped"};
  for (const std::string& metric : evaluation_metrics) names.push_back("eval_" + metric);
  return names;
}

MetricsLog::MetricsLog(MetricsLogSettings settings)
    : settings_(std::move(settings)),
      jsonl_(settings_.directory / kLogFile),
      csv_(settings_.directory / kCsvFile) {
  const std::string text = present_bytes(settings_.directory / kLogFile);
  jsonl_.cut(static_cast<int64_t>(lines_kept(text, 0, [&](std::string_view line) {
    return is_json_up_to(line, settings_.resumed_step);
  })));
  open_csv();
  open_events();
}

void MetricsLog::open_csv() {
  const std::string text = present_bytes(settings_.directory / kCsvFile);
  const size_t head = text.find('\n');
  if (settings_.resumed_step > 0 && head != std::string::npos) {
    columns_ = csv_cells(std::string_view(text).substr(0, head));
    csv_.cut(static_cast<int64_t>(lines_kept(text, head + 1, [&](std::string_view line) {
      return is_row_up_to(line, settings_.resumed_step);
    })));
    return;
  }
  columns_ = columns(settings_.evaluation_metrics);
  csv_.cut(0);
  csv_.append(csv_row(columns_));
}

void MetricsLog::open_events() {
  const std::vector<fs::path> present = event_files(settings_.directory);
  for (const fs::path& path : present) {
    events_ = std::make_unique<io::AppendedFile>(path);
    const std::string bytes = present_bytes(path);
    const size_t kept = event_bytes_up_to(bytes, settings_.resumed_step);
    events_->cut(static_cast<int64_t>(kept));
    if (kept == 0) events_->append(event_file_head(seconds_since_1970()));
  }
  if (events_) return;
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  const auto now = static_cast<int64_t>(seconds_since_1970());
  events_ = std::make_unique<io::AppendedFile>(
      settings_.directory /
      (kEventsPrefix + std::to_string(now) + "." + host + "." + std::to_string(getpid()) + ".0"));
  events_->cut(0);
  events_->append(event_file_head(seconds_since_1970()));
}

void MetricsLog::add(const LogRecord& record) {
  add_line(record.step, record.epoch,
           {{"loss", record.loss},
            {"grad_norm", record.grad_norm},
            {"learning_rate", record.learning_rate},
            {"tokens", record.tokens},
            {"seconds", record.seconds},
            {"tokens_per_second", record.tokens_per_second},
            {"skipped", record.skipped}});
}

void MetricsLog::add(const EvaluationRecord& record) {
  io::Json numbers = io::Json::object();
  for (const auto& [name, value] : record.metrics) numbers["eval_" + name] = value;
  add_line(record.step, record.epoch, numbers);
}

void MetricsLog::add_line(int64_t step, double epoch, const io::Json& numbers) {
  io::Json line = {{"step", step}, {"epoch", epoch}};
  line.update(numbers);
  jsonl_.append(line.dump(-1, ' ', false, io::Json::error_handler_t::replace) + "\n");

  std::vector<std::string> cells(columns_.size());
  std::vector<std::pair<std::string, float>> values;
  for (const auto& [name, value] : line.items()) {
    const auto column = std::find(columns_.begin(), columns_.end(), name);
    if (column != columns_.end()) {
      cells[static_cast<size_t>(column - columns_.begin())] = number_text(value);
    } else if (std::find(unknown_.begin(), unknown_.end(), name) == unknown_.end()) {
      unknown_.push_back(name);
      if (settings_.notice) {
        settings_.notice("metrics.csv was begun without a column for " + name +
                         "; it stands in metrics.jsonl only");
      }
    }
    if (name != "step") values.emplace_back(tag_of(name), static_cast<float>(value.get<double>()));
  }
  csv_.append(csv_row(cells));
  events_->append(event_record(seconds_since_1970(), step, values));
}

void MetricsLog::sync() {
  jsonl_.sync();
  csv_.sync();
  events_->sync();
}

}  // namespace longformer::train
