// Which tensor of a checkpoint serves which tensor of a model.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

#include "io/checkpoint/checkpoint.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

// Around the whole model: data-parallel training, trainers that keep it as a member, and both.
constexpr std::array<std::string_view, 5> kWrappers = {"", "module.", "model.", "module.model.",
                                                       "model.module."};

// Buffers that old files carry and no model needs.
constexpr std::array<std::string_view, 5> kBuffers = {
    "position_ids", "token_type_ids", "relative_position_index", "attn_mask", "pos_emb.inv_freq"};

// Files that keep one of two tied tensors may have kept the head's: model tensor, head tensor.
constexpr std::pair<std::string_view, std::string_view> kTies[] = {
    {"embeddings.word_embeddings.weight", "lm_head.decoder.weight"},
    {"embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},
    {"embeddings.tok_embeddings.weight", "decoder.weight"},
};

constexpr size_t kNamesInMessage = 8;

bool is_buffer(std::string_view name) {
  return std::any_of(kBuffers.begin(), kBuffers.end(), [name](std::string_view buffer) {
    if (!name.ends_with(buffer)) return false;
    return name.size() == buffer.size() || name[name.size() - buffer.size() - 1] == '.';
  });
}

// "….LayerNorm.gamma" -> "….LayerNorm.weight", beta -> bias: the names of the first BERT files.
std::string modern_name(std::string_view name) {
  const auto replace = [&](std::string_view old, std::string_view now) -> std::string {
    const std::string_view stem = name.substr(0, name.size() - old.size());
    return std::string(stem) + std::string(now);
  };
  for (const auto& [old, now] :
       {std::pair<std::string_view, std::string_view>{"gamma", "weight"}, {"beta", "bias"}}) {
    const std::string ending = "LayerNorm." + std::string(old);
    if (!name.ends_with(ending)) continue;
    if (name.size() == ending.size() || name[name.size() - ending.size() - 1] == '.') {
      return replace(old, now);
    }
  }
  return std::string(name);
}

// "layer.2" before "layer.10".
bool natural_less(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      size_t end_a = i, end_b = j;
      while (end_a < a.size() && digit(a[end_a])) ++end_a;
      while (end_b < b.size() && digit(b[end_b])) ++end_b;
      if (end_a - i != end_b - j) return end_a - i < end_b - j;
      if (const int order = a.compare(i, end_a - i, b, j, end_b - j); order != 0) return order < 0;
      i = end_a, j = end_b;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

std::string join_some(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kNamesInMessage; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kNamesInMessage) {
    text += " and " + std::to_string(names.size() - kNamesInMessage) + " more";
  }
  return text;
}

class Resolver {
 public:
  Resolver(const Checkpoint& checkpoint, const std::vector<ExpectedTensor>& expected,
           const std::vector<std::string>& base_prefixes)
      : checkpoint_(checkpoint), expected_(expected), sources_(expected.size()) {
    for (size_t i = 0; i < expected.size(); ++i) index_.emplace(expected[i].name, i);
    prefixes_.emplace_back();
    for (const std::string& prefix : base_prefixes) {
      if (!prefix.empty()) prefixes_.push_back(prefix.back() == '.' ? prefix : prefix + ".");
    }
  }

  Resolution resolve() {
    for (const std::string& name : checkpoint_.names()) place(name);
    serve_ties();
    for (size_t i = 0; i < expected_.size(); ++i) finish(i);
    if (!absent_.empty()) throw_absent();
    std::sort(result_.report.unexpected.begin(), result_.report.unexpected.end(), natural_less);
    return std::move(result_);
  }

 private:
  // The expected tensor that `name` is, with as little stripped as possible.
  const size_t* match(std::string_view name) const {
    for (const std::string_view wrapper : kWrappers) {
      if (!name.starts_with(wrapper)) continue;
      for (const std::string& prefix : prefixes_) {
        const std::string_view rest = name.substr(wrapper.size());
        if (!rest.starts_with(prefix)) continue;
        const auto found = index_.find(modern_name(rest.substr(prefix.size())));
        if (found != index_.end()) return &found->second;
      }
    }
    return nullptr;
  }

  void place(const std::string& name) {
    const size_t* const target = match(name);
    if (target == nullptr) {
      if (!is_buffer(name)) result_.report.unexpected.push_back(name);
      return;
    }
    std::string& source = sources_[*target];
    if (!source.empty()) {
      throw Error(ErrorCode::kInvalidFile,
                  "both " + source + " and " + name + " would be " + expected_[*target].name +
                      "; remove one of them",
                  checkpoint_.directory().string());
    }
    source = name;
  }

  void serve_ties() {
    for (const auto& [name, head] : kTies) {
      const auto wanted = index_.find(std::string(name));
      if (wanted == index_.end() || !sources_[wanted->second].empty()) continue;
      const std::string source = take_head(head);
      if (source.empty()) continue;
      sources_[wanted->second] = source;
      tied_.insert(wanted->second);
    }
  }

  // The checkpoint's name of a head's tensor, whether the model has that head or not.
  std::string take_head(std::string_view head) {
    if (const auto known = index_.find(std::string(head)); known != index_.end()) {
      return sources_[known->second];
    }
    std::vector<std::string>& unexpected = result_.report.unexpected;
    const auto found = std::find_if(unexpected.begin(), unexpected.end(), [&](const auto& have) {
      return std::any_of(kWrappers.begin(), kWrappers.end(), [&](std::string_view wrapper) {
        return have.starts_with(wrapper) && have.substr(wrapper.size()) == head;
      });
    });
    if (found == unexpected.end()) return {};
    std::string source = std::move(*found);
    unexpected.erase(found);
    return source;
  }

  void finish(size_t i) {
    const ExpectedTensor& wanted = expected_[i];
    std::string source = sources_[i];
    if (tied_.contains(i)) {
      result_.report.converted.push_back(source + " -> " + wanted.name);
    } else if (!source.empty()) {
      result_.report.loaded.push_back(wanted.name);
      if (modern_name(source) != source) {
        result_.report.converted.push_back(source + " -> " + wanted.name);
      }
    } else if (const auto other = index_.find(wanted.fallback); !wanted.fallback.empty() &&
                                                                other != index_.end() &&
                                                                !sources_[other->second].empty()) {
      source = sources_[other->second];
      result_.report.converted.push_back(wanted.fallback + " -> " + wanted.name);
    } else {
      (wanted.optional ? result_.report.missing : absent_).push_back(wanted.name);
    }
    if (!source.empty()) check_shape(wanted, source);
    result_.tensors.push_back({wanted.name, std::move(source)});
  }

  void check_shape(const ExpectedTensor& wanted, const std::string& source) const {
    const Shape& shape = checkpoint_.shape(source);
    if (shape == wanted.shape) return;
    throw Error(ErrorCode::kInvalidFile,
                "tensor " + source + " has shape " + to_string(shape) +
                    "; the configuration asks for " + to_string(wanted.shape),
                checkpoint_.directory().string());
  }

  [[noreturn]] void throw_absent() const {
    std::string message;
    if (result_.report.loaded.empty()) {
      message = "none of the model's " + std::to_string(expected_.size()) +
                " tensors is in the checkpoint, which begins with " +
                (checkpoint_.names().empty() ? "nothing (it is empty)" : checkpoint_.names()[0]) +
                "; is it a model of another kind? Missing: ";
    } else {
      message = "the checkpoint lacks " + std::to_string(absent_.size()) + " of the model's " +
                std::to_string(expected_.size()) + " tensors: ";
    }
    message += join_some(absent_) + " (also looked for with the prefixes module. and model.";
    for (const std::string& prefix : prefixes_) {
      if (!prefix.empty()) message += ", " + prefix;
    }
    throw Error(ErrorCode::kInvalidFile, message + ")", checkpoint_.directory().string());
  }

  const Checkpoint& checkpoint_;
  const std::vector<ExpectedTensor>& expected_;
  std::vector<std::string> sources_;  // checkpoint name, an expected tensor each; empty: none
  std::map<std::string, size_t> index_;
  std::set<size_t> tied_;              // expected tensors that a head's tensor serves
  std::vector<std::string> prefixes_;  // the first is empty
  std::vector<std::string> absent_;
  Resolution result_;
};

}  // namespace

Resolution resolve_names(const Checkpoint& checkpoint, const std::vector<ExpectedTensor>& expected,
                         const std::vector<std::string>& base_prefixes) {
  return Resolver(checkpoint, expected, base_prefixes).resolve();
}

}  // namespace longformer::io
