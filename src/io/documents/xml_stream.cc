#include "io/documents/xml_stream.h"

#include <libxml/parser.h>

#include <memory>
#include <string>

#include "base/limits.h"
#include "io/documents/libxml.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

class Parser {
 public:
  explicit Parser(const XmlEvents& events) : events_(events) {
    start_libxml();
    xmlSAXHandler handler{};  // without a place for messages: none are printed
    handler.initialized = XML_SAX2_MAGIC;
    handler.startElementNs = on_begin;
    handler.endElementNs = on_end;
    handler.characters = on_text;
    handler.ignorableWhitespace = on_text;
    handler.cdataBlock = on_text;
    handler.internalSubset = on_document_type;
    context_.reset(xmlCreatePushParserCtxt(&handler, this, nullptr, 0, nullptr));
    if (!context_) throw Error(ErrorCode::kInternal, "libxml2 cannot be started");
    xmlCtxtUseOptions(context_.get(), XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                                          XML_PARSE_IGNORE_ENC);
  }

  void parse(const ByteSource& source) {
    std::string block(kXmlBlock, '\0');
    WaitingTag waiting;
    for (size_t got = kXmlBlock; got == kXmlBlock;) {
      got = source(block.data(), kXmlBlock);
      xmlParseChunk(context_.get(), block.data(), static_cast<int>(got), 0);
      guard_.rethrow();
      if (context_->disableSAX != 0) break;
      waiting.look(*context_);
    }
    waiting.look_at_end(*context_);
    xmlParseChunk(context_.get(), nullptr, 0, 1);
    guard_.rethrow();
    if (context_->wellFormed == 0) throw Error(ErrorCode::kInvalidFile, "damaged XML in it");
  }

 private:
  template <typename Call>
  static void guard(void* self, Call call) noexcept {
    auto& parser = *static_cast<Parser*>(self);
    parser.guard_.run(parser.context_.get(), [&] { call(parser); });
  }

  static void on_begin(void* self, const xmlChar* name, const xmlChar*, const xmlChar*, int,
                       const xmlChar**, int count, int, const xmlChar** attributes) {
    guard(self, [&](Parser& parser) {
      if (++parser.depth_ > kMaxMarkupDepth) {
        throw Error(ErrorCode::kInvalidFile, "XML with more than " +
                                                 std::to_string(kMaxMarkupDepth) +
                                                 " elements inside each other");
      }
      XmlTag tag;
      tag.name = view(name);
      tag.attributes = attributes;
      tag.count = count;
      if (parser.events_.begin) parser.events_.begin(tag);
    });
  }
  static void on_end(void* self, const xmlChar* name, const xmlChar*, const xmlChar*) {
    guard(self, [&](Parser& parser) {
      --parser.depth_;
      if (parser.events_.end) parser.events_.end(view(name));
    });
  }
  static void on_text(void* self, const xmlChar* text, int size) {
    guard(self, [&](Parser& parser) {
      if (!parser.events_.text) return;
      parser.events_.text({reinterpret_cast<const char*>(text), static_cast<size_t>(size)});
    });
  }
  // Called before anything that the declaration defines.
  static void on_document_type(void* self, const xmlChar*, const xmlChar*, const xmlChar*) {
    guard(self, [](Parser&) {
      throw Error(ErrorCode::kInvalidFile, "XML with a document type, which is not read");
    });
  }

  struct Free {
    void operator()(xmlParserCtxtPtr context) const noexcept {
      if (context->myDoc != nullptr) xmlFreeDoc(context->myDoc);
      xmlFreeParserCtxt(context);
    }
  };
  const XmlEvents& events_;
  XmlGuard guard_;
  size_t depth_ = 0;
  std::unique_ptr<xmlParserCtxt, Free> context_;
};

}  // namespace

std::string_view XmlTag::operator[](std::string_view attribute) const noexcept {
  for (int i = 0; i < count; ++i) {
    const unsigned char** const five = attributes + 5 * i;
    if (view(five[0]) != attribute) continue;
    return {reinterpret_cast<const char*>(five[3]), static_cast<size_t>(five[4] - five[3])};
  }
  return {};
}

void parse_xml(const ByteSource& source, const XmlEvents& events) { Parser(events).parse(source); }

}  // namespace longformer::io
