// Which implementation computes a row must not depend on how many rows there are, or its bits
// would. Measured with oneDNN 2.6.3 on all row counts from 1 to 160
// (tests/kernels/gemm_rows_test.cc repeats it):
//   brg*      (AVX-512; f32, bf16, int8): a row has the same bits whatever m is. Rows run as they
//             come, unless the library takes another brg* for few rows than for many. A first
//             operand that is transposed is copied block by block, at nine tenths of the speed, and
//             an element's bits do not depend on n either.
//   gemm:jit  (SSE4.1 to AVX2, f32): different bits for m = 1 to 3 and, on AVX2, for some of the
//             larger m, depending on the position too; blocks of exactly 16 and of exactly 48 rows
//             agree bit by bit at all positions.
//   others    (ref, other processors): nothing is known, so one row at a time.
#include "kernels/products.h"

#include <omp.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>

#include "base/profile.h"
#include "kernels/isa.h"

namespace longformer::kernels {
namespace {

using dnnl::memory;

constexpr int64_t kReferenceRows = 128;
constexpr int64_t kJitLargeBlock = 48;
constexpr int64_t kJitSmallBlock = 16;

struct Types {
  memory::data_type source, weights, destination;
};

Types types_of(DType type) {
  using Type = memory::data_type;
  switch (type) {
    case DType::kF32:
      return {Type::f32, Type::f32, Type::f32};
    case DType::kBF16:
      return {Type::bf16, Type::bf16, Type::f32};
    case DType::kI8:
      return {Type::u8, Type::s8, Type::s32};
    default:
      throw Error(ErrorCode::kInternal, "no matrix products have weights of type " +
                                            std::string(dtype_name(type)) +
                                            "; F32, BF16 and I8 have");
  }
}

memory::desc dense(int64_t rows, int64_t cols, memory::data_type type) {
  return memory::desc({rows, cols}, type, memory::dims{cols, 1});
}

memory::desc weight_desc(const ProductKey& key) {
  const memory::data_type type = types_of(key.type).weights;
  switch (key.form) {
    case Form::kLinear:
      return memory::desc({key.k, key.n}, type, memory::format_tag::any);
    case Form::kTransposed:
      return memory::desc({key.k, key.n}, type, memory::dims{1, key.k});
    case Form::kPlain:
    case Form::kPlainAdd:
    case Form::kOuter:
    case Form::kOuterAdd:
      break;
  }
  return dense(key.k, key.n, type);
}

memory::desc source_desc(const ProductKey& key) {
  const memory::data_type type = types_of(key.type).source;
  const bool outer = key.form == Form::kOuter || key.form == Form::kOuterAdd;
  return outer ? memory::desc({key.m, key.k}, type, memory::dims{1, key.m})
               : dense(key.m, key.k, type);
}

dnnl::matmul::primitive_desc describe(const ProductKey& key, const memory::desc& weights) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // The library's environment variables could otherwise let it round f32 operands to bf16.
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  if (key.form == Form::kPlainAdd || key.form == Form::kOuterAdd) {
    dnnl::post_ops add;
    add.append_sum(1.0f);
    attributes.set_post_ops(add);
  }
  return onednn::make_matmul(cpu_engine(), source_desc(key), weights,
                             dense(key.m, key.n, types_of(key.type).destination), attributes);
}

// The few names that there are, for good: a Product may be dropped before its profile is read.
const char* kept_name(const std::string& name) {
  static std::set<std::string> names;
  return names.insert(name).first->c_str();
}

std::shared_ptr<const Product> make_product(const ProductKey& key) {
  ProductKey reference_key = key;
  reference_key.m = kReferenceRows;
  const auto reference = describe(reference_key, weight_desc(key));
  const std::string reference_name = reference.impl_info_str();
  auto wanted = describe(key, weight_desc(key));
  // Packed weights have the reference's layout. Where another m prefers another one, it gets what
  // there is.
  const bool same_layout = wanted.weights_desc() == reference.weights_desc();
  if (!same_layout) wanted = describe(key, reference.weights_desc());

  auto product = std::make_shared<Product>();
  const std::string name = wanted.impl_info_str();
  product->implementation = kept_name(name);
  product->weight_layout = onednn::Layout(wanted.weights_desc());
  if (onednn::is_brgemm(reference_name)) {
    // Sums of integers are exact in any order.
    product->any_rows = same_layout && (name == reference_name ||
                                        (key.type == DType::kI8 && onednn::is_brgemm(name)));
    product->large_block = product->small_block = kReferenceRows;
  } else if (onednn::is_jit_gemm(reference_name) && key.type == DType::kF32) {
    product->large_block = kJitLargeBlock;
    product->small_block = kJitSmallBlock;
  } else {
    product->large_block = product->small_block = 1;
  }
  if (!product->any_rows && key.m != product->large_block && key.m != product->small_block) {
    return product;
  }
  product->primitive = dnnl::matmul(wanted);
  product->source = wanted.src_desc();
  product->weights = wanted.weights_desc();
  product->destination = wanted.dst_desc();
  product->scratchpad = wanted.scratchpad_desc();
  return product;
}

struct SharedCache {
  std::mutex mutex;
  std::unordered_map<ProductKey, std::shared_ptr<const Product>, ProductKeyHash> products;
  std::atomic<uint64_t> generation{
      0};  // grows when products are dropped, so that threads drop theirs
};

SharedCache& shared_cache() {
  static SharedCache cache;
  return cache;
}

std::shared_ptr<const Product> look_up(SharedCache& cache, const ProductKey& key) {
  const std::lock_guard lock(cache.mutex);
  const auto found = cache.products.find(key);
  return found == cache.products.end() ? nullptr : found->second;
}

BoundProduct bind(std::shared_ptr<const Product> product) {
  BoundProduct bound;
  bound.product = std::move(product);
  const Product& p = *bound.product;
  if (!p.primitive) return bound;
  const dnnl::engine& engine = cpu_engine();
  bound.source = memory(p.source, engine, DNNL_MEMORY_NONE);
  bound.destination = memory(p.destination, engine, DNNL_MEMORY_NONE);
  bound.weights = memory(p.weights, engine, DNNL_MEMORY_NONE);
  bound.arguments[0] = {DNNL_ARG_SRC, bound.source.get()};
  bound.arguments[1] = {DNNL_ARG_WEIGHTS, bound.weights.get()};
  bound.arguments[2] = {DNNL_ARG_DST, bound.destination.get()};
  bound.argument_count = 3;
  bound.scratch_bytes = p.scratchpad.get_size();
  if (bound.scratch_bytes > 0) {
    bound.scratchpad = memory(p.scratchpad, engine, DNNL_MEMORY_NONE);
    bound.arguments[3] = {DNNL_ARG_SCRATCHPAD, bound.scratchpad.get()};
    bound.argument_count = 4;
  }
  return bound;
}

void point(const memory& object, const void* data) {
  // The library takes mutable pointers for operands that it only reads.
  onednn::check(dnnl_memory_set_data_handle(object.get(), const_cast<void*>(data)),
                "binding an operand");
}

}  // namespace

