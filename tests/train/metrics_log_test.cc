// The log in its three forms, read again with parsers of our own.
#include "train/metrics_log.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include "io/files.h"
#include "support/random_model.h"
#include "train/event_file.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;

LogRecord record_of(int64_t step) {
  return {.step = step,
          .total_steps = 100,
          .epoch = static_cast<double>(step) / 8,
          .loss = 1.0 / static_cast<double>(step),
          .grad_norm = 0.5,
          .learning_rate = 1e-5,
          .tokens = 100 * step,
          .seconds = 2.5,
          .tokens_per_second = 40,
          .skipped = 1};
}

EvaluationRecord evaluation_of(int64_t step) {
  return {.step = step, .epoch = 1, .metrics = {{"f1", 0.75}, {"loss", 0.25}}};
}

// A reader of event files: wall time, step and values of each record; every checksum is checked.
struct Event {
  double wall_time = 0;
  int64_t step = 0;
  std::string version;
  std::map<std::string, float> values;
};

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
  bool done() const { return at_ == bytes_.size(); }
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.at(at_++));
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  std::string take(size_t size) {
    if (bytes_.size() - at_ < size) throw std::runtime_error("too short");
    return bytes_.substr((at_ += size) - size, size);
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

// Bit by bit, not as the program computes it.
uint32_t slow_masked(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool differs = ((crc ^ static_cast<uint32_t>(byte >> bit)) & 1) != 0;
      crc = (crc >> 1) ^ (differs ? 0x82f63b78u : 0);
    }
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

Event parse_event(const std::string& message) {
  Event event;
  for (Reader reader(message); !reader.done();) {
    switch (const uint64_t key = reader.varint(); key) {
      case 1 << 3 | 1:
        event.wall_time = reader.number<double>();
        break;
      case 2 << 3 | 0:
        event.step = static_cast<int64_t>(reader.varint());
        break;
      case 3 << 3 | 2:
        event.version = reader.take(reader.varint());
        break;
      case 5 << 3 | 2: {
        for (Reader summary(reader.take(reader.varint())); !summary.done();) {
          EXPECT_EQ(summary.varint(), 1u << 3 | 2);
          Reader value(summary.take(summary.varint()));
          EXPECT_EQ(value.varint(), 1u << 3 | 2);
          const std::string tag = value.take(value.varint());
          EXPECT_EQ(value.varint(), 2u << 3 | 5);
          event.values[tag] = value.number<float>();
          EXPECT_TRUE(value.done());
        }
        break;
      }
      default:
        ADD_FAILURE() << "field " << key;
        return event;
    }
  }
  return event;
}

std::vector<Event> parse_events(const std::string& bytes) {
  std::vector<Event> events;
  for (Reader reader(bytes); !reader.done();) {
    const std::string length = reader.take(8);
    EXPECT_EQ(reader.number<uint32_t>(), slow_masked(length));
    const std::string message = reader.take(Reader(length).number<uint64_t>());
    EXPECT_EQ(reader.number<uint32_t>(), slow_masked(message));
    events.push_back(parse_event(message));
  }
  return events;
}

class Metrics : public testing::Test {
 protected:
  MetricsLogSettings settings(int64_t resumed = 0) {
    return {.directory = directory_.path(),
            .resumed_step = resumed,
            .evaluation_metrics = {"loss", "f1"},
            .notice = [this](const std::string& text) { notices_.push_back(text); }};
  }
  std::string text(const std::string& name) const {
    return io::read_file(directory_.path() / name, 1 << 20);
  }
  fs::path events_path() const {
    fs::path found;
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      if (!entry.path().filename().string().starts_with("events.out.tfevents.")) continue;
      EXPECT_TRUE(found.empty()) << "two event files";
      found = entry.path();
    }
    return found;
  }
  std::vector<Event> events() const { return parse_events(io::read_file(events_path(), 1 << 20)); }

  test::TemporaryDirectory directory_;
  std::vector<std::string> notices_;
};

