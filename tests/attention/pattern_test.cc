#include "attention/pattern.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "attention/plan.h"
#include "longformer/error.h"

namespace longformer {
namespace {

AttentionPattern small_pattern() {
  AttentionPattern pattern;
  pattern.heads = 2;
  pattern.lengths = {10, 4};
  pattern.window = Window{2, 1};
  return pattern;
}

using Change = std::function<void(AttentionPattern&)>;

struct BadCase {
  const char* name;
  Change change;
  std::vector<std::string> words;  // the message must hold them: the field and the value
};

const BadCase kBadCases[] = {
    {"heads", [](AttentionPattern& p) { p.heads = 0; }, {"heads is 0"}},
    {"heads_negative", [](AttentionPattern& p) { p.heads = -3; }, {"heads is -3"}},
    {"length", [](AttentionPattern& p) { p.lengths[1] = -7; }, {"lengths[1]", "-7"}},
    {"long", [](AttentionPattern& p) { p.lengths[0] = 1048577; }, {"lengths[0]", "1048577"}},
    {"left", [](AttentionPattern& p) { p.window->left = -1; }, {"window.left", "-1"}},
    {"right", [](AttentionPattern& p) { p.window->right = -2; }, {"window.right", "-2"}},
    {"dilation_size",
     [](AttentionPattern& p) {
       p.dilation = {1, 1, 1};
     },
     {"dilation", "3", "2"}},
    {"dilation",
     [](AttentionPattern& p) {
       p.dilation = {1, 0};
     },
     {"dilation[1]", "0"}},
    {"global_size", [](AttentionPattern& p) { p.global = {{1}}; }, {"global", "1", "2 sequences"}},
    {"global_order",
     [](AttentionPattern& p) {
       p.global = {{3, 2}, {}};
     },
     {"global[0][1]", "2 after 3"}},
    {"global_twice",
     [](AttentionPattern& p) {
       p.global = {{}, {2, 2}};
     },
     {"global[1][1]", "2 after 2"}},
    {"global_range",
     [](AttentionPattern& p) {
       p.global = {{}, {4}};
     },
     {"global[1][0]", "4"}},
    {"global_negative",
     [](AttentionPattern& p) {
       p.global = {{-1}, {}};
     },
     {"global[0][0]", "-1"}},
    {"valid_size",
     [](AttentionPattern& p) {
       p.valid = {{{0, 1}}};
     },
     {"valid", "2 sequences"}},
    {"valid_range",
     [](AttentionPattern& p) {
       p.valid = {{}, {{0, 5}}};
     },
     {"valid[1][0]", "[0, 5)"}},
    {"valid_negative",
     [](AttentionPattern& p) {
       p.valid = {{{-1, 5}}, {}};
     },
     {"valid[0][0]", "[-1, 5)"}},
    {"valid_backwards",
     [](AttentionPattern& p) {
       p.valid = {{{5, 3}}, {}};
     },
     {"valid[0][0]", "[5, 3)"}},
    {"valid_overlap",
     [](AttentionPattern& p) {
       p.valid = {{{0, 5}, {4, 6}}, {}};
     },
     {"valid[0][1]", "[4, 6)", "5"}},
    {"grid_and_window",
     [](AttentionPattern& p) {
       p.lengths = {10, 10};
       p.grid = Grid{2, 5, 1, 1, 0};
     },
     {"grid", "window"}},
    {"grid_length",
     [](AttentionPattern& p) {
       p.grid = Grid{2, 5, 1, 1, 0};
     },
     {"lengths[1]", "4"}},
    {"grid_side",
     [](AttentionPattern& p) {
       p.grid = Grid{2, 0, 1, 1, 0};
     },
     {"grid.width is 0"}},
    {"grid_huge",
     [](AttentionPattern& p) {
       p.grid = Grid{int64_t{1} << 40, 5, 1, 1, 0};
     },
     {"grid.height"}},
    {"grid_shift",
     [](AttentionPattern& p) {
       p.grid = Grid{2, 5, 4, 3, 3};
     },
     {"grid.shift is 3", "0 to", "2"}},
    {"blocks_size", [](AttentionPattern& p) { p.blocks = Blocks{}; }, {"blocks.size is 0"}},
    {"blocks_reach",
     [](AttentionPattern& p) {
       p.window.reset();
       p.blocks = Blocks{.size = 4, .reach = -1, .extra = {}};
     },
     {"blocks.reach is -1"}},
    {"blocks_and_window",
     [](AttentionPattern& p) { p.blocks = Blocks{.size = 4, .reach = 1, .extra = {}}; },
     {"blocks.reach", "window"}},
    {"blocks_heads",
     [](AttentionPattern& p) {
       p.blocks = Blocks{.size = 4, .reach = {}, .extra = {{{}, {}, {}}}};
     },
     {"blocks.extra", "1 of 2 heads"}},
    {"blocks_count",
     [](AttentionPattern& p) {
       p.blocks = Blocks{.size = 4, .reach = {}, .extra = {{{}, {}, {}}, {{}, {}}}};
     },
     {"blocks.extra[1] has 2 lists", "3 blocks"}},
    {"blocks_range",
     [](AttentionPattern& p) {
       p.lengths = {10, 9};
       p.blocks = Blocks{.size = 4, .reach = {}, .extra = {{{}, {0, 3}, {}}, {{}, {}, {}}}};
     },
     {"blocks.extra[0][1][1] is 3", "0 to 2"}},
    {"memory", [](AttentionPattern& p) { p.memory.length = -4; }, {"memory.length", "-4"}},
};

TEST(PatternValidate, RefusesContradictionsNamingFieldAndValue) {
  for (const BadCase& bad : kBadCases) {
    AttentionPattern pattern = small_pattern();
    bad.change(pattern);
    try {
      validate(pattern);
      ADD_FAILURE() << bad.name << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << bad.name;
      for (const std::string& word : bad.words) {
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
            << bad.name << ": " << error.what();
      }
    }
    EXPECT_THROW(compile(pattern), Error) << bad.name;
  }
}

TEST(PatternValidate, AcceptsWhatIsLegal) {
  AttentionPattern pattern = small_pattern();
  EXPECT_NO_THROW(validate(pattern));
  pattern.window = Window{1 << 30, std::numeric_limits<int64_t>::max()};
  pattern.dilation = {1, 7};
  pattern.lengths = {10, 0};
  pattern.global = {{0, 9}, {}};
  pattern.valid = {{{0, 3}, {3, 4}, {6, 6}, {8, 10}}, {}};
  EXPECT_NO_THROW(validate(pattern));
  EXPECT_NO_THROW(compile(pattern));
  AttentionPattern empty;
  EXPECT_NO_THROW(validate(empty));
  EXPECT_EQ(compile(empty).rows, 0);
}

TEST(PatternUnsupported, CompileNamesTheField) {
  const std::pair<const char*, Change> cases[] = {
      {"grid",
       [](AttentionPattern& p) {
         p.window.reset();
         p.lengths = {10, 10};
         p.grid = Grid{2, 5, 1, 1, 0};
       }},
      {"blocks",
       [](AttentionPattern& p) { p.blocks = Blocks{.size = 4, .reach = {}, .extra = {}}; }},
      {"memory.length = 5", [](AttentionPattern& p) { p.memory.length = 5; }},
      {"memory.cross_source", [](AttentionPattern& p) { p.memory.cross_source = true; }},
      {"bias = slopes", [](AttentionPattern& p) { p.bias = BiasKind::kSlopes; }},
  };
  for (const auto& [field, change] : cases) {
    AttentionPattern pattern = small_pattern();
    change(pattern);
    try {
      compile(pattern);
      ADD_FAILURE() << field << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << field;
      EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << error.what();
    }
  }
}

std::string row(const AttentionPattern& pattern, int64_t head, int64_t i) {
  std::string text;
  for (int64_t j = 0; j < pattern.lengths[0]; ++j) {
    text += static_cast<char>('0' + count(pattern, 0, head, i, j));
  }
  return text;
}

TEST(PatternCount, WindowByHand) {
  AttentionPattern pattern = small_pattern();  // 2 to the left, 1 to the right, 10 tokens
  EXPECT_EQ(row(pattern, 0, 0), "1100000000");
  EXPECT_EQ(row(pattern, 0, 4), "0011110000");
  EXPECT_EQ(row(pattern, 1, 9), "0000000111");
  pattern.window->right = 0;  // causal
  EXPECT_EQ(row(pattern, 0, 4), "0011100000");
  pattern.window = Window{0, 0};
  EXPECT_EQ(row(pattern, 0, 4), "0000100000");
  pattern.window.reset();
  EXPECT_EQ(row(pattern, 0, 4), "1111111111");
}

TEST(PatternCount, DilationMultipliesTheReachNotTheCount) {
  AttentionPattern pattern = small_pattern();
  pattern.dilation = {1, 3};
  EXPECT_EQ(row(pattern, 0, 6), "0000111100");
  EXPECT_EQ(row(pattern, 1, 6), "1001001001");
  EXPECT_EQ(row(pattern, 1, 1), "0100100000");
  pattern.window.reset();
  EXPECT_EQ(row(pattern, 1, 1), "0100100100");
}

TEST(PatternCount, GlobalsCountOnceAndOnlyWhereValid) {
  AttentionPattern pattern = small_pattern();
  pattern.global = {{0, 5, 8}, {}};
  pattern.valid = {{{0, 4}, {5, 8}}, {{0, 4}}};  // 4, 8 and 9 are masked
  EXPECT_EQ(row(pattern, 0, 6), "1000011100");   // 5 lies in the window too; 8 is no global
  EXPECT_EQ(row(pattern, 0, 5), "1111011100");   // a global query: every valid key
  EXPECT_EQ(row(pattern, 0, 8), "0000000000");   // masked, kZero
  pattern.masked_query = MaskedQuery::kAttend;
  EXPECT_EQ(row(pattern, 0, 8), "1000011100");  // window 6..9, valid part of it, and globals
  EXPECT_FALSE(is_global(pattern, 0, 8));
  EXPECT_TRUE(is_global(pattern, 0, 5));
  EXPECT_FALSE(is_valid(pattern, 0, 4));
  EXPECT_TRUE(is_valid(pattern, 1, 3));
}

// The description of Swin's shifted windows, step by step: pad, roll, cut, number the regions.
TEST(PatternCount, ShiftedWindowsByTheRollOfThePaddedMap) {
  for (const Grid& grid : {Grid{8, 8, 4, 4, 2}, Grid{10, 7, 3, 3, 1}, Grid{9, 12, 5, 5, 2},
                           Grid{6, 6, 3, 3, 0}, Grid{5, 3, 7, 7, 0}, Grid{64, 64, 14, 14, 0}}) {
    AttentionPattern pattern;
    pattern.lengths = {grid.height * grid.width};
    pattern.grid = grid;
    validate(pattern);
    const int64_t box = grid.box_height, shift = grid.shift;
    const int64_t high = (grid.height + box - 1) / box * box;
    const int64_t wide = (grid.width + box - 1) / box * box;
    struct Place {
      int64_t token;  // -1: padding
      int64_t window;
      int64_t region;
    };
    std::vector<Place> places;  // of the rolled map
    const auto region = [&](int64_t at, int64_t size) {
      if (shift == 0 || at < size - box) return 0;
      return at < size - shift ? 1 : 2;
    };
    for (int64_t a = 0; a < high; ++a) {
      for (int64_t b = 0; b < wide; ++b) {
        const int64_t y = (a + shift) % high, x = (b + shift) % wide;
        places.push_back({y < grid.height && x < grid.width ? y * grid.width + x : -1,
                          a / box * (wide / box) + b / box, 3 * region(a, high) + region(b, wide)});
      }
    }
    for (const Place& query : places) {
      if (query.token < 0 || (grid.height == 64 && query.token % 61 != 0)) continue;
      int64_t padding = 0;
      for (const Place& key : places) {
        const bool sees = key.window == query.window && key.region == query.region;
        if (key.token < 0) {
          padding += sees;
          continue;
        }
        ASSERT_EQ(count(pattern, 0, 0, query.token, key.token), sees ? 1 : 0)
            << to_string(pattern) << " " << query.token << " " << key.token;
      }
      ASSERT_EQ(padding_keys(pattern, 0, query.token), padding)
          << to_string(pattern) << " " << query.token;
    }
  }
}

TEST(PatternCount, BlocksByHand) {
  AttentionPattern pattern;
  pattern.lengths = {10};
  pattern.blocks = Blocks{.size = 4, .reach = 0, .extra = {{{1, 1}, {1}, {}}}};
  EXPECT_EQ(row(pattern, 0, 0), "1111222200");
  EXPECT_EQ(row(pattern, 0, 5), "0000222200");
  EXPECT_EQ(row(pattern, 0, 9), "0000000011");
  pattern.global = {{6}};
  pattern.valid = {{{0, 5}, {6, 10}}};
  EXPECT_EQ(row(pattern, 0, 0), "1111203200");  // 5 is masked, 6 global and listed twice
  EXPECT_EQ(row(pattern, 0, 6), "1111202211");
  EXPECT_EQ(row(pattern, 0, 5), "0000000000");
  pattern.blocks->reach.reset();
  pattern.window = Window{1, 0};
  EXPECT_EQ(row(pattern, 0, 8), "0000001110");
  pattern.window.reset();
  EXPECT_EQ(row(pattern, 0, 8), "0000001000");  // without a window only lists and globals
}

TEST(PatternText, NamesGridAndBlocks) {
  AttentionPattern pattern;
  pattern.lengths = {49};
  pattern.grid = Grid{7, 7, 4, 4, 2};
  EXPECT_EQ(to_string(pattern),
            "grid 7x7 in boxes of 4x4 shifted by 2, no global tokens, 1 sequence of 49");
  pattern.grid.reset();
  pattern.blocks = Blocks{.size = 25, .reach = 1, .extra = {{{1}, {0, 0}}}};
  EXPECT_EQ(to_string(pattern),
            "blocks of 25 reaching 1 block to each side and up to 2 more, no global tokens, 1 "
            "sequence of 49");
}

TEST(PatternText, NamesEveryFieldInUse) {
  AttentionPattern pattern;
  pattern.heads = 12;
  pattern.lengths = {4096};
  pattern.window = Window{256, 256};
  pattern.dilation.assign(12, 1);
  pattern.global = {{0}};
  EXPECT_EQ(to_string(pattern),
            "window 256+256, dilation 1 (heads 0-11), global 1 token, 1 sequence of 4096");
  pattern.dilation[11] = 4;
  pattern.lengths = {50, 60};
  pattern.global = {{0, 1}, {}};
  pattern.global_projections = false;
  pattern.valid = {{{0, 45}}, {{0, 60}}};
  EXPECT_EQ(to_string(pattern),
            "window 256+256, dilation 1 (heads 0-10), 4 (head 11), global 2 tokens with shared "
            "projections, 2 sequences of 50 to 60, 5 masked tokens giving zero");
  AttentionPattern full;
  full.lengths = {7, 7};
  EXPECT_EQ(to_string(full), "full attention, dilation 1, no global tokens, 2 sequences of 7");
  full.memory.length = 3;
  full.bias = BiasKind::kSlopes;
  EXPECT_EQ(to_string(full),
            "full attention, dilation 1, no global tokens, 2 sequences of 7, memory 3, bias "
            "slopes");
}

}  // namespace
}  // namespace longformer