const char* type_name(DType weight_type) noexcept {
  if (weight_type == DType::kI8) return "int8";
  return weight_type == DType::kBF16 ? "bf16" : "f32";
}

size_t ProductKeyHash::operator()(const ProductKey& key) const noexcept {
  uint64_t hash = static_cast<uint64_t>(key.form) * 64 + static_cast<uint64_t>(key.type);
  for (const int64_t size : {key.m, key.n, key.k}) {
    hash = (hash ^ static_cast<uint64_t>(size)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

void Scratch::Free::operator()(void* pointer) const noexcept { std::free(pointer); }

void* Scratch::reserve(size_t bytes) {
  if (bytes > size_) {
    const size_t rounded = (bytes + 4095) / 4096 * 4096;
    memory_.reset();
    size_ = 0;
    memory_.reset(std::aligned_alloc(64, rounded));
    if (!memory_) throw std::bad_alloc();
    size_ = rounded;
  }
  return memory_.get();
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::unique_lock<std::mutex> lock_creation() {
  static std::mutex mutex;
  return std::unique_lock(mutex);
}

memory::desc linear_weight_layout(DType type, int64_t out_features, int64_t in_features) {
  ThreadState::current();  // sets what the library's choice depends on
  const auto making = lock_creation();
  const ProductKey key{Form::kLinear, type, kReferenceRows, out_features, in_features};
  return onednn::guarded("choosing a weight layout",
                         [&] { return describe(key, weight_desc(key)).weights_desc(); });
}

std::shared_ptr<const Product> find_product(const ProductKey& key) {
  SharedCache& cache = shared_cache();
  if (auto found = look_up(cache, key)) return found;
  // Threads that want the same new shape at the same moment wait for one to make it; others look up
  // meanwhile.
  const auto making = lock_creation();
  if (auto found = look_up(cache, key)) return found;
  const ProfileScope scope({"prepare a product"});
  auto made = onednn::guarded("creating a matrix product", [&] { return make_product(key); });
  const std::lock_guard lock(cache.mutex);
  if (cache.products.size() >= kMaxCachedProducts) {
    cache.products.clear();
    cache.generation.fetch_add(1, std::memory_order_release);
  }
  return cache.products.emplace(key, std::move(made)).first->second;
}

size_t cached_products() {
  SharedCache& cache = shared_cache();
  const std::lock_guard lock(cache.mutex);
  return cache.products.size();
}

ThreadState::ThreadState() {
  apply_isa_limit_from_environment();
  omp_set_num_threads(1);
  stream_ = onednn::guarded("creating a stream", [] { return dnnl::stream(cpu_engine()); });
}

ThreadState& ThreadState::current() {
  static thread_local ThreadState state;
  return state;
}

BoundProduct& ThreadState::find(const ProductKey& key) {
  const uint64_t generation = shared_cache().generation.load(std::memory_order_acquire);
  if (generation != generation_) {
    bound_.clear();
    generation_ = generation;
  }
  const auto found = bound_.find(key);
  if (found != bound_.end()) return found->second;
  auto made = onednn::guarded("binding a matrix product", [&] { return bind(find_product(key)); });
  return bound_.emplace(key, std::move(made)).first->second;
}

void ThreadState::execute(BoundProduct& bound, const void* source, const void* weights,
                          void* destination) {
  point(bound.source, source);
  point(bound.weights, weights);
  point(bound.destination, destination);
  if (bound.scratch_bytes > 0) {
    const void* scratch = scratch_.reserve(bound.scratch_bytes);
    if (scratch != bound.scratch) {
      point(bound.scratchpad, scratch);
      bound.scratch = scratch;
    }
  }
  onednn::check(dnnl_primitive_execute(bound.product->primitive.get(), stream_.get(),
                                       bound.argument_count, bound.arguments.data()),
                "computing a matrix product");
  onednn::check(dnnl_stream_wait(stream_.get()), "computing a matrix product");
}

}  // namespace longformer::kernels