TEST_F(Metrics, ThreeFormsOfTheSame) {
  {
    MetricsLog log(settings());
    log.add(record_of(4));
    log.add(evaluation_of(4));
    log.sync();
  }
  EXPECT_EQ(text("metrics.jsonl"),
            "{\"step\":4,\"epoch\":0.5,\"loss\":0.25,\"grad_norm\":0.5,\"learning_rate\":1e-05,"
            "\"tokens\":400,\"seconds\":2.5,\"tokens_per_second\":40.0,\"skipped\":1}\n"
            "{\"step\":4,\"epoch\":1.0,\"eval_f1\":0.75,\"eval_loss\":0.25}\n");
  EXPECT_EQ(text("metrics.csv"),
            "step,epoch,loss,grad_norm,learning_rate,tokens,seconds,tokens_per_second,skipped,"
            "eval_loss,eval_f1\n"
            "4,0.5,0.25,0.5,1e-05,400,2.5,40,1,,\n"
            "4,1,,,,,,,,0.25,0.75\n");
  const std::vector<Event> found = events();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].version, "brain.Event:2");
  EXPECT_GT(found[0].wall_time, 1.6e9);
  EXPECT_EQ(found[1].step, 4);
  EXPECT_EQ(found[1].values.at("train/loss"), 0.25f);
  EXPECT_EQ(found[1].values.at("train/learning_rate"), 1e-5f);
  EXPECT_EQ(found[2].values, (std::map<std::string, float>{
                                 {"train/epoch", 1.0f}, {"eval/f1", 0.75f}, {"eval/loss", 0.25f}}));
  EXPECT_TRUE(notices_.empty());
}

TEST_F(Metrics, AContinuedRunCutsWhatLiesBeyond) {
  {
    MetricsLog log(settings());
    for (int64_t step = 1; step <= 300; ++step) log.add(record_of(step));
  }
  const std::string jsonl = text("metrics.jsonl"), csv = text("metrics.csv");
  std::ofstream(directory_.path() / "metrics.jsonl", std::ios::app) << "{\"step\":30";
  std::ofstream(directory_.path() / "metrics.csv", std::ios::app) << "30";
  std::ofstream(events_path(), std::ios::app | std::ios::binary) << "half a rec";
  {
    MetricsLog log(settings(200));
    for (int64_t step = 201; step <= 300; ++step) log.add(record_of(step));
  }
  EXPECT_EQ(text("metrics.jsonl"), jsonl);
  EXPECT_EQ(text("metrics.csv"), csv);
  const std::vector<Event> found = events();
  ASSERT_EQ(found.size(), 301u);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].step, static_cast<int64_t>(i));
  { const MetricsLog log(settings(0)); }
  EXPECT_EQ(text("metrics.jsonl"), "");
  EXPECT_EQ(text("metrics.csv"), csv.substr(0, csv.find('\n') + 1));
  EXPECT_EQ(events().size(), 1u);
}

TEST_F(Metrics, ColumnsNeverChange) {
  MetricsLogSettings few = settings();
  few.evaluation_metrics = {"loss", "a,\"b\""};
  const std::string head = "\"eval_a,\"\"b\"\"\"";
  {
    MetricsLog log(few);
    log.add(evaluation_of(2));
    log.add(evaluation_of(3));
  }
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("eval_f1"), std::string::npos);
  {
    MetricsLog log(settings(3));  // other columns now: those of the file stay
    log.add(EvaluationRecord{.step = 4, .epoch = 2, .metrics = {{"a,\"b\"", 7}, {"loss", NAN}}});
  }
  const std::string csv = text("metrics.csv");
  EXPECT_NE(csv.substr(0, csv.find('\n')).find(head), std::string::npos) << csv;
  EXPECT_NE(csv.find("\n4,2,,,,,,,,nan,7\n"), std::string::npos) << csv;
  const std::string jsonl = text("metrics.jsonl");
  EXPECT_NE(jsonl.find("\"eval_loss\":null"), std::string::npos) << jsonl;
  EXPECT_TRUE(std::isnan(events().back().values.at("eval/loss")));
}

TEST(EventFile, ChecksumIsCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
}

TEST(EventFile, WholeRecordsOnly) {
  const std::string head = event_file_head(1.5), one = event_record(2, 300, {{"x", 1.0f}});
  const std::string both = head + one;
  EXPECT_EQ(event_bytes_up_to(both, 300), both.size());
  EXPECT_EQ(event_bytes_up_to(both, 299), head.size());
  for (size_t size = 0; size < both.size(); ++size) {
    EXPECT_EQ(event_bytes_up_to(both.substr(0, size), 300), size < head.size() ? 0 : head.size());
  }
  for (size_t at = head.size(); at < both.size(); ++at) {
    std::string wrong = both;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    EXPECT_EQ(event_bytes_up_to(wrong, 300), head.size()) << at;
  }
}

}  // namespace
}  // namespace longformer::train
