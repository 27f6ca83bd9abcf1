// tools/usage_error.h: what was wrong with the words of a command line, in plain words.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace duelease::tools {

// "--id is required (see duelease schedule --help)". What one of our own readers said stays as it is.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace duelease::tools
