#include "io/documents/converter.h"

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

TEST_F(ConverterTest, PutsTheFileWhereTheBracesStand) {
  const std::string file = put("a b.x", "text\n");
  EXPECT_EQ(read_one(file, with("*.x=cat")).text, "text\n");
  EXPECT_EQ(read_one(file, with("*.x=echo <{}>")).text, "<" + file + ">\n");
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

TEST_F(ConverterTest, FailuresNameStatusAndFirstLineOfErrors) {
  const std::string file = put("a.x", "SECRET");
  expect_unreadable(file, "sh ended with status 3: first line",
                    with("*.x=sh -c 'echo; printf \"first line\\nsecond\" >&2; exit 3'"));
  expect_unreadable(file, "false ended with status 1", with("*.x=false"));
  expect_unreadable(file, "sh was stopped by signal 9", with("*.x=sh -c 'kill -9 $$'"));
  expect_unreadable(file, "the converter printed no text", with("*.x=true"));
  expect_unreadable(file, "the converter printed binary data, not text",
                    with("*.x=sh -c 'printf \"a\\\\0b\"'"));
  expect_unreadable(file,
                    "the converter cannot be started: no-such-program: no such program in PATH",
                    with("*.x=no-such-program"));
  expect_unreadable(path("absent.x"), "No such file or directory", with("*.x=cat"));
  // Control characters and what is no UTF-8 stay out of the reason.
  expect_unreadable(file, "sh ended with status 1: a [31m\u00E9",
                    with("*.x=sh -c 'printf \"a\\033[31m\u00E9\\377z\" >&2; exit 1'"));
}

TEST_F(ConverterTest, IsLimitedInTimeAndOutput) {
  const std::string file = put("a.x", "x");
  expect_error(ErrorCode::kInvalidFile, {"sh needed more than 0 seconds"},
               [&] { convert_file(parse_converter("*=sh -c 'sleep 50'"), file, {.time = 100ms}); });
  expect_error(ErrorCode::kInvalidFile, {"yes printed more than 1000 bytes"}, [&] {
    convert_file(parse_converter("*=yes"), file, {.time = 20s, .output_bytes = 1000});
  });
}

TEST_F(ConverterTest, StandardInputGoesToNoConverter) {
  const std::vector<Converter> converters = {parse_converter("*=cat")};
  EXPECT_EQ(find_converter(converters, "-"), nullptr);
  EXPECT_EQ(find_converter(converters, "x"), &converters[0]);
  EXPECT_EQ(find_converter({}, "x"), nullptr);
}

}  // namespace
}  // namespace longformer::io
