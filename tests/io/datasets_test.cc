// Readers of labelled examples: rows and sentences one after the other, questions of rows, brat.
#include "io/datasets/brat.h"
#include "io/datasets/cells.h"
#include "io/datasets/conll.h"
#include "io/datasets/question_rows.h"
#include "io/datasets/rows.h"
#include "io/testing.h"

namespace longformer::io {
namespace {

TEST(RowReader, ReadsWhatTheWholeFileHolds) {
  const std::vector<std::pair<RowFormat, std::string>> files = {
      {RowFormat::kJsonLines,
       "{\"a\": 1}\n\n[]\n{\"a\": {\"b\": [\"x\", 12345678901234567890123]}}"},
      {RowFormat::kCsv, "a,b\n1,\"2\n3\"\n4\n\n5,6\n7,\"8"},
      {RowFormat::kTsv, "a\tb\r\n1\t2\r\n"},
  };
  for (const auto& [format, text] : files) {
    RowReader reader(text, format, "f");
    Row row;
    BadRecord bad;
    std::string lines;
    while (reader.next(row, bad)) {
      lines += std::to_string(row.line) + (bad.reason.empty() ? " " : "! ");
      EXPECT_EQ(bad.reason.empty(), bad.line == 0);
    }
    EXPECT_EQ(reader.bytes_read(), text.size());
    const bool json = format == RowFormat::kJsonLines;
    EXPECT_EQ(lines, json ? "1 3! 4 " : format == RowFormat::kCsv ? "2 4! 6 7! " : "2 ");
  }
}

TEST(RowReader, ObjectsKeepTheirFields) {
  const Rows rows = parse_json_lines(
      "{\"a\": {\"b\": [\"x\", 12345678901234567890123]}, \"c\": 12345678901234567890124}", "f");
  const Cell* const object = rows.rows.at(0).find("a");
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->kind, Cell::Kind::kObject);
  ASSERT_NE(object->find("b"), nullptr);
  EXPECT_EQ(object->find("b")->list.at(0).text, "x");
  EXPECT_EQ(object->find("b")->list.at(1).kind, Cell::Kind::kLarge);
  EXPECT_EQ(rows.rows[0].find("c")->kind, Cell::Kind::kLarge);
  EXPECT_EQ(object->find("z"), nullptr);
}

TEST(ConllReader, RunningTextIsNoTable) {
  const ConllFile file = parse_conll("the O\nfox sleeps O\n\nhen O\n\n a dog eats \n", -1, "f");
  ASSERT_EQ(file.bad.size(), 2u);
  EXPECT_EQ(file.bad[0].line, 2);
  EXPECT_EQ(file.bad[0].reason,
            "has 3 columns, and the first line has 2: this is no table of words and tags");
  EXPECT_EQ(file.bad[1].line, 6);
  ASSERT_EQ(file.sentences.size(), 1u);
  EXPECT_EQ(file.sentences[0].words, std::vector<std::string>{"hen"});
}

TEST(ConllReader, CountsDocuments) {
  ConllReader reader("a x O\n\n-DOCSTART- O\n\nb x O\nc\tO\td\n-DOCSTART- O\n\xff x O\n\n", -1);
  ConllSentence sentence;
  BadRecord bad;
  ASSERT_TRUE(reader.next(sentence, bad));
  EXPECT_EQ(sentence.document, 0);
  ASSERT_TRUE(reader.next(sentence, bad));
  EXPECT_EQ(sentence.document, 1);
  EXPECT_EQ(sentence.line, 5);
  EXPECT_EQ(sentence.tags, (std::vector<std::string>{"O", "d"}));
  ASSERT_TRUE(reader.next(sentence, bad));
  EXPECT_EQ(sentence.document, 2);
  EXPECT_EQ(bad.line, 8);
  EXPECT_FALSE(reader.next(sentence, bad));
}

TEST(QuestionRows, AnswersComeInThreeForms) {
  const auto read = [](const std::string& answers, GoldQuestion& question) {
    const Rows rows = parse_json_lines(
        R"({"id": 7, "question": "q", "context": "c", "answers": )" + answers + "}", "f");
    std::string context;
    std::string fault = question_fault(rows.rows.at(0), {}, question, context);
    EXPECT_EQ(context, "c");
    return fault;
  };
  for (const char* const answers : {R"([{"text": "x", "answer_start": 3}, {"text": "y"}])",
                                    R"({"text": ["x", "y"], "answer_start": [3, -0.5]})"}) {
    GoldQuestion question;
    EXPECT_EQ(read(answers, question), "");
    EXPECT_EQ(question.id, "7");
    EXPECT_EQ(question.answers, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(question.starts, (std::vector<double>{3, kNoStart}));
  }
  GoldQuestion plain;
  EXPECT_EQ(read(R"(["x"])", plain), "");
  EXPECT_EQ(plain.starts, std::vector<double>{kNoStart});
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"5", "no list of answers"},
      {"[5]", "must be strings"},
      {R"([{"answer_start": 1}])", "must be strings"},
      {R"([{"text": "x", "answer_start": "1"}])", "answer_start must be a number"},
      {R"({"text": ["x"], "answer_start": []})", "1 answers and 0 answer_start"},
      {R"({"text": "x"})", "no list of answers"},
  };
  for (const auto& [answers, message] : bad) {
    GoldQuestion question;
    EXPECT_NE(read(answers, question).find(message), std::string::npos) << answers;
  }
}

TEST(Brat, ReadsTextBounds) {
  const BratFile file = parse_brat(
      "T1\tPerson 0 5\tAdaXX\r\n#1\tAnnotatorNotes T1\tx\nT2\tPlace 7 9;12 14\tx y\nT3 Person 1 2\n"
      "T4\tPerson 1\tx\nT5\tPerson 1 x\ty\nT6\t 1 2\ty\nE1\tx\nT7\tP -3 "
      "99999999999999999999\tx\nT8\tP 3 2",
      "a.ann");
  ASSERT_EQ(file.spans.size(), 2u);
  EXPECT_EQ(file.spans[0].label, "Person");
  EXPECT_EQ(file.spans[0].end, 5);
  EXPECT_EQ(file.spans[1].line, 10);
  std::string lines;
  for (const BadRecord& bad : file.bad) lines += std::to_string(bad.line) + " ";
  EXPECT_EQ(lines, "3 4 5 6 7 9 ");
  EXPECT_NE(file.bad[0].reason.find("several places"), std::string::npos);
}

TEST(Cells, LabelsAndNumbers) {
  Cell cell;
  cell.kind = Cell::Kind::kText;
  cell.text = "2.5";
  EXPECT_EQ(number_fault(cell), "");
  EXPECT_EQ(cell.number, 2.5);
  cell.text = "a;b";
  EXPECT_EQ(labels_fault(";", cell), "");
  ASSERT_EQ(cell.list.size(), 2u);
  EXPECT_EQ(cell.list[1].text, "b");
  Cell none;
  EXPECT_NE(label_fault(none), "");
  EXPECT_NE(labels_fault(",", none), "");
}

}  // namespace
}  // namespace longformer::io
