#include "tasks/sentences.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace longformer::tasks {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> sentences;
  for (const ByteRange& r : split_sentences(text, {0, static_cast<int64_t>(text.size())})) {
    sentences.emplace_back(
        text.substr(static_cast<size_t>(r.begin), static_cast<size_t>(r.end - r.begin)));
  }
  return sentences;
}

using Strings = std::vector<std::string>;

TEST(Sentences, EndAtStopsFollowedBySpaceOrEnd) {
  EXPECT_EQ(split("One. Two! Three? Four"), (Strings{"One.", "Two!", "Three?", "Four"}));
  EXPECT_EQ(split("  Wrapped\nover lines. Next.  "), (Strings{"Wrapped\nover lines.", "Next."}));
  EXPECT_EQ(split("It lists files. ls is the command."),
            (Strings{"It lists files.", "ls is the command."}));
  EXPECT_EQ(split(""), Strings{});
  EXPECT_EQ(split(" \n\t"), Strings{});
}

TEST(Sentences, NumbersNamesAndFilesDoNotEndThem) {
  EXPECT_EQ(split("Version 3.2 of config.json is 1.000 long."),
            (Strings{"Version 3.2 of config.json is 1.000 long."}));
  EXPECT_EQ(split("Open config.json. Then run it."),
            (Strings{"Open config.json.", "Then run it."}));
  EXPECT_EQ(split("It began in 1999. The end."), (Strings{"It began in 1999.", "The end."}));
}

TEST(Sentences, AbbreviationsAndInitials) {
  EXPECT_EQ(split("See e.g. Fig. 3 or Dr. J. Smith, i.e. the author."),
            (Strings{"See e.g. Fig. 3 or Dr. J. Smith, i.e. the author."}));
  EXPECT_EQ(split("The answer is no. Then we left."),
            (Strings{"The answer is no.", "Then we left."}));
  EXPECT_EQ(split("Take No. 5 now."), (Strings{"Take No. 5 now."}));
  EXPECT_EQ(split("Foxes, hens, etc. are here. Foxes etc. And more."),
            (Strings{"Foxes, hens, etc. are here.", "Foxes etc.", "And more."}));
  EXPECT_EQ(split("The U.S. Government acts."), (Strings{"The U.S. Government acts."}));
}

TEST(Sentences, ClosingMarksBelongToThem) {
  EXPECT_EQ(split("(He left.) \"Why?\" she asked. \"Now.\" Done"),
            (Strings{"(He left.)", "\"Why?\" she asked.", "\"Now.\"", "Done"}));
  EXPECT_EQ(split("He said \xE2\x80\x9Cgo.\xE2\x80\x9D They went."),
            (Strings{"He said \xE2\x80\x9Cgo.\xE2\x80\x9D", "They went."}));
  EXPECT_EQ(split("Wait... what? Wait... What?"), (Strings{"Wait... what?", "Wait...", "What?"}));
}

TEST(Sentences, WideMarksNeedNoSpace) {
  EXPECT_EQ(split("今天很好。明天呢？「好！」再见"),
            (Strings{"今天很好。", "明天呢？", "「好！」", "再见"}));
  EXPECT_EQ(split("真的？！是。"), (Strings{"真的？！", "是。"}));
}

TEST(Sentences, ListItemsAndHeadingsStartTheirOwn) {
  EXPECT_EQ(split("Buy:\n- milk and\n  cream\n- tea\n1. first\n2. second"),
            (Strings{"Buy:", "- milk and\n  cream", "- tea", "1. first", "2. second"}));
  EXPECT_EQ(split("1. Definitions. In this text"), (Strings{"1. Definitions.", "In this text"}));
  EXPECT_EQ(split("# Title\nText goes\non"), (Strings{"# Title", "Text goes\non"}));
  EXPECT_EQ(split("NAME\n       ls - list"), (Strings{"NAME", "ls - list"}));
  EXPECT_EQ(split("  -a, --all\n      all of them\n  -b  next"),
            (Strings{"-a, --all", "all of them", "-b  next"}));
}

TEST(Sentences, BrokenBytesAreOrdinaryCharacters) {
  const std::string text = "a\xFF. B\xE2\x80. C\xC2";
  EXPECT_EQ(split(text), (Strings{"a\xFF.", "B\xE2\x80.", "C\xC2"}));
}

TEST(Sentences, TimeIsLinear) {
  // Each of these is quadratic when a mark looks back or ahead without a bound.
  const size_t size = 2'000'000;
  std::string texts[] = {std::string(size, '.'),
                         std::string(size, ' '),
                         std::string(size, '\n'),
                         std::string(size, 'a'),
                         std::string(size, '1') + ".",
                         "",
                         ""};
  while (texts[5].size() < size) texts[5] += "a. ";
  while (texts[6].size() < size) texts[6] += ". \")";
  for (const std::string& text : texts)
    split_sentences(text, {0, static_cast<int64_t>(text.size())});
}

}  // namespace
}  // namespace longformer::tasks
