#include "io/checkpoint/pickle.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/limits.h"
#include "io/checkpoint/pickle_names.h"
#include "io/checkpoint/pickle_ops.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr uint8_t kHighestProtocol = 5;
constexpr size_t kMaxLineBytes = 1024;  // numbers and names that are written as lines
constexpr size_t kMaxOpaqueNames = 10'000;
constexpr uint64_t kMaxValuesPerByte = 8;
constexpr uint64_t kSmallProgram = 4096;

class Machine {
 public:
  Machine(std::string_view program, const std::string& place, size_t origin)
      : program_(program), place_(place), origin_(origin) {
    object_.program = program;
  }

  PickleObject run() {
    for (;;) {
      start_ = next_;
      const auto op = static_cast<Op>(take(1)[0]);
      if (op == Op::kStop) break;
      if (op == Op::kPersId) {
        fail(
            "operation 80 names a storage by a line of text, as pickle protocol 0 does, "
            "which is not read; save it with protocol 2 or a later one");
      }
      if (!(frame(op) || number(op) || text(op) || memory(op) || container(op) || fill(op) ||
            call(op))) {
        fail("operation " + std::to_string(static_cast<int>(op)) +
             " is not one of those that only build data");
      }
    }
    object_.root = pop();
    object_.size = next_;
    return std::move(object_);
  }

 private:
  [[noreturn]] void fail(const std::string& rule) const {
    throw Error(ErrorCode::kInvalidFile, rule,
                place_ + ": byte " + std::to_string(origin_ + start_));
  }

  // --- the program ---

  std::string_view take(uint64_t size) {
    if (size > program_.size() - next_) fail("the pickle ends too early; is the file truncated?");
    const std::string_view bytes = program_.substr(next_, size);
    next_ += size;
    return bytes;
  }

  uint64_t take_unsigned(size_t size) {
    const std::string_view bytes = take(size);
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  }

