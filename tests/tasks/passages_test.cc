#include "tasks/passages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>
#include <string>
#include <vector>

#include "longformer/error.h"

namespace longformer::tasks {
namespace {

using text::Offset;

// A stand-in for a tokenizer: words, and every other character that is not white space, by itself.
std::vector<Offset> tokenize(std::string_view text) {
  std::vector<Offset> tokens;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_at(text, i);
    const auto begin = static_cast<int64_t>(i);
    i += static_cast<size_t>(c.size);
    if (is_space(c.value)) continue;
    if (c.value < 0x80 && std::isalnum(static_cast<int>(c.value))) {
      while (i < text.size() && std::isalnum(static_cast<unsigned char>(text[i]))) ++i;
    }
    tokens.push_back({begin, static_cast<int64_t>(i)});
  }
  return tokens;
}

std::vector<std::string> texts(std::string_view text, const Segmentation& s) {
  std::vector<std::string> result;
  for (const Passage& p : s.passages) {
    result.emplace_back(text.substr(static_cast<size_t>(p.bytes.begin),
                                    static_cast<size_t>(p.bytes.end - p.bytes.begin)));
  }
  return result;
}

// The promises of passages.h, for any text.
void check(std::string_view text, const std::vector<Offset>& tokens,
           const PassageOptions& options) {
  const Segmentation s = segment(text, tokens, options);
  int64_t byte = 0;
  int64_t token = 0;
  int64_t sentence = 0;
  for (const Passage& p : s.passages) {
    ASSERT_EQ(p.sentence_begin, sentence);
    ASSERT_LT(p.sentence_begin, p.sentence_end);
    ASSERT_LE(p.tokens(), options.passage_tokens);
    ASSERT_EQ(p.token_begin, token);
    ASSERT_EQ(p.line_begin, 1 + std::count(text.begin(), text.begin() + p.bytes.begin, '\n'));
    ASSERT_EQ(p.line_end, 1 + std::count(text.begin(), text.begin() + p.bytes.end, '\n'));
    ASSERT_EQ(s.sentences[static_cast<size_t>(sentence)].bytes.begin, p.bytes.begin);
    for (; sentence < p.sentence_end; ++sentence) {
      const Sentence& next = s.sentences[static_cast<size_t>(sentence)];
      ASSERT_TRUE(is_blank(text, {byte, next.bytes.begin})) << byte;
      ASSERT_LT(next.bytes.begin, next.bytes.end);
      ASSERT_EQ(trim(text, next.bytes), next.bytes);
      ASSERT_EQ(next.token_begin, token);
      for (; token < next.token_end; ++token) {
        ASSERT_GE(tokens[static_cast<size_t>(token)].begin, next.bytes.begin);
        ASSERT_LE(tokens[static_cast<size_t>(token)].end, next.bytes.end);
      }
      byte = next.bytes.end;
    }
    ASSERT_EQ(byte, p.bytes.end);
    ASSERT_EQ(token, p.token_end);
  }
  ASSERT_TRUE(is_blank(text, {byte, static_cast<int64_t>(text.size())}));
  ASSERT_EQ(sentence, static_cast<int64_t>(s.sentences.size()));
  ASSERT_EQ(token, static_cast<int64_t>(tokens.size()));
}

using Strings = std::vector<std::string>;
constexpr PassageOptions kSmall{.passage_tokens = 12, .join_tokens = 4, .heading_tokens = 4};

TEST(Passages, ParagraphsAreSeparatedByBlankLinesAndFormFeeds) {
  const std::string text = "\n\na b c\nd\n  \t\ne f\r\n\r\ng\fh\n";
  Strings found;
  for (const ByteRange& r : split_paragraphs(text)) {
    found.push_back(
        text.substr(static_cast<size_t>(r.begin), static_cast<size_t>(r.end - r.begin)));
  }
  EXPECT_EQ(found, (Strings{"a b c\nd", "e f", "g", "h"}));
}

TEST(Passages, GroupSentencesOfOneParagraphWithinTheBudget) {
  // 5 + 5 + 5 + 5 tokens in one paragraph: two passages of 10; the next paragraph is its own.
  const std::string text =
      "One two three four. Five six seven eight. Nine ten eleven twelve. A b c d.\n\nNext one is "
      "here.";
  const auto s = segment(text, tokenize(text), kSmall);
  EXPECT_EQ(texts(text, s), (Strings{"One two three four. Five six seven eight.",
                                     "Nine ten eleven twelve. A b c d.", "Next one is here."}));
  check(text, tokenize(text), kSmall);
}

TEST(Passages, PiecesOfAParagraphAreOfEqualSize) {
  // 5 sentences of 5 tokens, budget 20: 10 + 15 or 15 + 10, not 20 + 5.
  std::string text;
  for (int i = 0; i < 5; ++i) text += "ww xx yy zz. ";
  const auto s =
      segment(text, tokenize(text), {.passage_tokens = 20, .join_tokens = 4, .heading_tokens = 4});
  ASSERT_EQ(s.passages.size(), 2u);
  EXPECT_GE(s.passages[0].tokens(), 10);
  EXPECT_GE(s.passages[1].tokens(), 10);
}

TEST(Passages, HeadingsAreReadWithWhatStandsBelow) {
  const std::string text =
      "Title\n\n2. Scope\n\nThis part says what it covers.\n\nOther text comes now.\n\nEnd";
  const auto s = segment(text, tokenize(text), kSmall);
  EXPECT_EQ(texts(text, s), (Strings{"Title\n\n2. Scope\n\nThis part says what it covers.",
                                     "Other text comes now.\n\nEnd"}));
  EXPECT_EQ(s.passages[0].line_begin, 1);
  EXPECT_EQ(s.passages[0].line_end, 5);
  EXPECT_EQ(s.passages[1].line_begin, 7);
  EXPECT_EQ(s.passages[1].line_end, 9);
  check(text, tokenize(text), kSmall);
}

TEST(Passages, ShortParagraphsAreJoinedWithinTheBudget) {
  const PassageOptions options{.passage_tokens = 12, .join_tokens = 8, .heading_tokens = 3};
  // 5 and 5: joined. 9: enough by itself. 5, then 9: over the budget, so apart.
  const std::string text =
      "One two three four.\n\nFive six seven eight.\n\nA b c d e f g h.\n\nIt is a remark.\n\n"
      "Head\n\nA long line of eight words here.";
  const auto s = segment(text, tokenize(text), options);
  EXPECT_EQ(texts(text, s),
            (Strings{"One two three four.\n\nFive six seven eight.", "A b c d e f g h.",
                     "It is a remark.", "Head\n\nA long line of eight words here."}));
  check(text, tokenize(text), options);
}

TEST(Passages, ADocumentOfHeadingsOnly) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "item " + std::to_string(i) + "\n\n";
  check(text, tokenize(text), kSmall);
  EXPECT_GT(segment(text, tokenize(text), kSmall).passages.size(), 5u);
}

