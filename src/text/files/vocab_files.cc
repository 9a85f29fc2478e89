#include "text/files/vocab_files.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "longformer/error.h"
#include "text/files/sentencepiece_files.h"
#include "text/files/special_tokens.h"
#include "text/files/vocab_txt.h"
#include "text/models/merges.h"

namespace longformer::text {
namespace {

using Kind = TemplatePiece::Kind;

// Classes that read vocab.txt in the same way.
constexpr std::array<std::string_view, 10> kBertClasses = {
    "BertTokenizer",      "DistilBertTokenizer",  "ElectraTokenizer",  "MobileBertTokenizer",
    "ConvBertTokenizer",  "SqueezeBertTokenizer", "LayoutLMTokenizer", "LxmertTokenizer",
    "RetriBertTokenizer", "PreTrainedTokenizer",
};
// Classes that read vocab.json and merges.txt as RoBERTa does.
constexpr std::array<std::string_view, 5> kRobertaClasses = {
    "RobertaTokenizer", "LongformerTokenizer", "LEDTokenizer", "BartTokenizer", "MvpTokenizer"};
// The classes of model types, where no tokenizer file names one.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kModelTypes = {{
    {"roberta", "RobertaTokenizer"},
    {"longformer", "LongformerTokenizer"},
    {"led", "LEDTokenizer"},
    {"bart", "BartTokenizer"},
    {"gpt2", "GPT2Tokenizer"},
    {"bert", "BertTokenizer"},
    {"xlm-roberta", "XLMRobertaTokenizer"},
    {"camembert", "CamembertTokenizer"},
    {"big_bird", "BigBirdTokenizer"},
    {"albert", "AlbertTokenizer"},
    {"bigbird_pegasus", "PegasusTokenizer"},
}};

template <size_t n>
bool contains(const std::array<std::string_view, n>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// do_basic_tokenize has no effect in the reference's fast class, so none here.
Normalizer read_bert_normalizer(const JsonObject& config) {
  BertNormalizerSettings settings;
  settings.lowercase = config.boolean("do_lower_case", true);
  settings.handle_chinese_chars = config.boolean("tokenize_chinese_chars", true);
  if (config.find("strip_accents") != nullptr)
    settings.strip_accents = config.boolean("strip_accents");
  return Normalizer(bert_steps(settings));
}

SpecialTokenRules roberta_rules(const std::string& name) {
  SpecialTokenRules rules;
  for (const auto& [key, content] : {std::pair{"bos_token", "<s>"},
                                     {"eos_token", "</s>"},
                                     {"sep_token", "</s>"},
                                     {"cls_token", "<s>"},
                                     {"unk_token", "<unk>"},
                                     {"pad_token", "<pad>"}}) {
    rules[key] = {content, true, false, true};
  }
  const bool normalized_mask = name != "RobertaTokenizer" && name != "LongformerTokenizer";
  rules["mask_token"] = {"<mask>", true, true, normalized_mask};
  return rules;
}

SpecialTokenRules gpt2_rules() {
  SpecialTokenRules rules;
  for (const char* key : {"bos_token", "eos_token", "unk_token"}) {
    rules[key] = {"<|endoftext|>", true, false, true};
  }
  return rules;
}

TokenizerSpec read_bpe_model(const TokenizerFiles& files, const JsonObject& config) {
  TokenizerSpec spec;
  spec.place = files.place + "/vocab.json";
  BpeSpec model;
  model.vocabulary = read_vocab_json(*files.vocab_json, spec.place);
  model.merges = read_merges_txt(*files.merges_txt, files.place + "/merges.txt");
  spec.model = std::move(model);
  const bool add_prefix_space = config.boolean("add_prefix_space", false);
  spec.pretokenizer = PreTokenizer({ByteLevelSplit{add_prefix_space, true}});
  spec.post.add_prefix_space = add_prefix_space;
  spec.decoder = Decoder::byte_level();
  return spec;
}

}  // namespace

std::string tokenizer_class(const TokenizerFiles& files, const JsonObject& config) {
  std::string name = config.string("tokenizer_class", "");
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  if (!name.empty() || files.model_type.empty()) return name;
  const auto known = std::find_if(kModelTypes.begin(), kModelTypes.end(), [&](const auto& entry) {
    return entry.first == files.model_type;
  });
  return known == kModelTypes.end() ? "" : std::string(known->second);
}

void refuse_class(const std::string& name, const std::string& file, const std::string& place) {
  throw Error(ErrorCode::kUnsupported,
              "tokenizer_class \"" + printable(name) + "\" cannot be read from " + file +
                  " by this version; save it with a tokenizer.json",
              place);
}

