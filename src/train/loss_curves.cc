#include "train/loss_curves.h"

#include <cmath>
#include <string_view>

#include "io/files.h"
#include "io/json.h"
#include "longformer/error.h"
#include "train/log_files.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxLogBytes = uint64_t{1} << 30;

void add_point(const io::Json& line, const char* key, std::vector<CurvePoint>& curve) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return;  // NaN is null there
  curve.push_back({line.at("step").get<double>(), found->get<double>()});
}

std::string name_of(const fs::path& run) {
  std::error_code error;
  fs::path directory = fs::is_directory(run, error) ? run : run.parent_path();
  directory = fs::absolute(directory, error).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  return directory.filename().string();
}

}  // namespace

LossCurves read_loss_curves(const fs::path& run) {
  std::error_code error;
  const fs::path path = fs::is_directory(run, error) ? run / kLogFile : run;
  const std::string text = io::read_file(path, kMaxLogBytes);
  LossCurves curves;
  curves.name = name_of(run);
  size_t number = 1;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1, ++number) {
    const std::string place = path.string() + ": line " + std::to_string(number);
    const io::Json line = io::parse_json(std::string_view(text).substr(begin, end - begin), place,
                                         io::DuplicateKeys::kLastWins);
    if (!line.is_object() || !line.contains("step") || !line.at("step").is_number()) {
      throw Error(ErrorCode::kInvalidFile,
                  "is no line of a training's log: an object with a number \"step\"", place);
    }
    add_point(line, "loss", curves.train_loss);
    add_point(line, "eval_loss", curves.eval_loss);
    add_point(line, "learning_rate", curves.learning_rate);
  }
  return curves;
}

}  // namespace longformer::train
