#include "io/documents/libxml.h"

#include <mutex>
#include <string>

#include "base/limits.h"
#include "io/documents/html_elements.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

std::string_view waiting_bytes(const xmlParserCtxt& context) noexcept {
  const xmlParserInput* const input = context.input;
  if (input == nullptr || input->cur == nullptr || input->end < input->cur) return {};
  return {reinterpret_cast<const char*>(input->cur), static_cast<size_t>(input->end - input->cur)};
}

// Not a comment or a script that begins with one: those may be long.
bool begins_with_tag(std::string_view bytes) noexcept {
  if (bytes.size() < 2 || bytes[0] != '<') return false;
  const auto c = static_cast<unsigned char>(bytes[1]);
  const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
  return letter || c == '_' || c == ':' || c >= 0x80;
}

void check(std::string_view bytes) {
  if (!begins_with_tag(bytes) || count_attributes(bytes) <= kMaxTagAttributes) return;
  throw Error(ErrorCode::kInvalidFile,
              "more than " + std::to_string(kMaxTagAttributes) + " attributes in one element");
}

}  // namespace

void start_libxml() {
  static std::once_flag once;
  std::call_once(once, xmlInitParser);
}

void WaitingTag::look(const xmlParserCtxt& context) {
  const std::string_view bytes = waiting_bytes(context);
  if (bytes.size() < kXmlBlock) next_look_ = kXmlBlock;
  if (bytes.size() < next_look_) return;
  check(bytes);
  next_look_ = 2 * bytes.size();  // a long one is looked at few times
}

void WaitingTag::look_at_end(const xmlParserCtxt& context) { check(waiting_bytes(context)); }

}  // namespace longformer::io
