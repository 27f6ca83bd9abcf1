// tools/databases.h: servers of other systems, for tests: each in a folder of its own, on a port that is free, until
// the end of its test.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>

#include "program.h"

namespace duelease::test {

inline int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(fd);
  return ::ntohs(address.sin_port);
}

// The path of a program, empty when it is not installed.
inline std::string installed(const std::string& name, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (std::filesystem::exists(folder + "/" + name)) return folder + "/" + name;
  }
  return {};
}

// Says so when it is not, for the test to return.
inline bool skipped(const std::string& program, const char* package) {
  if (program.empty()) std::printf("SKIPPED: install the Debian package %s for this test\n", package);
  return program.empty();
}

// In the database of that file, which is made where it is not there.
inline void run_sqlite(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(::sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  REQUIRE(::sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  ::sqlite3_close(database);
}

// These servers need more room than the memory that TemporaryFolder takes where there is some.
class FolderOnDisk {
 public:
  FolderOnDisk() {
    std::string name = (std::filesystem::temp_directory_path() / "duelease-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~FolderOnDisk() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FolderOnDisk(const FolderOnDisk&) = delete;
  FolderOnDisk& operator=(const FolderOnDisk&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class RedisServer {
 public:
  static std::string program() { return installed("redis-server", {"/usr/bin", "/usr/local/bin"}); }

  explicit RedisServer(const std::string& password = {}) : port_(free_port()), password_(password) {
    std::vector<std::string> arguments = {
        "--port", std::to_string(port_),  "--bind", "127.0.0.1", "--save", "",
        "--dir",  folder_.path().string()};
    if (!password.empty()) arguments.insert(arguments.end(), {"--requirepass", password});
    server_ = std::make_unique<Running>(folder_.path(), program(), arguments, "");
    REQUIRE(eventually([&] { return run("PING\n").out == "PONG\n"; }));
  }

  std::string at() const { return "127.0.0.1:" + std::to_string(port_); }
  // Commands, one a line.
  Ran run(const std::string& commands) const {
    std::vector<std::string> arguments = {"-p", std::to_string(port_)};
    if (!password_.empty()) arguments.insert(arguments.end(), {"-a", password_, "--no-auth-warning"});
    return Running(folder_.path(), installed("redis-cli", {"/usr/bin", "/usr/local/bin"}), arguments,
                   commands)
        .wait();
  }

 private:
  TemporaryFolder folder_;
  const int port_;
  const std::string password_;
  std::unique_ptr<Running> server_;
};

// PostgreSQL refuses to run as root; then it is the user postgres, or nobody.
class PostgresServer {
 public:
  static std::string program(const std::string& name) {
    std::vector<std::string> folders;
    if (std::filesystem::exists("/usr/lib/postgresql")) {
      for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql")) {
        folders.push_back(version.path().string() + "/bin");
      }
    }
    std::sort(folders.rbegin(), folders.rend());
    folders.push_back("/usr/bin");
    return installed(name, folders);
  }

  // Its user is "shop", with this password.
  explicit PostgresServer(const std::string& password) : port_(free_port()), password_(password) {
    const std::filesystem::path data = folder_.path() / "data";
    std::filesystem::create_directory(data);
    write_file(folder_.path() / "password", password + "\n");
    hand_over(data);
    const Ran made = start(program("initdb"), {"-D", data, "-U", "shop", "-A", "scram-sha-256", "-E", "UTF8",
                                               "--locale=C", "-N", "--pwfile", folder_.path() / "password"})
                         ->wait();
    INFO(made.out << made.err);
    REQUIRE(made.exit == 0);
    server_ = start(program("postgres"), {"-D", data, "-p", std::to_string(port_), "-h", "127.0.0.1", "-k",
                                          data, "-c", "fsync=off", "-c", "TimeZone=Asia/Shanghai"});
    REQUIRE(eventually([&] { return run("SELECT 1").exit == 0; }));
  }
  ~PostgresServer() {
    server_->signal(SIGQUIT);  // Killed, it would leave its own processes behind.
    server_->wait();
  }

  std::string at() const { return "127.0.0.1:" + std::to_string(port_) + "/postgres"; }
  Ran run(const std::string& sql) const {
    return Running(folder_.path(), "/usr/bin/psql",
                   {"postgresql://shop:" + password_ + "@" + at(), "-v", "ON_ERROR_STOP=1", "-q"}, sql)
        .wait();
  }

 private:
  static const passwd* user() {
    if (::geteuid() != 0) return nullptr;
    const passwd* const postgres = ::getpwnam("postgres");
    return postgres != nullptr ? postgres : ::getpwnam("nobody");
  }
  void hand_over(const std::filesystem::path& data) const {
    if (user() == nullptr) return;
    ::chmod(folder_.path().c_str(), 0711);
    ::chmod((folder_.path() / "password").c_str(), 0644);
    REQUIRE(::chown(data.c_str(), user()->pw_uid, user()->pw_gid) == 0);
  }
  std::unique_ptr<Running> start(std::string path, std::vector<std::string> arguments) const {
    if (const passwd* const as = user()) {
      const std::string uid = std::to_string(as->pw_uid), gid = std::to_string(as->pw_gid);
      arguments.insert(arguments.begin(), {"--reuid", uid, "--regid", gid, "--clear-groups", "--", path});
      path = "/usr/bin/setpriv";
    }
    return std::make_unique<Running>(folder_.path(), path, arguments, "");
  }

  FolderOnDisk folder_;
  const int port_;
  const std::string password_;
  std::unique_ptr<Running> server_;
};

class MariadbServer {
 public:
  static std::string program() { return installed("mariadbd", {"/usr/sbin", "/usr/bin"}); }

  // With what `sql` makes.
  explicit MariadbServer(const std::string& sql) : port_(free_port()) {
    const std::string folder = folder_.path().string();
    write_file(folder_.path() / "init.sql", sql);
    std::filesystem::create_directory(folder_.path() / "data");
    std::vector<std::string> arguments = {"--no-defaults",
                                          "--skip-grant-tables",
                                          "--bind-address=127.0.0.1",
                                          "--port=" + std::to_string(port_),
                                          "--datadir=" + folder + "/data",
                                          "--socket=" + folder + "/socket",
                                          "--init-file=" + folder + "/init.sql",
                                          "--default-time-zone=+08:00",
                                          "--innodb-buffer-pool-size=8M",
                                          "--innodb-log-file-size=4M"};
    if (::geteuid() == 0) arguments.push_back("--user=root");
    server_ = std::make_unique<Running>(folder_.path(), program(), arguments, "");
    REQUIRE(
        eventually([&] { return server_->err_so_far().find("ready for connections") != std::string::npos; }));
  }

  std::string at() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  FolderOnDisk folder_;
  const int port_;
  std::unique_ptr<Running> server_;
};

}  // namespace duelease::test