NamedTemplate bert_template(const std::string& cls, const std::string& sep) {
  const NamedPiece begin{Kind::kSpecial, cls, 0};
  const NamedPiece middle{Kind::kSpecial, sep, 0};
  const NamedPiece end{Kind::kSpecial, sep, 1};
  const NamedPiece first{Kind::kFirst, {}, 0};
  const NamedPiece second{Kind::kSecond, {}, 1};
  return {{begin, first, middle}, {begin, first, middle, second, end}};
}

NamedTemplate roberta_template(const std::string& cls, const std::string& sep) {
  const NamedPiece begin{Kind::kSpecial, cls, 0};
  const NamedPiece end{Kind::kSpecial, sep, 0};
  const NamedPiece first{Kind::kFirst, {}, 0};
  const NamedPiece second{Kind::kSecond, {}, 0};
  return {{begin, first, end}, {begin, first, end, end, second, end}};
}

TokenizerSpec read_wordpiece_files(const TokenizerFiles& files, const JsonObject& config) {
  const std::string name = tokenizer_class(files, config);
  if (!name.empty() && !contains(kBertClasses, name)) {
    refuse_class(name, "vocab.txt", config.place());
  }
  TokenizerSpec spec;
  spec.place = files.place + "/vocab.txt";
  spec.normalizer = read_bert_normalizer(config);
  spec.pretokenizer = PreTokenizer({BertSplit{}});
  spec.decoder = Decoder::word_piece("##", true);
  WordPieceSpec model;
  model.vocabulary = read_vocab_txt(*files.vocab_txt, spec.place);
  SpecialTokens specials = read_special_tokens(files, config,
                                               {{"unk_token", {"[UNK]"}},
                                                {"sep_token", {"[SEP]"}},
                                                {"pad_token", {"[PAD]"}},
                                                {"cls_token", {"[CLS]"}},
                                                {"mask_token", {"[MASK]"}}});
  model.unknown_token = specials.contents.at("unk_token");
  spec.model = std::move(model);
  spec.named_template =
      bert_template(specials.contents.at("cls_token"), specials.contents.at("sep_token"));
  spec.added_tokens = std::move(specials.added);
  return spec;
}

TokenizerSpec read_bpe_files(const TokenizerFiles& files, const JsonObject& config) {
  std::string name = tokenizer_class(files, config);
  if (name.empty()) name = "RobertaTokenizer";
  const bool gpt2 = name == "GPT2Tokenizer";
  if (!gpt2 && !contains(kRobertaClasses, name)) {
    refuse_class(name, "vocab.json and merges.txt", config.place());
  }
  TokenizerSpec spec = read_bpe_model(files, config);
  SpecialTokens specials =
      read_special_tokens(files, config, gpt2 ? gpt2_rules() : roberta_rules(name));
  if (gpt2) {
    if (config.boolean("add_bos_token", false)) {
      const NamedPiece bos{Kind::kSpecial, specials.contents.at("bos_token"), 0};
      const NamedPiece first{Kind::kFirst, {}, 0};
      const NamedPiece second{Kind::kSecond, {}, 1};
      spec.named_template = {{bos, first}, {bos, first, second}};
    }
  } else {
    spec.named_template =
        roberta_template(specials.contents.at("cls_token"), specials.contents.at("sep_token"));
    spec.post.trim_offsets = config.boolean("trim_offsets", true);
  }
  spec.added_tokens = std::move(specials.added);
  return spec;
}

TokenizerSpec read_vocab_files(const TokenizerFiles& files) {
  const std::string place = files.place + "/tokenizer_config.json";
  const Json json = files.tokenizer_config
                        ? parse_json(*files.tokenizer_config, kMaxJsonBytes, place)
                        : Json::object();
  const JsonObject config(json, "the document", place);
  if (files.vocab_json && files.merges_txt) return read_bpe_files(files, config);
  if (files.vocab_txt) return read_wordpiece_files(files, config);
  if (files.sentencepiece) return read_sentencepiece_files(files, config);
  if (files.vocab_json || files.merges_txt) {
    throw Error(ErrorCode::kNotFound,
                std::string("no ") + (files.vocab_json ? "merges.txt" : "vocab.json") +
                    ", which belongs to the other of the two; add it or a tokenizer.json",
                files.place);
  }
  throw Error(ErrorCode::kNotFound,
              "no tokenizer: a model directory needs tokenizer.json, or vocab.json and merges.txt, "
              "or vocab.txt, or a SentencePiece model",
              files.place);
}

}  // namespace longformer::text
