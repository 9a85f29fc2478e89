// The page of `attend`: attend_page.html and attend_page.js, parts of this binary.
#pragma once

#include <string_view>

namespace longformer::cli {

std::string_view attend_page_html();
std::string_view attend_page_script();

}  // namespace longformer::cli
