// fuzz/checks.h: what must hold for any bytes at all. The fuzzers (words_fuzz.cpp, replies_fuzz.cpp) look for bytes
// for which it does not; fuzz_test.cpp runs the same over the corpus in every test run.
#pragma once

#include <string>
#include <string_view>

namespace duelease::fuzz {

// Each answers what is broken; empty: nothing is.
//
// Of the bytes that a server gets: where they are cut changes nothing; what is read as a request is written and
// read back as the same one; a refusal is one printable line.
std::string fault_in_words(std::string_view bytes);
// The same of the bytes that a client gets.
std::string fault_in_replies(std::string_view bytes);

}  // namespace duelease::fuzz
