#include "server/loop.h"

namespace duelease::server {

void Loop::post(Task task) {
  const std::lock_guard lock(mutex_);
  inbox_.push_back(std::move(task));
  if (inbox_.size() == 1) boost::asio::post(context_, [this] { drain(); });
}

void Loop::drain() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(inbox_);
  }
  for (Task& task : tasks) task();
  for (const std::shared_ptr<Advancing>& who : std::exchange(advancing_, {})) who->advance();
}

}  // namespace duelease::server
