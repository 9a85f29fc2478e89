// The strongest links against all of them, and what a collector promises.
#include "tasks/attend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "tasks/attend_links.h"
#include "tasks/model_files.h"
#include "tasks/tiny_model.h"

namespace longformer::tasks {
namespace {

class Attend : public testing::Test {
 protected:
  Attend()
      : encoder_((test::write_tiny_model(directory_.path(), "longformer", 64),
                  Encoder::load(directory_.path(), {.threads = 2}))),
        tokens_(load_tokenizer(directory_.path())
                    .encode("The old dog runs in the rain. The hen sleeps in the barn, the fox "
                            "comes in the night and eats corn.")) {}

  // p(i, j) of a layer, averaged over the heads (head < 0), from the public callback.
  std::map<std::pair<int32_t, int32_t>, double> all(int64_t layer, int64_t head,
                                                    const std::vector<uint8_t>& global) {
    std::map<std::pair<int32_t, int32_t>, double> links;
    EncoderInput input{.lengths = {static_cast<int64_t>(tokens_.size())},
                       .input_ids = tokens_.ids,
                       .global_attention_mask = global};
    EncodeOptions options;
    options.attentions = [&](const LayerAttention& seen) {
      if (layer >= 0 && seen.layer != layer) return;
      seen.visit([&](const AttentionRow& row) {
        for (int64_t h = 0; h < seen.heads; ++h) {
          if (head >= 0 && h != head) continue;
          const AttentionLinks& from = row.heads[static_cast<size_t>(h)];
          for (size_t i = 0; i < from.keys.size(); ++i) {
            const double share = (head >= 0 ? 1.0 : static_cast<double>(seen.heads)) *
                                 (layer >= 0 ? 1.0 : 2.0);  // two layers
            links[{static_cast<int32_t>(row.row), from.keys[i]}] += from.weights[i] / share;
          }
        }
      });
    };
    encoder_.encode(input, options);
    return links;
  }

  // The view holds, for each token, the k largest weights in both directions.
  void expect_view(const AttendView& view, int64_t k,
                   const std::map<std::pair<int32_t, int32_t>, double>& links) {
    const auto count = static_cast<int32_t>(tokens_.size());
    for (int32_t t = 0; t < count; ++t) {
      std::vector<double> out, in;
      double received = 0;
      for (const auto& [ends, weight] : links) {
        if (ends.first == t) out.push_back(weight);
        if (ends.second == t) in.push_back(weight);
        if (ends.second == t) received += weight;
      }
      EXPECT_NEAR(view.received[static_cast<size_t>(t)], received, 1e-5);
      std::sort(out.rbegin(), out.rend());
      std::sort(in.rbegin(), in.rend());
      for (int64_t i = 0; i < k; ++i) {
        const AttendEnd& to = view.out[static_cast<size_t>(t * k + i)];
        const AttendEnd& from = view.in[static_cast<size_t>(t * k + i)];
        ASSERT_EQ(to.token >= 0, i < static_cast<int64_t>(out.size()));
        ASSERT_EQ(from.token >= 0, i < static_cast<int64_t>(in.size()));
        if (to.token >= 0) {
          EXPECT_NEAR(to.weight, out[static_cast<size_t>(i)], 1e-6);
          EXPECT_NEAR(to.weight, links.at({t, to.token}), 1e-6);
        }
        if (from.token >= 0) {
          EXPECT_NEAR(from.weight, in[static_cast<size_t>(i)], 1e-6);
          EXPECT_NEAR(from.weight, links.at({from.token, t}), 1e-6);
        }
      }
    }
  }

  std::vector<uint8_t> first_is_global() const {
    std::vector<uint8_t> global(tokens_.size(), 0);
    global[0] = 1;
    return global;
  }