  std::string_view take_line(size_t limit = kMaxLineBytes) {
    const std::string_view rest = program_.substr(next_, limit + 1);
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) fail("a line does not end");
    next_ += end + 1;
    return rest.substr(0, end);
  }

  // --- the stack ---

  void push(PickleValue value) {
    count(1);
    stack_.push_back(value);
  }

  // Everything that takes memory passes here: values on the stack, in containers and in the memo.
  // An operation is a byte or more and makes a value or two; a program that makes many times more
  // copies the same ones again and again.
  void count(uint64_t values) {
    values_ += values;
    if (values_ > kMaxPickleValues) {
      fail("builds more than " + std::to_string(kMaxPickleValues) + " values");
    }
    if (values_ > kMaxValuesPerByte * program_.size() + kSmallProgram) {
      fail("builds more values than a program of this length can need");
    }
  }

  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  PickleValue pop() {
    if (stack_.size() == floor()) fail("takes a value from an empty stack");
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }

  PickleValue& top() {
    if (stack_.size() == floor()) fail("takes a value from an empty stack");
    return stack_.back();
  }

  // The values above the last mark, which goes too.
  std::vector<PickleValue> pop_to_mark() {
    if (marks_.empty()) fail("takes values down to a mark that is not there");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleValue> values(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return values;
  }

  std::vector<PickleValue> pop_last(size_t count) {
    if (stack_.size() - floor() < count) fail("takes a value from an empty stack");
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<PickleValue> values(first, stack_.end());
    stack_.erase(first, stack_.end());
    return values;
  }

  // --- nodes ---

  static bool has_node(PickleKind kind) {
    return kind == PickleKind::kTuple || kind == PickleKind::kList || kind == PickleKind::kDict ||
           kind == PickleKind::kStorage || kind == PickleKind::kTensor;
  }

  PickleNode& node(const PickleValue& value) {
    return object_.nodes[static_cast<size_t>(value.payload)];
  }

  void add_items(PickleNode& target, const std::vector<PickleValue>& items) {
    count(items.size());
    for (const PickleValue& item : items) {
      if (has_node(item.kind)) target.depth = std::max(target.depth, node(item).depth + 1);
      target.items.push_back(item);
    }
    if (target.depth > kMaxPickleDepth) {
      fail("values are nested deeper than " + std::to_string(kMaxPickleDepth));
    }
  }

  void push_node(PickleKind kind, const std::vector<PickleValue>& items) {
    const auto index = static_cast<int64_t>(object_.nodes.size());
    PickleNode made;
    made.kind = kind;
    made.position = static_cast<uint32_t>(origin_ + start_);
    add_items(made, items);
    object_.nodes.push_back(std::move(made));
    push({kind, 0, index});
  }

  void push_text(PickleKind kind, std::string_view text) {
    if (text.size() > kMaxPickleTextBytes) {
      fail("a string is longer than " + std::to_string(kMaxPickleTextBytes) + " bytes");
    }
    push({kind, static_cast<uint32_t>(text.size()), text.data() - program_.data()});
  }

  void push_opaque(const std::string& name, bool refused) {
    const auto [found, added] = opaque_index_.try_emplace(name, object_.opaque_names.size());
    if (added) {
      if (opaque_index_.size() > kMaxOpaqueNames) {
        fail("names more than " + std::to_string(kMaxOpaqueNames) + " functions");
      }
      object_.opaque_names.push_back(name);
      if (refused) object_.refused.push_back(name);
    }
    push({PickleKind::kOpaque, 0, static_cast<int64_t>(found->second)});
  }

  void push_name(std::string_view module, std::string_view name) {
    if (const auto known = find_pickle_name(module, name)) {
      push({PickleKind::kName, 0, static_cast<int64_t>(*known)});
    } else {
      push_opaque(std::string(module) + " " + std::string(name), true);
    }
  }

  // --- the operations, by what they are about; false: not one of these ---

  bool frame(Op op) {
    switch (op) {
      case Op::kProto:
        if (const uint64_t version = take_unsigned(1); version > kHighestProtocol) {
          fail("pickle protocol " + std::to_string(version) + " is not known");
        }
        return true;
      case Op::kFrame:
        take_unsigned(8);  // only a hint for readers of streams
        return true;
      case Op::kMark:
        if (marks_.size() >= kMaxPickleDepth) {
          fail("more than " + std::to_string(kMaxPickleDepth) + " marks are open");
        }
        marks_.push_back(stack_.size());
        return true;
      case Op::kPop:
        if (!marks_.empty() && stack_.size() == floor()) {
          marks_.pop_back();
        } else {
          pop();
        }
        return true;
      case Op::kPopMark:
        pop_to_mark();
        return true;
      case Op::kDup:
        push(top());
        return true;
      default:
        return false;
    }
  }

  bool number(Op op) {
    switch (op) {
      case Op::kNone:
        push({PickleKind::kNone, 0, 0});
        return true;
      case Op::kNewTrue:
      case Op::kNewFalse:
        push({PickleKind::kBool, 0, op == Op::kNewTrue});
        return true;
      case Op::kBinInt:
        push({PickleKind::kInteger, 0, static_cast<int32_t>(take_unsigned(4))});
        return true;
      case Op::kBinInt1:
        push({PickleKind::kInteger, 0, static_cast<int64_t>(take_unsigned(1))});
        return true;
      case Op::kBinInt2:
        push({PickleKind::kInteger, 0, static_cast<int64_t>(take_unsigned(2))});
        return true;
      case Op::kLong1:
        push(from_little_endian(take(take_unsigned(1))));
        return true;
      case Op::kInt:
      case Op::kLong:
        push(from_decimal(take_line()));
        return true;
      case Op::kBinFloat:
        take(8);
        push({PickleKind::kNumber, 0, 0});
        return true;
      default:
        return false;
    }
  }

  static PickleValue from_little_endian(std::string_view bytes) {
    if (bytes.size() > 8) return {PickleKind::kNumber, 0, 0};
    uint64_t value = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return {PickleKind::kInteger, 0, static_cast<int64_t>(value)};
  }

  PickleValue from_decimal(std::string_view line) const {
    if (line == "00" || line == "01") return {PickleKind::kBool, 0, line == "01"};
    if (line.ends_with('L')) line.remove_suffix(1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error == std::errc::result_out_of_range) return {PickleKind::kNumber, 0, 0};
    if (error != std::errc() || end != line.data() + line.size()) fail("a number is malformed");
    return {PickleKind::kInteger, 0, value};
  }

  bool text(Op op) {
    switch (op) {
      case Op::kBinUnicode:
        push_text(PickleKind::kText, take(take_unsigned(4)));
        return true;
      case Op::kShortBinUnicode:
        push_text(PickleKind::kText, take(take_unsigned(1)));
        return true;
      case Op::kUnicode:
        push_line_text();
        return true;
      case Op::kBinString:  // str of Python 2, which wrote the first checkpoints
        push_text(PickleKind::kText, take(take_unsigned(4)));
        return true;
      case Op::kShortBinString:
        push_text(PickleKind::kText, take(take_unsigned(1)));
        return true;
      case Op::kBinBytes:
        push_text(PickleKind::kBytes, take(take_unsigned(4)));
        return true;
      case Op::kShortBinBytes:
        push_text(PickleKind::kBytes, take(take_unsigned(1)));
        return true;
      default:
        return false;
    }
  }

  void push_line_text() {
    const std::string_view line = take_line(kMaxPickleTextBytes);
    // Escapes would need a copy; nobody names a weight with one.
    if (line.find('\\') != std::string_view::npos) {
      push_opaque("an escaped string", false);
    } else {
      push_text(PickleKind::kText, line);
    }
  }

  bool memory(Op op) {
    switch (op) {
      case Op::kPut:
        put(static_cast<uint64_t>(line_index()));
        return true;
      case Op::kBinPut:
        put(take_unsigned(1));
        return true;
      case Op::kLongBinPut:
        put(take_unsigned(4));
        return true;
      case Op::kMemoize:
        put(memo_.size());
        return true;
      case Op::kGet:
        get(static_cast<uint64_t>(line_index()));
        return true;
      case Op::kBinGet:
        get(take_unsigned(1));
        return true;
      case Op::kLongBinGet:
        get(take_unsigned(4));
        return true;
      default:
        return false;
    }
  }

  int64_t line_index() {
    const PickleValue value = from_decimal(take_line());
    if (value.kind != PickleKind::kInteger && value.kind != PickleKind::kBool) {
      fail("a memo number is malformed");
    }
    if (value.payload < 0) fail("a memo number is negative");
    return value.payload;
  }

  // Writers number the memo from 0 up, and each entry takes two bytes of program or more (one with
  // MEMOIZE, which takes the next number).
  void put(uint64_t index) {
    if (index > memo_.size() && index > next_ / 2 + 256) {
      fail("memo number " + std::to_string(index) + " is too large for a program of this length");
    }
    const PickleValue value = top();
    if (index >= memo_.size()) {
      count(index + 1 - memo_.size());
      memo_.resize(index + 1, kNoValue);
    }
    memo_[index] = value;
  }

  void get(uint64_t index) {
    if (index >= memo_.size() || memo_[index].size == kNoValue.size) {
      fail("memo number " + std::to_string(index) + " has not been set");
    }
    push(memo_[index]);
  }

  bool container(Op op) {
    switch (op) {
      case Op::kEmptyTuple:
        push_node(PickleKind::kTuple, {});
        return true;
      case Op::kTuple1:
      case Op::kTuple2:
      case Op::kTuple3:
        push_node(PickleKind::kTuple,
                  pop_last(static_cast<size_t>(op) - static_cast<size_t>(Op::kTuple1) + 1));
        return true;
      case Op::kTuple:
        push_node(PickleKind::kTuple, pop_to_mark());
        return true;
      case Op::kEmptyList:
        push_node(PickleKind::kList, {});
        return true;
      case Op::kList:
        push_node(PickleKind::kList, pop_to_mark());
        return true;
      case Op::kEmptyDict:
        push_node(PickleKind::kDict, {});
        return true;
      case Op::kDict:
        push_node(PickleKind::kDict, pairs(pop_to_mark()));
        return true;
      case Op::kEmptySet:
        push_opaque("a set", false);
        return true;
      default:
        return false;
    }
  }

  std::vector<PickleValue> pairs(std::vector<PickleValue> items) const {
    if (items.size() % 2 != 0) fail("a dictionary gets a key without a value");
    return items;
  }

  // What is put into an opaque value is dropped: nothing can ask for it.
  bool fill(Op op) {
    switch (op) {
      case Op::kAppend:
        add_to(PickleKind::kList, pop_last(1));
        return true;
      case Op::kAppends:
        add_to(PickleKind::kList, pop_to_mark());
        return true;
      case Op::kSetItem:
        add_to(PickleKind::kDict, pop_last(2));
        return true;
      case Op::kSetItems:
        add_to(PickleKind::kDict, pairs(pop_to_mark()));
        return true;
      case Op::kAddItems:
        pop_to_mark();
        if (top().kind != PickleKind::kOpaque) fail("adds to a set that is none");
        return true;
      default:
        return false;
    }
  }

  void add_to(PickleKind kind, const std::vector<PickleValue>& items) {
    const PickleValue target = top();
    if (target.kind == PickleKind::kOpaque) return;
    if (target.kind != kind) {
      fail(kind == PickleKind::kList ? "appends to what is no list"
                                     : "sets an item of what is no dictionary");
    }
    add_items(node(target), items);
  }

  bool call(Op op) {
    switch (op) {
      case Op::kGlobal: {
        const std::string_view module = take_line();
        push_name(module, take_line());
        return true;
      }
      case Op::kStackGlobal: {
        const PickleValue name = pop();
        const PickleValue module = pop();
        if (name.kind != PickleKind::kText || module.kind != PickleKind::kText ||
            name.size > kMaxLineBytes || module.size > kMaxLineBytes) {
          fail("a name is not made of two short strings");
        }
        push_name(object_.text(module), object_.text(name));
        return true;
      }
      case Op::kBinPersId:
        persistent(pop());
        return true;
      case Op::kReduce: {
        const PickleValue arguments = pop();
        reduce(pop(), arguments);
        return true;
      }
      case Op::kNewObj: {
        pop();
        const PickleValue type = pop();
        push_opaque(name_of(type), false);
        return true;
      }
      case Op::kBuild:
        pop();  // the version marks of a state dict, or attributes of an opaque object
        check_has_state(top().kind);
        return true;
      default:
        return false;
    }
  }

  std::string name_of(const PickleValue& value) const {
    if (value.kind == PickleKind::kOpaque) return object_.opaque_name(value);
    if (value.kind == PickleKind::kName) return pickle_name_text(value.payload);
    fail("calls what is no name of a function or class");
  }

  void persistent(const PickleValue& id) {
    const bool storage = id.kind == PickleKind::kTuple && !node(id).items.empty() &&
                         node(id).items[0].kind == PickleKind::kText &&
                         object_.text(node(id).items[0]) == "storage";
    if (!storage) fail("refers to something outside that is no storage of a tensor");
    const std::vector<PickleValue> items = node(id).items;
    push_node(PickleKind::kStorage, items);
  }

  void reduce(const PickleValue& function, const PickleValue& arguments) {
    if (arguments.kind != PickleKind::kTuple) fail("calls a name without a tuple of arguments");
    const std::string name = name_of(function);
    const std::vector<PickleValue> items = node(arguments).items;
    const PickleRole role = function.kind == PickleKind::kName ? pickle_name_role(function.payload)
                                                               : PickleRole::kOther;
    switch (role) {
      case PickleRole::kDict:
        return push_node(PickleKind::kDict, dict_arguments(items));
      case PickleRole::kTensor:
        return push_node(PickleKind::kTensor, items);
      case PickleRole::kParameter:  // a tensor with a flag and hooks
      case PickleRole::kSize:       // a tuple of another name
        if (!items.empty()) return push(items[0]);
        fail("calls " + name + " without an argument");
      default:
        return push_opaque(name, false);
    }
  }

  // Python 2 writes OrderedDict([[key, value], …]).
  std::vector<PickleValue> dict_arguments(const std::vector<PickleValue>& arguments) {
    if (arguments.empty()) return {};
    if (arguments.size() != 1 || arguments[0].kind != PickleKind::kList) {
      fail("makes a dictionary from something other than a list of pairs");
    }
    std::vector<PickleValue> items;
    for (const PickleValue& pair : node(arguments[0]).items) {
      if ((pair.kind != PickleKind::kList && pair.kind != PickleKind::kTuple) ||
          node(pair).items.size() != 2) {
        fail("makes a dictionary from something other than a list of pairs");
      }
      items.insert(items.end(), node(pair).items.begin(), node(pair).items.end());
    }
    return items;
  }

  void check_has_state(PickleKind kind) const {
    if (kind != PickleKind::kDict && kind != PickleKind::kOpaque && kind != PickleKind::kTensor) {
      fail("sets the state of a value that has none");
    }
  }

  static constexpr PickleValue kNoValue = {PickleKind::kNone, 0xFFFFFFFF, 0};

  std::string_view program_;
  const std::string& place_;
  size_t origin_;
  size_t next_ = 0;
  size_t start_ = 0;  // of the operation at hand
  uint64_t values_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::vector<PickleValue> memo_;
  std::map<std::string, size_t> opaque_index_;
  PickleObject object_;
};

}  // namespace

PickleObject read_pickle(std::string_view program, const std::string& place, size_t origin) {
  return Machine(program.substr(0, kMaxPickleBytes), place, origin).run();
}

}  // namespace longformer::io
