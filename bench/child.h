// bench/child.h: a piece of work in a process of its own, as each round is: it begins with fresh memory, leaves nothing
// behind in that of the next one, and can be killed.
#pragma once

#include <functional>
#include <string>

namespace duelease::bench {

// Answers what `work` returned; throws Fault when it did, or when the process ends before. `at_end` is called in that
// process once `work` has returned. Whatever happens, it and the processes that it has started are gone then. This
// process must have one thread and no other children.
std::string in_child(const std::function<std::string()>& work, const std::function<void()>& at_end = {});

// From now on SIGINT and SIGTERM end the child, or the next one when they come between two, and in_child() throws
// Fault: so that what was made is removed.
void stop_well_when_interrupted();

}  // namespace duelease::bench
