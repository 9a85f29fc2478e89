#include "cli/tag_formats.h"

#include <filesystem>
#include <map>
#include <utility>

#include "io/files.h"
#include "tasks/passages.h"
#include "tasks/scan.h"
#include "tasks/sentences.h"

namespace longformer::cli {
namespace {

using tasks::ByteRange;

std::string_view slice(std::string_view text, const ByteRange& range) {
  return text.substr(static_cast<size_t>(range.begin),
                     static_cast<size_t>(range.end - range.begin));
}

// A cell of a column: no white space, which parts columns for many readers.
std::string cell(std::string_view text) {
  const std::string shown = printable(text, Lines::kJoin);
  std::string result;
  for (size_t at = 0; at < shown.size();) {
    const tasks::CodePoint c = tasks::decode_at(shown, at);
    const auto size = static_cast<size_t>(c.size);
    result += tasks::is_space(c.value) ? "_" : shown.substr(at, size);
    at += size;
  }
  return result;
}

std::vector<ByteRange> sentences_of(std::string_view text) {
  std::vector<ByteRange> sentences;
  for (const ByteRange& paragraph : tasks::split_paragraphs(text)) {
    const std::vector<ByteRange> some = tasks::split_sentences(text, paragraph);
    sentences.insert(sentences.end(), some.begin(), some.end());
  }
  return sentences;
}

// Where Python's splitlines(), by which brat reads its files, begins a new line; and tabs.
bool parts_lines(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

int64_t code_points(std::string_view text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    at += static_cast<size_t>(tasks::decode_at(text, at).size);
  }
  return count;
}

std::vector<ByteRange> fragments_of(std::string_view text, const text::Offset& bytes) {
  std::vector<ByteRange> fragments;
  const auto add = [&](int64_t begin, int64_t end) {
    const ByteRange range = tasks::trim(text, {begin, end});
    if (range.begin < range.end) fragments.push_back(range);
  };
  int64_t begin = bytes.begin;
  for (int64_t at = bytes.begin; at < bytes.end;) {
    const tasks::CodePoint c = tasks::decode_at(text, static_cast<size_t>(at));
    if (parts_lines(c.value)) {
      add(begin, at);
      begin = at + c.size;
    }
    at += c.size;
  }
  add(begin, bytes.end);
  return fragments;
}

}  // namespace

std::string conll_lines(const tasks::TagInput& input, std::span<const std::string> labels) {
  const std::vector<ByteRange> sentences =
      input.split ? std::vector<ByteRange>{} : sentences_of(input.text);
  std::string lines = input.split ? "" : "-DOCSTART-\tO\n";
  size_t sentence = 0;
  bool begins = !input.split;  // a sentence
  for (size_t word = 0; word < input.words.size(); ++word) {
    const ByteRange& range = input.words[word];
    // The spaces between words may be words of the tokenizer.
    if (!input.split && tasks::is_blank(input.text, range)) continue;
    const int64_t end = tasks::trim(input.text, range).end;
    while (sentence < sentences.size() && sentences[sentence].end < end) {
      ++sentence;
      begins = true;
    }
    if (std::exchange(begins, false)) lines += '\n';
    const std::string_view text = slice(input.text, range);
    const ByteRange inner = tasks::trim(text, {0, static_cast<int64_t>(text.size())});
    const std::string shown = cell(slice(text, inner));
    lines += (shown.empty() ? "_" : shown) + "\t" + cell(labels[word]) + "\n";
  }
  return lines + "\n";
}

std::string brat_type(const std::string& name) {
  std::string type;
  for (const char c : name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '-' || (c & 0x80) != 0;
    type += allowed ? c : '_';
  }
  return type.empty() ? "_" : type;
}

std::string brat_lines(const std::string& text, std::span<const tasks::TextEntity> entities) {
  std::string lines;
  int64_t number = 0;
  for (const tasks::TextEntity& entity : entities) {
    std::string places, words;
    for (const ByteRange& fragment : fragments_of(text, entity.bytes)) {
      const int64_t begin =
          entity.characters.begin + code_points(slice(text, {entity.bytes.begin, fragment.begin}));
      const std::string_view shown = slice(text, fragment);
      places += (places.empty() ? "" : ";") + std::to_string(begin) + " " +
                std::to_string(begin + code_points(shown));
      words += (words.empty() ? "" : " ") + std::string(shown);
    }
    if (places.empty()) continue;  // white space
    lines += "T" + std::to_string(++number) + "\t" + brat_type(entity.label) + " " + places + "\t" +
             words + "\n";
  }
  return lines;
}

namespace {

class ConllSink : public RecordSink {
 public:
  explicit ConllSink(const std::string& path) {
    if (!path.empty()) file_.emplace(path);
  }
  void add(std::span<const Json> records) override {
    for (const Json& record : records) {
      std::string lines = record.at("lines").get<std::string>();
      if (file_) {
        file_->write(lines);
        continue;
      }
      lines.pop_back();  // the last line feed, which line() writes
      output_.line(lines);
      output_.flush();
    }
  }
  bool closed() const override { return output_.closed(); }
  void finish() override {
    if (file_) {
      file_->commit();
    } else {
      output_.flush();
    }
  }

 private:
  std::optional<io::AtomicFile> file_;
  Output output_;
};

class BratSink : public RecordSink {
 public:
  BratSink(std::string directory, const std::set<std::string>& types)
      : directory_(std::move(directory)) {
    std::string settings = "[entities]\n";
    for (const std::string& type : types) settings += type + "\n";
    settings += "\n[relations]\n\n[events]\n\n[attributes]\n";
    io::write_file_atomic(directory_ / "annotation.conf", settings);
  }
  void add(std::span<const Json> records) override {
    for (const Json& record : records) {
      const std::string name = unused(record.at("name").get<std::string>());
      io::write_file_atomic(directory_ / (name + ".txt"), record.at("text").get<std::string>());
      io::write_file_atomic(directory_ / (name + ".ann"), record.at("lines").get<std::string>());
    }
  }

 private:
  // Files of different folders may have one name.
  std::string unused(const std::string& name) {
    std::string result = name;
    for (int64_t number = 2; !names_.insert(result).second; ++number) {
      result = name + "-" + std::to_string(number);
    }
    return result;
  }

  std::filesystem::path directory_;
  std::set<std::string> names_;
};

}  // namespace

std::unique_ptr<RecordSink> conll_sink(const std::string& path) {
  return std::make_unique<ConllSink>(path);
}

std::unique_ptr<RecordSink> brat_sink(const std::string& directory,
                                      const std::set<std::string>& types) {
  return std::make_unique<BratSink>(directory, types);
}

std::string brat_name(const std::string& file, std::optional<int64_t> line) {
  if (line) return "line-" + std::to_string(*line);
  const std::string stem = std::filesystem::path(file).stem().string();
  return stem.empty() || stem == "-" ? "text" : stem;
}

}  // namespace longformer::cli
