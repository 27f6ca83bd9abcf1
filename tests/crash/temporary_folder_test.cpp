// The folders of tests that are killed do not pile up.
#include "support/temporary_folder.h"

#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>

using namespace duelease::test;
namespace fs = std::filesystem;

TEST_CASE("the folder of a test that was killed is removed by the next one, and no other") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const TemporaryFolder folder;
    const std::string path = folder.path().string();
    if (::write(ends[1], path.data(), path.size()) > 0) ::pause();
    ::_exit(1);
  }
  char name[256] = {};
  CHECK(::read(ends[0], name, sizeof name - 1) > 0);
  const fs::path left = name;
  const TemporaryFolder own;
  TemporaryFolder::sweep();
  CHECK(fs::is_directory(left));
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  TemporaryFolder::sweep();
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::is_directory(own.path()));
  ::close(ends[0]);
  ::close(ends[1]);
}
