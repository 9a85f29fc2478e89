#include "text/files/sentencepiece_files.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/charsmap.h"
#include "text/files/special_tokens.h"
#include "text/files/vocab_files.h"

namespace longformer::text {
namespace {

using Kind = TemplatePiece::Kind;

constexpr const char* kSpace = "\u2581";
constexpr uint64_t kMaxExtraTokens = 10'000;  // T5's extra_ids, Pegasus' offset

// How the conversions differ.
enum class Vocab { kPieces, kFairseq, kCamembert, kPegasus, kExtraIds, kCommas };
enum class Normal { kReplaceRuns, kAlbert, kRemBert, kDeberta };
enum class Frame { kNone, kBert, kRoberta, kEnd, kEndOfEach, kXlnet };

struct Family {
  std::string_view name;
  Vocab vocab;
  Normal normal;
  Frame frame;
  bool lower_case;  // do_lower_case, where the class has it
  bool keep_accents;
  std::string_view brackets;  // "[": [CLS], [SEP], …; "<": <s>, </s>, …
};
constexpr std::array<Family, 12> kFamilies = {{
    {"XLMRobertaTokenizer", Vocab::kFairseq, Normal::kReplaceRuns, Frame::kRoberta, false, true,
     "<"},
    {"BigBirdTokenizer", Vocab::kPieces, Normal::kReplaceRuns, Frame::kBert, false, true, "["},
    {"PegasusTokenizer", Vocab::kPegasus, Normal::kReplaceRuns, Frame::kEnd, false, true, "<"},
    {"AlbertTokenizer", Vocab::kCommas, Normal::kAlbert, Frame::kBert, true, false, "["},
    {"FNetTokenizer", Vocab::kCommas, Normal::kAlbert, Frame::kBert, false, true, "["},
    {"RemBertTokenizer", Vocab::kPieces, Normal::kRemBert, Frame::kBert, true, false, "["},
    {"DebertaV2Tokenizer", Vocab::kPieces, Normal::kDeberta, Frame::kBert, false, true, "["},
    {"CamembertTokenizer", Vocab::kCamembert, Normal::kReplaceRuns, Frame::kRoberta, false, true,
     "<"},
    {"BarthezTokenizer", Vocab::kPieces, Normal::kReplaceRuns, Frame::kRoberta, false, true, "<"},
    {"XLNetTokenizer", Vocab::kCommas, Normal::kAlbert, Frame::kXlnet, false, false, "<"},
    {"T5Tokenizer", Vocab::kExtraIds, Normal::kReplaceRuns, Frame::kEndOfEach, false, true, "<"},
    {"ReformerTokenizer", Vocab::kPieces, Normal::kReplaceRuns, Frame::kNone, false, true, "<"},
}};

const Family& find_family(const std::string& name, const JsonObject& config) {
  const auto family = std::find_if(kFamilies.begin(), kFamilies.end(),
                                   [&](const Family& f) { return f.name == name; });
  if (family != kFamilies.end()) return *family;
  if (name.empty()) {
    throw Error(ErrorCode::kUnsupported,
                "a SentencePiece model needs a tokenizer_class to be read; name it in "
                "tokenizer_config.json, or save the tokenizer with a tokenizer.json",
                config.place());
  }
  refuse_class(name, "a SentencePiece model", config.place());
}

// The defaults of the fast classes.
SpecialTokenRules special_rules(const Family& family) {
  SpecialTokenRules rules;
  if (family.name == "T5Tokenizer" || family.name == "ReformerTokenizer") {
    rules = {{"eos_token", {"</s>"}}, {"unk_token", {"<unk>"}}};
    if (family.name == "T5Tokenizer") rules["pad_token"] = {"<pad>"};
    return rules;
  }
  if (family.frame == Frame::kEnd) {
    return {{"eos_token", {"</s>"}},
            {"unk_token", {"<unk>"}},
            {"pad_token", {"<pad>"}},
            {"mask_token", {"<mask_2>"}}};
  }
  if (family.frame == Frame::kXlnet) {
    return {{"bos_token", {"<s>"}},
            {"eos_token", {"</s>"}},
            {"unk_token", {"<unk>"}},
            {"sep_token", {"<sep>"}},
            {"pad_token", {"<pad>"}},
            {"cls_token", {"<cls>"}},
            {"mask_token", {"<mask>", true, true}}};
  }
  if (family.brackets == "<") {
    return {{"bos_token", {"<s>"}},
            {"eos_token", {"</s>"}},
            {"sep_token", {"</s>"}},
            {"cls_token", {"<s>"}},
            {"unk_token", {"<unk>"}},
            {"pad_token", {"<pad>"}},
            {"mask_token", {"<mask>", true, true}}};
  }
  const bool deberta = family.normal == Normal::kDeberta;
  const bool bigbird = family.name == "BigBirdTokenizer";
  const bool own_unknown = deberta || family.normal == Normal::kRemBert;
  rules = {{"unk_token", {own_unknown ? "[UNK]" : "<unk>", deberta, false, deberta}},
           {"sep_token", {"[SEP]"}},
           {"pad_token", {own_unknown ? "[PAD]" : "<pad>"}},
           {"cls_token", {"[CLS]"}},
           {"mask_token", {"[MASK]", !deberta, !deberta, family.normal == Normal::kRemBert}}};
  if (family.name != "FNetTokenizer") {
    rules["bos_token"] = {bigbird ? "<s>" : "[CLS]"};
    rules["eos_token"] = {bigbird ? "</s>" : "[SEP]"};
  }
  if (bigbird) {
    for (auto& [key, rule] : rules) rule.has_flags = rule.normalized = true;
  }
  return rules;
}

// A comma behind a digit is a token of its own: pieces that join the two lose 100.
bool joins_number_and_comma(std::string_view piece) {
  return piece.size() >= 2 && piece.back() == ',' && piece[piece.size() - 2] >= '0' &&
         piece[piece.size() - 2] <= '9';
}

uint64_t extra_count(const JsonObject& config, const char* key, uint64_t fallback) {
  if (config.find(key) == nullptr) return fallback;
  const uint64_t count = config.natural(key);
  if (count > kMaxExtraTokens) {
    config.fail(key, "must be at most " + std::to_string(kMaxExtraTokens));
  }
  return count;
}

// The tokens that a class adds where no file lists additional_special_tokens.
std::vector<std::string> default_additional(const Family& family) {
  if (family.name == "XLNetTokenizer") return {"<eop>", "<eod>"};
  if (family.name == "CamembertTokenizer") return {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"};
  return {};
}

AddedToken special_token(std::string content) {
  AddedToken token;
  token.content = std::move(content);
  token.normalized = false;
  token.special = true;
  return token;
}

NormalizerRule replace(std::string literal, std::string text) {
  NormalizerRule rule{NormalizerStep::kReplace};
  rule.literal = std::move(literal);
  rule.text = std::move(text);
  return rule;
}

class Conversion {
 public:
  Conversion(const TokenizerFiles& files, const JsonObject& config, const Family& family)
      : files_(files),
        config_(config),
        family_(family),
        place_(files.place + "/the SentencePiece model"),
        model_(read_sentencepiece(*files.sentencepiece, place_)) {}

  TokenizerSpec run() {
    TokenizerSpec spec;
    spec.place = place_;
    SpecialTokens specials = read_special_tokens(files_, config_, rules(), model_tokens());
    spec.model = model(specials);
    spec.normalizer = normalizer();
    const MetaspaceSplit::Prepend prepend = prepend_scheme();
    spec.pretokenizer = pretokenizer(prepend);
    spec.decoder = Decoder::metaspace(kSpace, prepend != MetaspaceSplit::Prepend::kNever);
    spec.named_template = frame(specials);
    spec.added_tokens = std::move(specials.added);
    append_additional(specials.additional, spec.added_tokens);
    return spec;
  }

 private:
  SpecialTokenRules rules() const { return special_rules(family_); }

  // Control and user-defined pieces are added tokens, control pieces special ones.
  std::vector<AddedToken> model_tokens() const {
    std::vector<AddedToken> tokens;
    for (const SentencePiece& piece : model_.pieces) {
      const bool control = piece.type == SentencePiece::Type::kControl;
      if (!control && piece.type != SentencePiece::Type::kUserDefined) continue;
      AddedToken token = special_token(piece.text);
      token.special = control;
      tokens.push_back(std::move(token));
    }
    return tokens;
  }

  ModelSpec model(const SpecialTokens& specials) const {
    if (model_.kind != SentencePieceModel::Kind::kUnigram &&
        model_.kind != SentencePieceModel::Kind::kBpe) {
      throw Error(ErrorCode::kUnsupported,
                  "a SentencePiece model of words or characters is not supported; models of the "
                  "Unigram and BPE kinds are",
                  place_);
    }
    UnigramSpec unigram;
    unigram.pieces = vocabulary(specials);
    unigram.unknown_id = unknown_id();
    if (model_.kind == SentencePieceModel::Kind::kUnigram) return unigram;
    BpeSpec bpe;
    for (size_t i = 0; i < unigram.pieces.size(); ++i) {
      bpe.vocabulary.emplace_back(std::move(unigram.pieces[i].first), static_cast<int32_t>(i));
    }
    bpe.merges = sentencepiece_merges(model_, place_);
    bpe.unknown_token = model_.unk_piece;
    bpe.fuse_unknown = true;
    return bpe;
  }

  std::vector<std::pair<std::string, double>> vocabulary(const SpecialTokens& specials) const {
    std::vector<std::pair<std::string, double>> out;
    size_t first = 0;  // piece of the file that is kept
    if (family_.vocab == Vocab::kFairseq) {
      out = {{"<s>", 0}, {"<pad>", 0}, {"</s>", 0}, {"<unk>", 0}};
      first = 3;
    } else if (family_.vocab == Vocab::kCamembert) {
      out = {{"<s>NOTUSED", 0},
             {"<pad>", 0},
             {"</s>NOTUSED", 0},
             {"<unk>", 0},
             {"<unk>NOTUSED", -100}};
      first = 1;
    } else if (family_.vocab == Vocab::kPegasus) {
      out = pegasus_head(specials);
      first = 2;
    }
    for (size_t i = first; i < model_.pieces.size(); ++i) {
      const SentencePiece& piece = model_.pieces[i];
      double score = piece.score;
      if (family_.vocab == Vocab::kCommas && joins_number_and_comma(piece.text)) score -= 100;
      out.emplace_back(piece.text, score);
    }
    if (family_.vocab == Vocab::kFairseq || family_.vocab == Vocab::kCamembert) {
      out.emplace_back("<mask>", 0);
    } else if (family_.vocab == Vocab::kExtraIds) {
      for (uint64_t i = extra_count(config_, "extra_ids", 100); i-- > 0;) {
        out.emplace_back("<extra_id_" + std::to_string(i) + ">", 0);
      }
    }
    return out;
  }

  uint64_t offset() const { return extra_count(config_, "offset", 103); }

  std::vector<std::pair<std::string, double>> pegasus_head(const SpecialTokens& specials) const {
    std::vector<std::pair<std::string, double>> out = {{specials.contents.at("pad_token"), 0},
                                                       {specials.contents.at("eos_token"), 0}};
    const std::optional<std::string> sentence = mask_sent();
    if (sentence) {
      out.emplace_back(*sentence, 0);
      if (offset() > 3) out.emplace_back(specials.contents.at("mask_token"), 0);
    }
    for (uint64_t i = 2; i < offset(); ++i) {
      out.emplace_back("<unk_" + std::to_string(i) + ">", -100);
    }
    return out;
  }

  int64_t unknown_id() const {
    switch (family_.vocab) {
      case Vocab::kFairseq:
      case Vocab::kCamembert:
        return 3;
      case Vocab::kPegasus:
        return model_.unk_id + static_cast<int64_t>(offset());
      default:
        return family_.name == "BarthezTokenizer" ? 3 : model_.unk_id;
    }
  }

  // mask_token_sent of Pegasus: null means that there is none.
  std::optional<std::string> mask_sent() const {
    if (config_.find("mask_token_sent") != nullptr) return config_.string("mask_token_sent");
    if (files_.tokenizer_config &&
        parse_json(*files_.tokenizer_config, kMaxJsonBytes, config_.place())
            .contains("mask_token_sent")) {
      return std::nullopt;
    }
    return "<mask_1>";
  }

  // Tokens that the class adds to those of the files.
  void append_additional(std::vector<std::string> listed, std::vector<AddedToken>& added) const {
    std::vector<std::string> tokens;
    if (family_.vocab == Vocab::kPegasus) {
      const std::optional<std::string> sentence = mask_sent();
      const bool is_listed = !listed.empty();
      const auto find = [&](const std::string& t) {
        return std::find(listed.begin(), listed.end(), t) != listed.end();
      };
      if (sentence && !find(*sentence)) tokens.push_back(*sentence);
      const uint64_t first = is_listed ? listed.size() + tokens.size() : 2;
      for (uint64_t i = first; i + (is_listed ? 1 : 0) < offset(); ++i) {
        tokens.push_back("<unk_" + std::to_string(i) + ">");
      }
    } else if (family_.vocab == Vocab::kExtraIds) {
      for (uint64_t i = 0; i < extra_count(config_, "extra_ids", 100); ++i) {
        tokens.push_back("<extra_id_" + std::to_string(i) + ">");
      }
    } else if (listed.empty()) {
      tokens = default_additional(family_);
    }
    std::set<std::string> known;
    for (const AddedToken& token : added) known.insert(token.content);
    for (std::string& token : tokens) {
      if (known.insert(token).second) added.push_back(special_token(std::move(token)));
    }
  }

  Normalizer normalizer() const {
    std::vector<NormalizerRule> rules;
    const auto add = [&](NormalizerRule rule) { rules.push_back(std::move(rule)); };
    NormalizerRule runs{NormalizerStep::kReplace};
    runs.text = family_.normal == Normal::kReplaceRuns ? kSpace : " ";
    runs.pattern.emplace(" {2,}", place_);
    std::optional<NormalizerRule> charsmap;
    if (!model_.charsmap.empty()) {
      charsmap.emplace(NormalizerRule{NormalizerStep::kCharsmap});
      charsmap->charsmap = std::make_shared<const Charsmap>(model_.charsmap, place_);
    }
    const bool lower_case = config_.boolean("do_lower_case", family_.lower_case);
    if (family_.normal == Normal::kReplaceRuns) {
      if (charsmap) add(*charsmap);
      add({NormalizerStep::kStripRight});
      add(runs);
      return Normalizer(std::move(rules));
    }
    if (family_.normal == Normal::kDeberta) {
      if (lower_case) add({NormalizerStep::kLowercase});
      add({NormalizerStep::kStripLeft});
      add({NormalizerStep::kStripRight});
    } else {
      add(replace("``", "\""));
      add(replace("''", "\""));
      if (family_.normal == Normal::kRemBert) add(runs);
      if (!config_.boolean("keep_accents", family_.keep_accents)) {
        add({NormalizerStep::kDecomposeCompatible});
        add({NormalizerStep::kRemoveMarks});
      }
      if (lower_case) add({NormalizerStep::kLowercase});
    }
    if (charsmap) add(*charsmap);
    if (family_.normal != Normal::kRemBert) add(runs);
    return Normalizer(std::move(rules));
  }

  MetaspaceSplit::Prepend prepend_scheme() const {
    if (family_.name != "T5Tokenizer") return MetaspaceSplit::Prepend::kAlways;
    if (!config_.boolean("add_prefix_space", true)) return MetaspaceSplit::Prepend::kNever;
    return config_.boolean("legacy", true) ? MetaspaceSplit::Prepend::kAlways
                                           : MetaspaceSplit::Prepend::kFirst;
  }

  PreTokenizer pretokenizer(MetaspaceSplit::Prepend prepend) const {
    std::vector<PreTokenizerStep> steps;
    if (family_.vocab == Vocab::kPegasus) {
      steps.emplace_back(CharacterSplit{CharacterSplit::Set::kSpace, 0, SplitBehavior::kRemoved});
    }
    if (family_.normal == Normal::kDeberta && config_.boolean("split_by_punct", false)) {
      steps.emplace_back(
          CharacterSplit{CharacterSplit::Set::kPunctuation, 0, SplitBehavior::kIsolated});
    }
    steps.emplace_back(MetaspaceSplit{kSpace, prepend, true});
    return PreTokenizer(std::move(steps));
  }

  std::optional<NamedTemplate> frame(const SpecialTokens& specials) const {
    const NamedPiece first{Kind::kFirst, {}, 0};
    const NamedPiece second{Kind::kSecond, {}, 0};
    switch (family_.frame) {
      case Frame::kNone:
        return std::nullopt;
      case Frame::kBert:
        return bert_template("[CLS]", "[SEP]");
      case Frame::kRoberta:
        return roberta_template("<s>", "</s>");
      case Frame::kEnd: {
        const NamedPiece end{Kind::kSpecial, specials.contents.at("eos_token"), 0};
        return NamedTemplate{{first, end}, {first, second, end}};
      }
      case Frame::kEndOfEach: {
        const NamedPiece end{Kind::kSpecial, "</s>", 0};
        return NamedTemplate{{first, end}, {first, end, second, end}};
      }
      case Frame::kXlnet:
        break;
    }
    const NamedPiece sep{Kind::kSpecial, "<sep>", 0};
    const NamedPiece cls{Kind::kSpecial, "<cls>", 2};
    return NamedTemplate{{first, sep, cls},
                         {first, sep, {Kind::kSecond, {}, 1}, {Kind::kSpecial, "<sep>", 1}, cls}};
  }

  const TokenizerFiles& files_;
  const JsonObject& config_;
  const Family& family_;
  std::string place_;
  SentencePieceModel model_;
};

}  // namespace

TokenizerSpec read_sentencepiece_files(const TokenizerFiles& files, const JsonObject& config) {
  return Conversion(files, config, find_family(tokenizer_class(files, config), config)).run();
}

}  // namespace longformer::text
