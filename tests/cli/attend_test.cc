// attend: the links that it prints, and the page: whole, self-contained, safe against its document.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "cli/command_fixture.h"

namespace longformer {
namespace {

class AttendCommand : public Command {
 protected:
  std::string page(const std::string& arguments = "text.txt") {
    const Outcome result = run("attend --model model " + arguments + " --output page.html");
    EXPECT_EQ(result.code, 0) << result.err;
    return io::read_file(path("page.html"), 1 << 24);
  }

  static size_t times(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++count;
    return count;
  }

  // What stands between `begin` and the next `end`.
  static std::string between(const std::string& text, const std::string& begin,
                             const std::string& end) {
    const size_t at = text.find(begin);
    EXPECT_NE(at, std::string::npos) << begin;
    const size_t from = at + begin.size();
    return text.substr(from, text.find(end, from) - from);
  }

  static std::string decode(const std::string& text) {
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    uint32_t bits = 0;
    int have = 0;
    for (const char c : text) {
      if (c == '=') break;
      const size_t digit = digits.find(c);
      EXPECT_NE(digit, std::string::npos);
      bits = bits << 6 | static_cast<uint32_t>(digit);
      have += 6;
      if (have < 8) continue;
      have -= 8;
      bytes += static_cast<char>(bits >> have & 255);
    }
    return bytes;
  }
};

TEST_F(AttendCommand, PrintsLinksWithTheirPlaces) {
  const Outcome result =
      run("attend --model model text.txt --links 1000 --layer 1 --head 0 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<Json> links = json_lines(result.out);
  std::map<int64_t, double> sums;
  double before = 2;
  for (const Json& link : links) {
    EXPECT_LE(link["weight"], before);
    before = link["weight"];
    sums[link["from"]] += before;
    EXPECT_EQ(link["distance"], link["to"].get<int64_t>() - link["from"].get<int64_t>());
    if (link["from_token"] == "dog") {
      EXPECT_EQ(link["from_line"], 3);
      EXPECT_EQ(link["from_start"], 51);
      EXPECT_EQ(link["from_end"], 54);
    }
    if (link["from_token"] == "[CLS]") {
      EXPECT_TRUE(link["from_start"].is_null());
    }
  }
  for (const auto& [from, sum] : sums) EXPECT_NEAR(sum, 1.0, 1e-5);
  const Outcome lines = run("attend --model model text.txt --links 3 --self false");
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 4);
  EXPECT_NE(lines.out.find("average of all layers and heads"), std::string::npos) << lines.out;
}

TEST_F(AttendCommand, PageHoldsWhatItPrints) {
  const std::string html = page("text.txt --top-k 4");
  const Json meta = Json::parse(between(html, "id=\"meta\">", "</script>"));
  const size_t tokens = meta["lines"].size();
  EXPECT_EQ(times(between(html, "<div id=\"text\"", "</div>"), "<span"), tokens);
  ASSERT_EQ(meta["views"].size(), 3U);
  EXPECT_EQ(meta["special"], (Json::array({0, tokens - 1})));
  const Json best = json_lines(run("attend --model model text.txt --links 1 --json").out)[0];
  const std::string raw = decode(between(html, "id=\"v0\">", "</script>"));
  ASSERT_EQ(raw.size(), tokens * (4 * 6 + 1));
  // Tokens (two bytes) of both directions, then their weights: 1 - 20 log2.
  const size_t at = best["from"].get<size_t>() * 4;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(raw[i]); };
  EXPECT_EQ(byte(2 * at) + 256 * byte(2 * at + 1), best["to"].get<int>());
  const double weight = std::exp2((1.0 - byte(tokens * 16 + at)) / 20);
  EXPECT_NEAR(weight / best["weight"].get<double>(), 1.0, 0.02);
}

TEST_F(AttendCommand, PageLoadsNothing) {
  const std::string html = page();
  for (const char* part :
       {"src=", "href=", "url(", "@import", "http:", "https:", "fetch(", "import("}) {
    EXPECT_EQ(html.find(part), std::string::npos) << part;
  }
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
}

TEST_F(AttendCommand, HostileTextStaysText) {
  const std::string attack =
      "</div></script><script>alert(1)</script><img src=x onerror=alert(2)> "
      "{{meta}} \"'& <!-- fox\x01 hen\n";
  put(text(), attack);
  fs::rename(text(), path("{{meta}}<b onclick=alert(3)>.txt"));
  const std::string html = page("'{{meta}}<b onclick=alert(3)>.txt'");
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find("<b "), std::string::npos);
  EXPECT_EQ(html.find("<!-- "), std::string::npos);
  EXPECT_EQ(html.find('\x01'), std::string::npos);
  EXPECT_NE(html.find("{{"), std::string::npos);  // the document's, not replaced
  EXPECT_EQ(times(html, "<script"), times(html, "</script"));
  EXPECT_EQ(times(html, "</script"), 5U);  // meta, three views, the program
}

TEST_F(AttendCommand, APageOf4096TokensStaysBelow5Megabytes) {
  std::string many;
  for (int i = 0; i < 1022; ++i) many += "the old fox runs" + std::string(i % 9 == 0 ? "\n" : " ");
  put(text(), many);
  const Outcome result =
      run("attend --model model text.txt --max-tokens 4096 --positions repeat --top-k 64 --output "
          "page.html");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("to stay below 5 MB"), std::string::npos) << result.err;
  const std::string html = io::read_file(path("page.html"), 1 << 24);
  EXPECT_LT(html.size(), 5'000'000u);
  EXPECT_GT(html.size(), 2'500'000u);  // the room is used
  EXPECT_NE(html.find("Where the 4090 tokens look"), std::string::npos);
  EXPECT_EQ(html.find("the 64 strongest links"), std::string::npos);
}

