#include "io/documents/converter.h"

#include <chrono>
#include <cstdlib>

#include "io/document_testing.h"

namespace longformer::io {
namespace {

using Words = std::vector<std::string>;
using namespace std::chrono_literals;

class ConverterTest : public DirectoryTest {
 protected:
  static ReadOptions with(const std::string& converter) { return {{parse_converter(converter)}}; }
};

TEST_F(ConverterTest, ParsesGlobAndCommand) {
  const Converter converter = parse_converter("*.x=prog --a=b  'two words' \"it's\" x''y \"\"");
  EXPECT_EQ(converter.glob, "*.x");
  EXPECT_EQ(converter.command, (Words{"prog", "--a=b", "two words", "it's", "xy", ""}));
}

TEST_F(ConverterTest, RefusesOtherForms) {
  for (const std::string text :
       {"", "*.x", "=cat", "*.x=", "*.x=  ", "*.x='open", "*.x={} a", "*.x=''"}) {
    expect_error(ErrorCode::kInvalidArgument, {"GLOB=COMMAND"}, [&] { parse_converter(text); });
  }
}

TEST_F(ConverterTest, RefusesTheFileInsideALongerArgument) {
  for (const std::string text : {"*.x=sh -c 'cat {}'", "*.x=cat --in={}", "*.x=cat {}{}",
                                 "*.x=cat {} <{}>", "*.x=cat {}/x"}) {
    expect_error(ErrorCode::kInvalidArgument, {"{} inside a longer argument", "of its own"},
                 [&] { parse_converter(text); });
  }
}

TEST_F(ConverterTest, PutsTheFileWhereTheBracesStand) {
  const std::string file = put("a b.x", "text\n");
  EXPECT_EQ(read_one(file, with("*.x=cat")).text, "text\n");
  EXPECT_EQ(read_one(file, with("*.x=echo < {} >")).text, "< " + file + " >\n");
  EXPECT_EQ(read_one(file, with("*.x=cat {} {}")).text, "text\ntext\n");
  EXPECT_EQ(read_one(file, with("*.x=sh -c 'cat \"$1\"; echo end' sh {}")).text, "text\nend\n");
  // No shell: nothing in the name or the command is more than a word.
  EXPECT_EQ(read_one(put("$(id);x.x", "t"), with("*.x=echo $HOME ;")).text,
            "$HOME ; " + path("$(id);x.x") + "\n");
}

TEST_F(ConverterTest, NamesThatLookLikeOptionsAreFiles) {
  put("-n.x", "text");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  const std::string text = read_one("-n.x", with("*.x=cat")).text;
  std::filesystem::current_path(before);
  EXPECT_EQ(text, "text");
}

TEST_F(ConverterTest, ResultIsADocumentWithoutLines) {
  const Document document =
      read_one(put("a.x", std::string("\0bin", 4)), with("*.x=echo caf\xE9, ok"));
  EXPECT_EQ(document.kind, DocumentKind::kConverted);
  EXPECT_FALSE(document.has_lines);
  EXPECT_TRUE(document.replaced);
  EXPECT_EQ(document.text.substr(0, 9), "caf\u00E9, ok");
  // The first that matches wins, also over what is read without one.
  ReadOptions options = with("*.html=echo first");
  options.converters.push_back(parse_converter("*=echo second"));
  EXPECT_EQ(read_one(put("a.html", "<p>x"), options).text.substr(0, 5), "first");
  EXPECT_EQ(read_one(put("a.txt", "x"), options).text.substr(0, 6), "second");
}

TEST_F(ConverterTest, FailuresNameTheStatusAndNothingThatTheProgramSays) {
  const std::string file = put("a.x", "SECRET");
  // Standard error may hold what stands in the document.
  expect_unreadable(file, "sh ended with status 3; see what it prints by running it by hand",
                    with("*.x=sh -c 'cat \"$1\" >&2; exit 3' sh {}"));
  expect_unreadable(file, "false ended with status 1; see what it prints by running it by hand",
                    with("*.x=false"));
  expect_unreadable(file, "sh was stopped by signal 9", with("*.x=sh -c 'kill -9 $$'"));
  expect_unreadable(file, "the converter printed no text", with("*.x=true"));
  expect_unreadable(file, "the converter printed binary data, not text",
                    with("*.x=sh -c 'printf \"a\\\\0b\"'"));
  expect_unreadable(file,
                    "the converter cannot be started: no-such-program: no such program in PATH",
                    with("*.x=no-such-program"));
  expect_unreadable(path("absent.x"), "No such file or directory", with("*.x=cat"));
}

TEST_F(ConverterTest, IsLimitedInTimeAndOutput) {
  const std::string file = put("a.x", "x");
  expect_error(ErrorCode::kIo, {"sh needed more than 0 seconds"},
               [&] { convert_file(parse_converter("*=sh -c 'sleep 50'"), file, {.time = 100ms}); });
  expect_error(ErrorCode::kInvalidFile, {"yes printed more than 1000 bytes"}, [&] {
    convert_file(parse_converter("*=yes"), file, {.time = 20s, .output_bytes = 1000});
  });
}

TEST_F(ConverterTest, WhatItLeavesRunningDoesNotHoldTheDocumentUp) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(read_one(put("a.x", "x"), with("*.x=sh -c 'sleep 79 & echo zebra'")).text, "zebra\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

// The line of docs/documents.md.
TEST_F(ConverterTest, ReadsManualPages) {
  if (std::system("man --version 2>&1 | grep -q '^man [0-9]'") != 0) GTEST_SKIP() << "no man-db";
  const std::string page =
      ".TH ZEBRA 1\n.SH NAME\nzebra \\- a \\fBstriped\\fR animal\n.SH DESCRIPTION\nTwo\nlines.\n";
  ReadOptions options = with("*.[1-8]=man --nh --nj -P cat -l {}");
  options.converters.push_back(parse_converter("*.[1-8].gz=man --nh --nj -P cat -l {}"));
  for (const std::string& name : {put("zebra.1", page), put("two words.1.gz", gzip(page))}) {
    const Document document = read_one(name, options);
    EXPECT_EQ(document.kind, DocumentKind::kConverted);
    EXPECT_NE(document.text.find("\n       zebra - a striped animal\n"), std::string::npos);
    EXPECT_NE(document.text.find("\n       Two lines.\n"), std::string::npos);
    EXPECT_EQ(document.text.find(".SH"), std::string::npos);
  }
  // Without a converter the source is read as it stands.
  EXPECT_EQ(read_one(path("zebra.1")).text, page);
}

TEST_F(ConverterTest, StandardInputGoesToNoConverter) {
  const std::vector<Converter> converters = {parse_converter("*=cat")};
  EXPECT_EQ(find_converter(converters, "-"), nullptr);
  EXPECT_EQ(find_converter(converters, "x"), &converters[0]);
  EXPECT_EQ(find_converter({}, "x"), nullptr);
}

}  // namespace
}  // namespace longformer::io
