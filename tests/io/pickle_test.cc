#include "io/checkpoint/pickle.h"

#include <chrono>

#include "base/limits.h"
#include "io/testing.h"
#include "io/torch_files.h"

namespace longformer::io {
namespace {

PickleObject read(const std::string& program) { return read_pickle(program, "data.pkl"); }

void expect_refused(const std::string& program, const std::vector<std::string>& parts) {
  std::vector<std::string> with_file = parts;
  with_file.emplace_back("data.pkl: byte ");
  const auto start = std::chrono::steady_clock::now();
  expect_error(ErrorCode::kInvalidFile, with_file, [&] { read(program); });
  // 100 ms for a small file on a free machine; wide enough here for sanitizers and busy machines.
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::seconds(2 + 5 * (program.size() >> 20)));
}

// Root of a program that leaves one whole number.
int64_t number(const std::string& program) {
  const std::string whole = finish(program);
  const PickleObject object = read(whole);
  EXPECT_EQ(object.root.kind, PickleKind::kInteger);
  return object.root.payload;
}

TEST(Pickle, Numbers) {
  EXPECT_EQ(number("K\xFF"), 255);
  EXPECT_EQ(number("M\xFF\xFF"), 65535);
  EXPECT_EQ(number("J\xFE\xFF\xFF\xFF"), -2);
  EXPECT_EQ(number(std::string("\x8A\x00", 2)), 0);
  EXPECT_EQ(number("\x8A\x01\xFF"), -1);
  EXPECT_EQ(number(std::string("\x8A\x02\xFF\x00", 4)), 255);
  EXPECT_EQ(number("\x8A\x08" + little_endian(INT64_MAX, 8)), INT64_MAX);
  EXPECT_EQ(number("I-12\n"), -12);
  EXPECT_EQ(number("L123456789012L\n"), 123456789012);
  for (const std::string program : {"\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19",
                                    "L99999999999999999999L\n", "G12345678"}) {
    const std::string whole = finish(program);
    EXPECT_EQ(read(whole).root.kind, PickleKind::kNumber);
  }
  EXPECT_EQ(read(finish("I01\n")).root.payload, 1);
  EXPECT_EQ(read(finish("I00\n")).root.kind, PickleKind::kBool);
  expect_refused(finish("I1x\n"), {"malformed"});
  expect_refused(finish("I\n"), {"malformed"});
}

TEST(Pickle, TextsAreViewsOfTheProgram) {
  for (const std::string& program :
       {text("abc"), std::string("\x8C\x03") + "abc", std::string("U\x03") + "abc",
        "T" + little_endian(3, 4) + "abc", std::string("Vabc\n")}) {
    const std::string whole = finish(program);
    const PickleObject object = read(whole);
    ASSERT_EQ(object.root.kind, PickleKind::kText);
    EXPECT_EQ(object.text(object.root), "abc");
    EXPECT_GE(object.text(object.root).data(), whole.data());
    EXPECT_EQ(object.size, whole.size());
  }
  EXPECT_EQ(read(finish(std::string("C\x02") + "ab")).root.kind, PickleKind::kBytes);
  EXPECT_EQ(read(finish("V\\u00e9\n")).root.kind, PickleKind::kOpaque);
}

TEST(Pickle, ContainersAndTheMemo) {
  // d = {"a": (1, 2), "b": [3, 4]}; d["c"] = d["a"] from the memo, which is the same tuple.
  const std::string program = finish("}q\x05(" + text("a") + tuple({1, 2}) + "q\x06" + text("b") +
                                     "](K\x03K\x04" + "eu" + text("c") + "h\x06s");
  const PickleObject object = read(program);
  ASSERT_EQ(object.root.kind, PickleKind::kDict);
  const std::vector<PickleValue>& items = object.items(object.root);
  ASSERT_EQ(items.size(), 6u);
  EXPECT_EQ(object.text(items[0]), "a");
  EXPECT_EQ(items[1].kind, PickleKind::kTuple);
  EXPECT_EQ(object.items(items[1])[1].payload, 2);
  EXPECT_EQ(items[3].kind, PickleKind::kList);
  EXPECT_EQ(object.items(items[3])[0].payload, 3);
  EXPECT_EQ(items[5].payload, items[1].payload);
  EXPECT_TRUE(object.refused.empty());
}

TEST(Pickle, EveryWayToMakeAContainer) {
  const auto size = [](const std::string& program) {
    const std::string whole = finish(program);
    const PickleObject object = read(whole);
    return object.items(object.root).size();
  };
  EXPECT_EQ(size(")"), 0u);
  EXPECT_EQ(size("K\x01\x85"), 1u);
  EXPECT_EQ(size("K\x01K\x02\x86"), 2u);
  EXPECT_EQ(size("NNN\x87"), 3u);
  EXPECT_EQ(size("(NNl"), 2u);
  EXPECT_EQ(size("]NaNa"), 2u);
  EXPECT_EQ(size("(" + text("a") + "Nd"), 2u);
  EXPECT_EQ(size("N0]"), 0u);     // POP
  EXPECT_EQ(size("](NN1"), 0u);   // POP_MARK
  EXPECT_EQ(size("](0"), 0u);     // POP takes the mark
  EXPECT_EQ(size("]2\x86"), 2u);  // DUP: a tuple of one list, twice
  EXPECT_EQ(size("]\x94N0h" + std::string(1, '\0') + "\x85"), 1u);  // MEMOIZE
  EXPECT_EQ(size("]p3\n0g3\n\x85"), 1u);
  EXPECT_EQ(size("]r" + little_endian(9, 4) + "0j" + little_endian(9, 4) + "\x85"), 1u);
  EXPECT_EQ(size(global("collections", "OrderedDict") + "]" + "]" + text("k") + "aNaa\x85R"), 2u);
}

TEST(Pickle, CallsOfUnknownNamesAreNeverMade) {
  const std::string program = finish(global("os", "system") + text("reboot") + "\x85R");
  const PickleObject object = read(program);
  EXPECT_EQ(object.root.kind, PickleKind::kOpaque);
  EXPECT_EQ(object.opaque_name(object.root), "os system");
  EXPECT_EQ(object.refused, std::vector<std::string>{"os system"});
  // The same through strings of the memo.
  const std::string hidden = finish(text("os") + "q" + std::string(1, '\0') + "0" + text("system") +
                                    "q\x01" + "0h" + std::string(1, '\0') + "h\x01\x93)R");
  EXPECT_EQ(read(hidden).refused, std::vector<std::string>{"os system"});
  // A name is matched whole, module and all.
  EXPECT_EQ(read(finish(global("evil", "OrderedDict") + ")R")).refused,
            std::vector<std::string>{"evil OrderedDict"});
  EXPECT_EQ(read(finish(global("collections", "OrderedDict") + ")R")).root.kind, PickleKind::kDict);
}

TEST(Pickle, WhatIsDoneToAnOpaqueValueIsDropped) {
  const std::string make = global("argparse", "Namespace") + ")\x81";
  for (const std::string& program :
       {make + "}" + text("x") + "K\x01sb", make + "Na", make + "(NNe", make + text("k") + "Ns",
        make + "(" + text("k") + "Nu", make + ")R", std::string("\x8F(NN\x90")}) {
    const std::string whole = finish(program);
    const PickleObject object = read(whole);
    EXPECT_EQ(object.root.kind, PickleKind::kOpaque) << program;
  }
  EXPECT_EQ(read(finish(make)).opaque_name(read(finish(make)).root), "argparse Namespace");
}

TEST(Pickle, RefusesWhatDoesNotOnlyBuildData) {
  // INST, OBJ, EXT1, LONG4, PERSID, FLOAT, NEWOBJ_EX, BINUNICODE8, BYTEARRAY8, NEXT_BUFFER
  for (const char op : {'i', 'o', '\x82', '\x8B', 'P', 'F', '\x92', '\x8D', '\x96', '\x97'}) {
    expect_refused(proto() + std::string(1, op) + "xxxxxxxxxxxxxxxx\n.", {"byte 2", "operation"});
  }
  expect_refused(proto() + "\x8B" + little_endian(1'000'000'000, 4), {"operation 139"});
  expect_refused("\x80\x09.", {"protocol 9"});
  expect_refused("P('storage', 'x')\n.", {"byte 0", "protocol 0", "protocol 2"});
}

TEST(Pickle, RefusesProgramsThatEndTooEarly) {
  const std::string program = one_tensor();
  for (size_t size = 0; size < program.size(); ++size) {
    EXPECT_THROW(read(program.substr(0, size)), Error) << size;
  }
  expect_refused("", {"too early"});
  expect_refused(proto(), {"too early"});
  expect_refused(proto() + "X\xFF\xFF\xFF\xFF.", {"too early"});
  expect_refused(proto() + "T\xFF\xFF\xFF\xFF.", {"too early"});
  expect_refused(proto() + "cmodule\nname", {"does not end"});
  expect_refused(proto() + "c" + std::string(5000, 'm') + "\nname\n.", {"does not end"});
}

TEST(Pickle, RefusesABrokenStack) {
  for (const std::string program :
       {"",  "0", "a",  "Na", "Ns",   "NNs",   "e", "(e", "t",  "u",
        "1", "R", "NR", ")R", "\x85", "N\x86", "Q", "b",  "Nb", "\x93"}) {
    EXPECT_THROW(read(finish(program)), Error) << program;
  }
  expect_refused(finish("(N\x86"), {"empty stack"});  // not below a mark
  expect_refused(finish("NNa"), {"no list"});
  expect_refused(finish("NNNs"), {"no dictionary"});
  expect_refused(finish("}(Nu"), {"key without a value"});
  expect_refused(finish("N)R"), {"no name"});
  expect_refused(finish(global("a", "b") + "NR"), {"tuple of arguments"});
  expect_refused(finish("K\x01Nb"), {"state"});
  expect_refused(finish("NN\x93"), {"two short strings"});
  expect_refused(finish(text("x") + "Q"), {"no storage"});
  expect_refused(finish(text("other") + "\x85Q"), {"no storage"});
  expect_refused(finish(global("torch", "Size") + ")R"), {"without an argument"});
  expect_refused(finish(global("collections", "OrderedDict") + "N\x85R"), {"list of pairs"});
}

TEST(Pickle, RefusesMemoNumbersOutOfReach) {
  expect_refused(finish("Nr" + little_endian(uint64_t{1} << 31, 4)), {"2147483648", "too large"});
  expect_refused(finish("Np2147483648\n"), {"too large"});
  expect_refused(finish("Np-1\n"), {"negative"});
  expect_refused(finish("h\x07"), {"memo number 7", "not been set"});
  expect_refused(finish("Nq\x09h\x07"), {"memo number 7", "not been set"});
  expect_refused(finish("j" + little_endian(uint64_t{1} << 31, 4)), {"not been set"});
}

TEST(Pickle, RefusesDeepNestingWithoutRecursion) {
  std::string tuples = ")";
  for (int i = 0; i < 100'000; ++i) tuples += "\x85";
  expect_refused(finish(tuples), {"deeper than 256"});
  expect_refused(finish(std::string(100'000, '(')), {"256 marks"});
  // A list that holds itself is legal in Python; here nesting is bounded, however it is made.
  const std::string self = finish("]q" + std::string(1, '\0') + "h" + std::string(1, '\0') + "a");
  EXPECT_EQ(read(self).root.kind, PickleKind::kList);
  std::string more = "]q" + std::string(1, '\0');
  for (int i = 0; i < 300; ++i) more += "h" + std::string("\0a", 2);
  expect_refused(finish(more), {"deeper than 256"});
}

TEST(Pickle, RefusesMoreValuesThanTheLimit) {
  expect_refused(finish(std::string(kMaxPickleValues + 1, 'N')), {"4000000 values"});
  // A list of 1,000 that is made a dictionary again and again.
  std::string program = "](";
  for (int i = 0; i < 1000; ++i) program += "NN\x86";
  program += "eq" + std::string(1, '\0') + "0";
  for (int i = 0; i < 3000; ++i) {
    program += global("collections", "OrderedDict") + "h" + std::string(1, '\0') + "\x85R0";
  }
  expect_refused(finish(program), {"than a program of this length can need"});
  std::string names;
  for (int i = 0; i < 10'001; ++i) names += global("m", std::to_string(i)) + "0";
  expect_refused(finish(names + "N"), {"10000 functions"});
}

TEST(Pickle, SurvivesSingleByteChanges) {
  const std::string good = one_tensor();
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      try {
        read(changed);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidFile) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace longformer::io