TEST_F(AttendCommand, AWrongOutputIsSaidBeforeTheWork) {
  expect_refused("attend --model model text.txt --output none/page.html", "none");
  expect_refused("attend --model model text.txt --output ./text.txt", "is read as well");
}

TEST_F(AttendCommand, LongDocumentsAreReadInAChosenWindow) {
  std::string text_of_many;
  for (int i = 0; i < 100; ++i) text_of_many += "the old fox\n";
  put(text(), text_of_many);
  expect_refused("attend --model model text.txt", "--window 0 to --window");
  expect_refused("attend --model model text.txt --window 99", "has windows 0 to");
  const Outcome result = run("attend --model model text.txt --window 1 --json --links 1000");
  ASSERT_EQ(result.code, 0) << result.err;
  for (const Json& link : json_lines(result.out)) EXPECT_GT(link["from_line"], 5);
}

TEST_F(AttendCommand, RefusesWhatDoesNotFit) {
  expect_refused("attend --model model text.txt --layer 7", "layers 0 to 1");
  expect_refused("attend --model model text.txt --head 4", "heads 0 to 3");
  expect_refused("attend --model bert text.txt --global first", "global");
  expect_refused("attend --model model absent.txt", "absent.txt");
  put(text(), "");
  expect_refused("attend --model model text.txt", "text.txt");
}

TEST_F(AttendCommand, GlobalTokensAreSeenEverywhere) {
  const Json meta =
      Json::parse(between(page("text.txt --global 0,5"), "id=\"meta\">", "</script>"));
  EXPECT_EQ(meta["global"], (Json::array({0, 5})));
  EXPECT_EQ(run("attend --model bert text.txt --layer 0").code, 0);
}

// attentions.N of a Longformer: global slots, then the window; rows of global and masked tokens are
// zeros.
TEST_F(AttendCommand, ForwardWritesTheReferencesLayout) {
  write_inputs({integers("input_ids", {2, 6}, {2, 9, 10, 11, 12, 3, 2, 9, 10, 3, 0, 0}),
                integers("attention_mask", {2, 6}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0}),
                integers("global_attention_mask", {2, 6}, {1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1})});
  const Outcome result =
      run("forward --model model --class LongformerModel --inputs in --outputs out --attentions");
  ASSERT_EQ(result.code, 0) << result.err;
  std::map<std::string, Tensor> out;
  for (io::NamedTensor& tensor : io::read_safetensors(path("out")).tensors) {
    out[tensor.name] = std::move(tensor.tensor);
  }
  ASSERT_EQ(out["attentions.1"].shape, (Shape{2, 4, 6, 2 + 8 + 1}));
  ASSERT_EQ(out["global_attentions.1"].shape, (Shape{2, 4, 8, 2}));
  const std::vector<float> local = to_f32(out["attentions.1"]);
  const std::vector<float> global = to_f32(out["global_attentions.1"]);
  const std::vector<int> silent = {1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1};
  for (size_t row = 0; row < 12; ++row) {
    for (size_t head = 0; head < 4; ++head) {
      const size_t at = ((row / 6 * 4 + head) * 6 + row % 6) * 11;
      double sum = 0;
      for (size_t c = 0; c < 11; ++c) sum += local[at + c];
      EXPECT_NEAR(sum, silent[row] ? 0.0 : 1.0, 1e-5);
    }
  }
  for (size_t head = 0; head < 4; ++head) {
    for (size_t slot = 0; slot < 4; ++slot) {  // two of each sequence; the second has one
      double sum = 0;
      for (size_t key = 0; key < 8; ++key) {
        sum += global[((slot / 2 * 4 + head) * 8 + key) * 2 + slot % 2];
      }
      EXPECT_NEAR(sum, slot == 3 ? 0.0 : 1.0, 1e-5);
    }
  }
}

// Slot j of a dilated window of w is the key (j - w / 2) * dilation away: a slot is empty exactly
// where that is outside of the text.
TEST_F(AttendCommand, SlotsOfADilatedWindowAreItsKeys) {
  std::vector<int64_t> ids;
  for (int64_t t = 0; t < 20; ++t) ids.push_back(5 + t % 20);
  write_inputs({integers("input_ids", {1, 20}, ids)});
  const Outcome result =
      run("forward --model model --class LongformerModel --inputs in --outputs out --attentions "
          "--attention-window 4 --attention-dilation 3");
  ASSERT_EQ(result.code, 0) << result.err;
  for (const io::NamedTensor& tensor : io::read_safetensors(path("out")).tensors) {
    if (tensor.name != "attentions.0" && tensor.name != "attentions.1") continue;
    ASSERT_EQ(tensor.tensor.shape, (Shape{1, 4, 20, 5}));
    const std::vector<float> weights = to_f32(tensor.tensor);
    for (size_t at = 0; at < weights.size(); ++at) {
      const auto query = static_cast<int64_t>(at / 5 % 20);
      const int64_t key = query + (static_cast<int64_t>(at % 5) - 2) * 3;
      EXPECT_EQ(weights[at] > 0, key >= 0 && key < 20) << query << " " << key;
    }
  }
}

}  // namespace
}  // namespace longformer
