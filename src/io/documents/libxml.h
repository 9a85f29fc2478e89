// What the readers of HTML and XML share: a way around libxml2 for exceptions, and a look at tags
// that would take it too long. Internal to this folder.
#pragma once

#include <libxml/parser.h>

#include <cstddef>
#include <exception>
#include <string_view>

namespace longformer::io {

// Once a process, before the first parser.
void start_libxml();

// Small blocks keep the time that the parser spends in one tag, and so in hostile ones, short.
inline constexpr size_t kXmlBlock = 4096;

// Exceptions may not pass through the parser: they wait behind it.
class XmlGuard {
 public:
  template <typename Call>
  void run(xmlParserCtxtPtr context, Call call) noexcept {
    if (failure_) return;
    try {
      call();
    } catch (...) {
      failure_ = std::current_exception();
      xmlStopParser(context);
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
};

// The parser compares each attribute of a tag with all before it, so a tag that it waits for may
// not have too many: to be called after each block. Throws kInvalidFile.
class WaitingTag {
 public:
  void look(const xmlParserCtxt& context);
  void look_at_end(const xmlParserCtxt& context);

 private:
  size_t next_look_ = kXmlBlock;  // waiting bytes
};

inline std::string_view view(const xmlChar* text) noexcept {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

}  // namespace longformer::io