TEST(Passages, LongSentencesAreCutAtLinesThenAtSpaces) {
  const std::string log =
      "10 start job one ok\n11 start job two ok\n12 stop job one ok\n13 stop job two ok";
  const auto s = segment(log, tokenize(log), kSmall);
  ASSERT_EQ(s.sentences.size(), 4u);
  EXPECT_EQ(texts(log, s), (Strings{"10 start job one ok\n11 start job two ok",
                                    "12 stop job one ok\n13 stop job two ok"}));
  std::string line;
  for (int i = 0; i < 30; ++i)
    line += "w" + std::to_string(i) + ",x ";  // cuts only fall behind ",x"
  check(line, tokenize(line), kSmall);
  for (const std::string& piece : texts(line, segment(line, tokenize(line), kSmall))) {
    EXPECT_EQ(piece.substr(piece.size() - 2), ",x");
  }
}

TEST(Passages, TextWithoutSpacesIsCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\xE5\xAD\x97";  // 字
  check(text, tokenize(text), kSmall);
  EXPECT_EQ(segment(text, tokenize(text), kSmall).passages.size(), (1000u + 11) / 12);
}

TEST(Passages, TokensThatShareACharacterStayTogether) {
  // As byte-level tokenizers do: four tokens a character, all with its offsets.
  std::string text;
  std::vector<Offset> tokens;
  for (int64_t i = 0; i < 50; ++i) {
    text += "\xF0\x9F\x98\x80";
    for (int k = 0; k < 4; ++k) tokens.push_back({4 * i, 4 * i + 4});
  }
  check(text, tokens, {.passage_tokens = 10, .heading_tokens = 4});
}

TEST(Passages, TokensOfWhiteSpaceBelongToNothing) {
  // "a", 30 line feeds as tokens, "b": the run must not push a passage over its budget.
  const std::string text = "a" + std::string(30, '\n') + "b c";
  std::vector<Offset> tokens;
  for (int64_t i = 0; i < static_cast<int64_t>(text.size()); ++i) tokens.push_back({i, i + 1});
  const auto s = segment(text, tokens, kSmall);
  for (const Passage& p : s.passages) EXPECT_LE(p.tokens(), 12);
  EXPECT_EQ(s.passages.back().token_end, static_cast<int64_t>(tokens.size()));
}

TEST(Passages, NothingInNothingOut) {
  EXPECT_TRUE(segment("", {}, kSmall).passages.empty());
  EXPECT_TRUE(segment(" \n\n\t", {}, kSmall).passages.empty());
  const auto invisible = segment("\x01\x02", {}, kSmall);  // characters that tokenizers drop
  ASSERT_EQ(invisible.passages.size(), 1u);
  EXPECT_EQ(invisible.passages[0].tokens(), 0);
}

TEST(Passages, ABudgetThatIsTooSmallIsRefused) {
  try {
    segment("a", tokenize("a"), {.passage_tokens = 7});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("at least 8"), std::string::npos);
  }
}

TEST(Passages, EveryByteAndTokenOnceInRandomTexts) {
  std::mt19937 random(7);
  const std::vector<std::string> parts = {
      "a",  "Word", "12",   ".",    "! ",  "? ", " ",    "\n",           "\n\n",
      "  ", "- ",   "\n- ", "e.g.", "。",  "字", ")",    "\t",           "\xC2\xA0",
      "\f", "\r\n", "#",    "\xFF", "3.2", "\"", "(b) ", "\xE3\x80\x80", "\xF0\x9F\x98\x80"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    const int size = static_cast<int>(random() % 120);
    for (int i = 0; i < size; ++i) text += parts[random() % parts.size()];
    const PassageOptions options{.passage_tokens = 8 + static_cast<int64_t>(random() % 20),
                                 .join_tokens = static_cast<int64_t>(random() % 30),
                                 .heading_tokens = static_cast<int64_t>(random() % 9)};
    check(text, tokenize(text), options);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(Passages, LargeInputsInLinearTime) {
  std::string log;
  std::string wide;
  std::string words;
  while (log.size() < 3'000'000) log += "2024-01-01 level=info value\n";
  while (wide.size() < 3'000'000) wide += "\xE5\xAD\x97";
  while (words.size() < 3'000'000) words += "abc ";
  for (const std::string& text : {log, wide, words}) segment(text, tokenize(text));
  const std::string blob(3'000'000, 'x');  // one token
  EXPECT_EQ(segment(blob, tokenize(blob)).passages.size(), 1u);
}

}  // namespace
}  // namespace longformer::tasks
