#include "train/data/tag_records.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "io/datasets/cells.h"
#include "io/datasets/conll.h"
#include "io/files.h"
#include "io/json.h"
#include "longformer/error.h"
#include "train/data/example_sink.h"
#include "train/data/mapped_text.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;
using Kind = io::Cell::Kind;

std::string annotations_of(const std::string& path) {
  return fs::path(path).replace_extension(".ann").string();
}

io::MarkedSpan span_of(const io::Cell& cell) {
  const bool list = cell.kind == Kind::kList && cell.list.size() == 3;
  const auto part = [&](const char* name, size_t index) {
    return list ? &cell.list[index] : cell.find(name);
  };
  const io::Cell* const start = part("start", 0);
  const io::Cell* const end = part("end", 1);
  const io::Cell* const label = part("label", 2);
  if (start == nullptr || start->kind != Kind::kNumber || end == nullptr ||
      end->kind != Kind::kNumber || label == nullptr || label->text.empty()) {
    throw BadExample("has a span that is no {\"start\", \"end\", \"label\"}, nor a list of these");
  }
  return {0, start->number, end->number, label->text};
}

void read_row(io::Row& row, const TagDataOptions& how, TagRecord& record) {
  if (row.find(how.tags) != nullptr) {
    const std::string fault =
        io::sentence_fault(row, how.words, how.tags, record.words, record.tags);
    if (!fault.empty()) throw BadExample(fault);
    if (record.words.empty()) throw BadExample("has no words");
    return;
  }
  record.text = std::move(text_of(row, how.text));
  const bool other = row.find(how.spans) == nullptr && row.find("entities") != nullptr;
  const io::Cell& spans = cell_of(row, other ? "entities" : how.spans);
  if (spans.kind != Kind::kList) {
    throw BadExample("the field " + io::short_value(io::Json(how.spans)) +
                     " must be a list of spans");
  }
  for (const io::Cell& cell : spans.list) record.spans.push_back(span_of(cell));
}

class Visitor {
 public:
  Visitor(const Split& split, const TagDataOptions& how,
          const std::function<void(TagRecord&)>& visit)
      : split_(split), how_(how), visit_(visit) {}

  void rows(const std::string& path) {
    MappedText file(path);
    io::RowReader reader(file.text(), io::RowFormat::kJsonLines, path);
    io::Row row;
    io::BadRecord bad;
    while (reader.next(row, bad)) {
      TagRecord record;
      record.place = record.spans_place = path + " line " + std::to_string(row.line);
      record.group = path + ":" + std::to_string(row.record);
      record.fault = bad.reason;
      try {
        if (record.fault.empty()) {
          record.group = group_of(split_, row, record.group);
          read_row(row, how_, record);
        }
      } catch (const BadExample& problem) {
        record.fault = problem.what();
      }
      visit_(record);
      file.read_up_to(reader.bytes_read());
    }
  }

  void columns(const std::string& path) {
    refuse_field(path);
    MappedText file(path);
    io::ConllReader reader(file.text(), how_.column);
    io::ConllSentence sentence;
    io::BadRecord bad;
    while (reader.next(sentence, bad)) {
      TagRecord record;
      record.place = path + " line " + std::to_string(bad.line > 0 ? bad.line : sentence.line);
      record.group = path + (sentence.document > 0 ? " document " : " sentence ") +
                     std::to_string(sentence.document > 0 ? sentence.document : sentence.record);
      record.fault = bad.reason;
      if (record.fault.empty() && reader.columns() == 1) {
        record.fault = "has one column; tags stand in another one than the words";
      }
      record.words = std::move(sentence.words);
      record.tags = std::move(sentence.tags);
      visit_(record);
      file.read_up_to(reader.bytes_read());
    }
  }

  void brat(const std::string& path) {
    refuse_field(path);
    TagRecord record;
    record.place = record.group = path;
    record.spans_place = annotations_of(path);
    record.text = io::read_dataset(path);
    record.fault = io::text_fault(record.text);
    if (record.fault.empty() && record.text.find_first_not_of(" \t\r\n") == std::string::npos) {
      record.fault = "is empty";
    }
    io::BratFile file = io::parse_brat(io::read_dataset(record.spans_place), record.spans_place);
    record.spans = std::move(file.spans);
    record.bad_spans = std::move(file.bad);
    visit_(record);
  }

 private:
  void refuse_field(const std::string& path) const {
    if (split_.side == SplitSide::kAll || split_.group_field.empty()) return;
    throw Error(ErrorCode::kInvalidArgument,
                "has no fields to split by; without one, documents stay whole", path);
  }

  const Split& split_;
  const TagDataOptions& how_;
  const std::function<void(TagRecord&)>& visit_;
};

}  // namespace

std::vector<std::string> with_annotations(const std::vector<std::string>& paths) {
  const std::set<std::string> named(paths.begin(), paths.end());
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    all.push_back(path);
    if (fs::path(path).extension() != ".txt") continue;
    const std::string annotations = annotations_of(path);
    if (io::entry_exists(annotations) && !named.contains(annotations)) all.push_back(annotations);
  }
  return all;
}

void visit_tag_records(const std::vector<std::string>& paths, const Split& split,
                       const TagDataOptions& how,
                       const std::function<void(TagRecord& record)>& visit) {
  Visitor visitor(split, how, visit);
  const std::set<std::string> known(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    const std::string extension = fs::path(path).extension().string();
    if (extension == ".jsonl") {
      visitor.rows(path);
    } else if (extension == ".txt" && known.contains(annotations_of(path))) {
      visitor.brat(path);
    } else if (extension == ".ann") {
      const std::string text = fs::path(path).replace_extension(".txt").string();
      if (known.contains(text)) continue;
      throw Error(ErrorCode::kNotFound, "has no text " + text + " beside it among the data", path);
    } else {
      visitor.columns(path);
    }
  }
}

}  // namespace longformer::train
