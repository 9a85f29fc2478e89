// pattern: the published figures, drawings that say what count() says, refusals.
#include <png.h>

#include "attention/bigbird.h"
#include "cli/command_fixture.h"

namespace longformer {
namespace {

class Pattern : public Command {
 protected:
  std::vector<std::string> lines_of(const std::string& arguments) {
    const Outcome result = run("pattern " + arguments);
    EXPECT_EQ(result.code, 0) << arguments << "\n" << result.err;
    std::vector<std::string> lines;
    for (size_t at = 0; at < result.out.size();) {
      const size_t end = result.out.find('\n', at);
      lines.push_back(result.out.substr(at, end - at));
      at = end + 1;
    }
    return lines;
  }

  // The drawing between its bars, one string a row.
  std::vector<std::string> drawing_of(const std::string& arguments) {
    std::vector<std::string> rows;
    for (const std::string& line : lines_of(arguments)) {
      const size_t bar = line.find('|');
      if (bar != std::string::npos) rows.push_back(line.substr(bar + 1, line.size() - bar - 2));
    }
    return rows;
  }

  Json record_of(const std::string& arguments) {
    const Outcome result = run("pattern " + arguments + " --json");
    EXPECT_EQ(result.code, 0) << arguments << "\n" << result.err;
    return Json::parse(result.out);
  }
};

TEST_F(Pattern, ThePublishedCounts) {
  const struct {
    const char* length;
    const char* brief;
    const char* full;
  } cases[] = {{"1024", "0.5 M of 1.0 M scores", "461,054 of 1,048,576, 44 %: "},
               {"2048", "1.0 M of 4.2 M scores", "988,414 of 4,194,304, 23.6 %: "},
               {"4096", "2.0 M of 16.8 M scores", "2,043,134 of 16,777,216, 12.2 %: "}};
  for (const auto& known : cases) {
    const auto lines =
        lines_of("--length " + std::string(known.length) + " --window 512 --global 0");
    ASSERT_GT(lines.size(), 30u);
    EXPECT_EQ(lines[0], known.brief);
    EXPECT_TRUE(lines[1].starts_with(known.full)) << lines[1];
    for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
  }
  const Json record = record_of("--length 4096 --window 512 --global 0");
  EXPECT_EQ(record["scores"], 2'043'134);
  EXPECT_EQ(record["global"], 2 * 4096 - 1);
  EXPECT_EQ(record["local"], 2'043'134 - 8191);
  EXPECT_EQ(record["full_scores"], 4096 * 4096);
}

TEST_F(Pattern, SmallPatternsAreDrawnPairByPair) {
  EXPECT_EQ(drawing_of("--length 5 --window 2 --global 4"),
            (std::vector<std::string>{"####    GG", "######  GG", "  ######GG", "    ####GG",
                                      "GGGGGGGGGG"}));
  EXPECT_EQ(drawing_of("--length 5 --window-left 2 --window-right 0 --dilation 1,2 --head 1"),
            (std::vector<std::string>{"##        ", "  ##      ", "##  ##    ", "  ##  ##  ",
                                      "##  ##  ##"}));
  EXPECT_EQ(drawing_of("--length 4 --causal --valid 1-3"),
            (std::vector<std::string>{"        ", "  ##    ", "  ####  ", "  ######"}));
  EXPECT_EQ(drawing_of("--grid 2x3 --box 1x2"),
            (std::vector<std::string>{"####        ", "####        ", "    ##      ",
                                      "      ####  ", "      ####  ", "          ##"}));
  EXPECT_EQ(drawing_of("--length 1 --window 512 --global 0"), (std::vector<std::string>{"GG"}));
  EXPECT_EQ(drawing_of("--length 3 --window 100000"),
            (std::vector<std::string>{"######", "######", "######"}));
}

// Which characters stand where in a drawing of random blocks, from the lists themselves.
TEST_F(Pattern, RandomBlocksAreWhereThePlanSays) {
  const AttentionPattern pattern =
      bigbird_pattern({.length = 60, .block_size = 4, .random_blocks = 2, .heads = 2, .seed = 0});
  const auto rows = drawing_of("--length 60 --block-size 4 --random-blocks 2 --heads 2 --head 1");
  ASSERT_EQ(rows.size(), 60u);
  for (int64_t i = 0; i < 60; ++i) {
    ASSERT_EQ(rows[i].size(), 60u);
    const auto& list = pattern.blocks->extra[1][static_cast<size_t>(i / 4)];
    for (int64_t j = 0; j < 60; ++j) {
      const bool listed = std::count(list.begin(), list.end(), j / 4) > 0;
      const bool global = i < 4 || i >= 56 || j < 4 || j >= 56;
      const bool near = std::abs(i / 4 - j / 4) <= 1;
      const char expected = listed ? 'R' : global ? 'G' : near ? '#' : ' ';
      ASSERT_EQ(rows[i][j], expected) << i << " " << j;
    }
  }
  const Json record =
      record_of("--length 60 --block-size 4 --random-blocks 2 --heads 2 --random-plan first");
  EXPECT_EQ(record["random"], 13 * 2 * 16);
  const Outcome full = run("pattern --length 704 --block-size 64 --json");
  EXPECT_EQ(Json::parse(full.out)["scores"], 704 * 704);
  EXPECT_NE(full.err.find("704"), std::string::npos) << full.err;
}

TEST_F(Pattern, BoxesOfSwinAndSam) {
  // 14x14 in windows of 7, shifted by 3: each axis falls into 7, 4 and 3 rows.
  EXPECT_EQ(record_of("--grid 14x14 --box 7x7 --shift 3")["scores"],
            (7 * 7 + 4 * 4 + 3 * 3) * (7 * 7 + 4 * 4 + 3 * 3));
  // SAM: 64x64 in windows of 14, filled up to 70x70: 4 whole ranges and one of 8 to an axis.
  const Json sam = record_of("--grid 64x64 --box 14x14");
  const int64_t axis = 4 * 14 * 14 + 8 * 8;
  EXPECT_EQ(sam["scores"], axis * axis);
  EXPECT_EQ(sam["padding_scores"], 4096 * 196 - axis * axis);
  const Outcome small = run("pattern --grid 7x7 --box 7x7 --shift 3 --json");
  EXPECT_EQ(Json::parse(small.out)["scores"], 49 * 49);
  EXPECT_NE(small.err.find("not shifted"), std::string::npos) << small.err;
}

TEST_F(Pattern, ALayerOfAModelNeedsOnlyItsConfig) {
  fs::create_directory(path("only"));
  fs::copy_file(model() / "config.json", path("only") / "config.json");
  const Json config = Json::parse(io::read_file(model() / "config.json", 1 << 20));
  const Json window = config["attention_window"];
  const int64_t reach = (window.is_array() ? window[1] : window).get<int64_t>() / 2;
  const Json record = record_of("--model only --layer 1 --length 40 --global 0");
  int64_t expected = 0;
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t j = 0; j < 40; ++j) {
      expected += i == 0 || j == 0 || std::abs(i - j) <= reach;
    }
  }
  EXPECT_EQ(record["scores"], expected);
  EXPECT_EQ(record["layer"], 1);
  EXPECT_EQ(record["heads"], config["num_attention_heads"]);
  EXPECT_EQ(record["scores_all_heads"], expected * config["num_attention_heads"].get<int64_t>());
  EXPECT_EQ(record_of("--model bert")["share"], 1.0);
}

