// support/printing.h: how Catch prints our types when a check fails.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "duelease/result.h"
#include "duelease/types.h"

namespace Catch {

template <>
struct StringMaker<duelease::Outcome> {
  static std::string convert(duelease::Outcome outcome) {
    return std::string(duelease::outcome_name(outcome));
  }
};

template <>
struct StringMaker<duelease::State> {
  static std::string convert(duelease::State state) {
    return std::string(duelease::state_name(state)) + "(" + std::to_string(static_cast<int>(state)) + ")";
  }
};

template <>
struct StringMaker<duelease::Code> {
  static std::string convert(duelease::Code code) { return std::string(duelease::code_name(code)); }
};

template <>
struct StringMaker<duelease::Time> {
  static std::string convert(duelease::Time time) {
    return std::to_string(time.time_since_epoch().count()) + " ms";
  }
};

template <>
struct StringMaker<duelease::Token> {
  static std::string convert(duelease::Token token) {
    return "token " + std::to_string(static_cast<unsigned long long>(token));
  }
};

template <>
struct StringMaker<duelease::Counts> {
  static std::string convert(const duelease::Counts& c) {
    return "wait " + std::to_string(c.wait) + ", processing " + std::to_string(c.processing) + ", success " +
           std::to_string(c.success) + ", failed " + std::to_string(c.failed) + ", aborted " +
           std::to_string(c.aborted);
  }
};

}  // namespace Catch