  test::TemporaryDirectory directory_;
  Encoder encoder_;
  text::Encoding tokens_;
};

TEST_F(Attend, AverageAndEachLayer) {
  const std::vector<uint8_t> global = first_is_global();
  const Attended seen = attend(encoder_, tokens_, global, {.top_k = 5});
  ASSERT_EQ(seen.views.size(), 3U);
  EXPECT_FALSE(seen.views[0].layer || seen.views[0].head);
  expect_view(seen.views[0], 5, all(-1, -1, global));
  expect_view(seen.views[1], 5, all(0, -1, global));
  expect_view(seen.views[2], 5, all(1, -1, global));
  EXPECT_EQ(seen.views[2].layer, 1);
}

TEST_F(Attend, OneLayerAndEachHead) {
  const Attended seen = attend(encoder_, tokens_, {}, {.layer = 1, .top_k = 3});
  ASSERT_EQ(seen.views.size(), 5U);
  expect_view(seen.views[0], 3, all(1, -1, {}));
  expect_view(seen.views[4], 3, all(1, 3, {}));
  EXPECT_EQ(seen.views[4].head, 3);
}

TEST_F(Attend, OneHead) {
  const Attended everywhere = attend(encoder_, tokens_, {}, {.head = 2, .top_k = 3});
  ASSERT_EQ(everywhere.views.size(), 3U);
  expect_view(everywhere.views[0], 3, all(-1, 2, {}));
  const Attended one = attend(encoder_, tokens_, {}, {.layer = 0, .head = 2, .top_k = 100});
  ASSERT_EQ(one.views.size(), 1U);
  expect_view(one.views[0], 100, all(0, 2, {}));
}

TEST_F(Attend, StrongestOfTheWhole) {
  const Attended seen = attend(encoder_, tokens_, {}, {.layer = 0, .head = 1, .strongest = 7});
  std::vector<double> weights;
  for (const auto& [ends, weight] : all(0, 1, {})) weights.push_back(weight);
  std::sort(weights.rbegin(), weights.rend());
  ASSERT_EQ(seen.strongest.size(), 7U);
  for (size_t i = 0; i < 7; ++i) EXPECT_NEAR(seen.strongest[i].weight, weights[i], 1e-6);
}

TEST_F(Attend, LinksThatAreLeftOut) {
  const Attended seen =
      attend(encoder_, tokens_, {},
             {.top_k = 40, .strongest = 1000, .self_links = false, .special_links = false});
  const auto last = static_cast<int32_t>(tokens_.size()) - 1;
  EXPECT_FALSE(seen.strongest.empty());
  for (const AttendLink& link : seen.strongest) {
    EXPECT_NE(link.from, link.to);
    EXPECT_TRUE(link.from != 0 && link.to != 0 && link.from != last && link.to != last);
  }
  for (const AttendView& view : seen.views) EXPECT_EQ(view.out[0].token, -1);  // of [CLS]
}

TEST_F(Attend, NamesWhatTheModelLacks) {
  test::expect_error(ErrorCode::kInvalidArgument, {"layer 2", "layers 0 to 1"},
                     [&] { attend(encoder_, tokens_, {}, {.layer = 2}); });
  test::expect_error(ErrorCode::kInvalidArgument, {"head 4", "heads 0 to 3"},
                     [&] { attend(encoder_, tokens_, {}, {.head = 4}); });
}

TEST(LinkCollector, TheEarlierOfEqualsComesFirstAndNanIsNoLink) {
  const std::vector<uint8_t> special(4, 0);
  LinkCollector collector(4, 2, 3, {&special});
  const std::vector<int32_t> keys = {0, 1, 2, 3};
  const std::vector<float> even(4, 0.25f);
  const std::vector<float> broken(4, std::numeric_limits<float>::quiet_NaN());
  collector.add(0, keys, even);
  collector.add(1, keys, broken);
  collector.add(2, keys, even);
  AttendView view;
  const std::vector<AttendLink> strongest = collector.finish(view);
  EXPECT_EQ(view.out[0].token, 0);
  EXPECT_EQ(view.out[1].token, 1);
  EXPECT_EQ(view.out[2].token, -1);
  EXPECT_EQ(view.in[6].token, 0);
  EXPECT_EQ(view.in[7].token, 2);
  ASSERT_EQ(strongest.size(), 3U);
  EXPECT_EQ(strongest[2].to, 2);
  EXPECT_EQ(strongest[2].from, 0);
}

}  // namespace
}  // namespace longformer::tasks