TEST_F(Pattern, AMillionTokensAreQuick) {
  const Json record =
      record_of("--length 1048576 --window 512 --dilation 3 --global 0,5000-5100 --output big.png");
  EXPECT_GT(record["scores"], 500'000'000);
  // 16,384 blocks: 16,378 rows with 8 blocks of 64 x 64, four with 7, two with all.
  EXPECT_EQ(lines_of("--length 1048576 --block-size 64")[0], "0.7 G of 1.1 T scores");
}

// Share of the pixels of a picture that are near a colour.
double share_of_color(const std::string& bytes, int red, int green, int blue) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()), 0);
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
  int64_t found = 0;
  for (size_t p = 0; p < pixels.size(); p += 3) {
    found += pixels[p] == red && pixels[p + 1] == green && pixels[p + 2] == blue;
  }
  return static_cast<double>(found) / (static_cast<double>(pixels.size()) / 3);
}

TEST_F(Pattern, Pictures) {
  EXPECT_EQ(lines_of("--length 64 --window 16 --global 0 --output p.svg").size(), 3u);
  const std::string svg = io::read_file(path("p.svg"), 1 << 20);
  EXPECT_TRUE(svg.starts_with("<svg")) << svg.substr(0, 100);
  for (const char* word : {"query", "key", "window", "global", "1,126", "window 8+8"}) {
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(lines_of("--length 64 --window 16 --global 0 --output p.png").size(), 3u);
  const std::string png = io::read_file(path("p.png"), 1 << 22);
  // Two colours at full strength, in the proportion of their pairs.
  const double local = share_of_color(png, 0x0b, 0x62, 0xa8);
  const double global = share_of_color(png, 0xe6, 0x9f, 0x00);
  const Json record = record_of("--length 64 --window 16 --global 0");
  EXPECT_NEAR(local / global, record["local"].get<double>() / record["global"].get<double>(), 0.2);
  lines_of("--length 4096 --window 512 --global 0 --output p.svg");
  EXPECT_LT(fs::file_size(path("p.svg")), 60'000u);
}

TEST_F(Pattern, RefusesWithWhatIsAllowed) {
  expect_refused("pattern", "--length is missing");
  expect_refused("pattern --length 0", "--length");
  expect_refused("pattern --length 1048577", "1048576");
  expect_refused("pattern --length ten", "--length");
  expect_refused("pattern --length 10 --window -2", "--window");
  expect_refused("pattern --length 10 --window 4 --window-left 2 --window-right 2", "--window");
  expect_refused("pattern --length 10 --window-left 2", "--window-right");
  expect_refused("pattern --length 10 --global 3,x", "--global is a list");
  expect_refused("pattern --length 10 --global 10", "0 to 9");
  expect_refused("pattern --length 10 --global 7-3", "7-3");
  expect_refused("pattern --length 10 --global 99999999999999999999", "--global");
  expect_refused("pattern --length 10 --valid 5-12", "--valid: 5-12");
  expect_refused("pattern --length 10 --dilation 0", "--dilation");
  expect_refused("pattern --length 10 --dilation 1,2 --head 2", "0 to 1");
  expect_refused("pattern --length 10 --dilation 1,2 --heads 3", "dilation");
  expect_refused("pattern --length 10 --block-size 0", "--block-size");
  expect_refused("pattern --length 4096 --block-size 256", "random_blocks");
  expect_refused("pattern --length 10 --random-blocks 2", "--block-size");
  expect_refused("pattern --length 10 --block-size 2 --window 4", "--window");
  expect_refused("pattern --grid 4x4", "--box");
  expect_refused("pattern --grid 4 --box 2x2", "--grid is HEIGHTxWIDTH");
  expect_refused("pattern --grid 0x4 --box 2x2", "--grid has a side of 0");
  expect_refused("pattern --grid 99999x99999 --box 2x2", "tokens");
  expect_refused("pattern --grid 4x4 --box 2x2 --shift 2", "--shift is 2");
  expect_refused("pattern --grid 4x4 --box 2x2 --length 15", "16 tokens");
  expect_refused("pattern --length 10 --output p.gif", "--output");
  expect_refused("pattern --length 10 --columns 5", "--columns");
  expect_refused("pattern --model bert --global 0", "no global attention");
  expect_refused("pattern --model model --layer 99", "--layer is 99");
  expect_refused("pattern --model model --length 100000", "reads at most");
  expect_refused("pattern --model model --window 4", "--model");
  expect_refused("pattern --length 10 --output none/p.svg", "none");
}

}  // namespace
}  // namespace longformer
