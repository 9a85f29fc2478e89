// XML as a stream of events, for what may be hostile: no document type, no entities but the five of
// XML, nothing from outside, limited depth and attributes. Internal to this folder.
#pragma once

#include <functional>
#include <string_view>

#include "io/documents/byte_source.h"

namespace longformer::io {

struct XmlTag {
  std::string_view name;  // without its prefix
  // Of the attribute with this name, whatever its prefix; empty where there is none. As it stands
  // in the file's memory: valid until the event ends.
  std::string_view operator[](std::string_view attribute) const noexcept;

  const unsigned char** attributes = nullptr;  // five pointers each, as the parser gives them
  int count = 0;
};

struct XmlEvents {
  std::function<void(const XmlTag&)> begin;
  std::function<void(std::string_view name)> end;
  std::function<void(std::string_view)> text;
};

// Reads the source to its end. Throws kInvalidFile with a short reason, and what the events throw.
void parse_xml(const ByteSource& source, const XmlEvents& events);

}  // namespace longformer::io
