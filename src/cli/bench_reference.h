// The program that measures the Python reference: bench_reference.py, a part of this binary.
#pragma once

#include <string_view>

namespace longformer::cli {

std::string_view bench_reference_source();

}  // namespace longformer::cli
