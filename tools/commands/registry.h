// tools/commands/registry.h: all commands of the program, in the order of --help.
//
// A new command: its file here, a line in both lists below, a case in tests/tools/cli_test.cpp.
#pragma once

#include "../arguments.h"
#include "../session.h"

namespace duelease::tools {

// Each declares its command below `root`. `session` is filled in by the time the command runs.
void declare_schedule(Arguments& root, const Session& session);
void declare_import(Arguments& root, const Session& session);
void declare_reconcile(Arguments& root, const Session& session);
void declare_work(Arguments& root, const Session& session);
void declare_serve(Arguments& root, const Session& session);
void declare_password(Arguments& root, const Session& session);
void declare_claim(Arguments& root, const Session& session);
void declare_complete(Arguments& root, const Session& session);
void declare_fail(Arguments& root, const Session& session);
void declare_release(Arguments& root, const Session& session);
void declare_extend(Arguments& root, const Session& session);
void declare_pop(Arguments& root, const Session& session);
void declare_order(Arguments& root, const Session& session);
void declare_list(Arguments& root, const Session& session);
void declare_why(Arguments& root, const Session& session);
void declare_history(Arguments& root, const Session& session);
void declare_cancel(Arguments& root, const Session& session);
void declare_reschedule(Arguments& root, const Session& session);
void declare_retry(Arguments& root, const Session& session);
void declare_run(Arguments& root, const Session& session);
void declare_stats(Arguments& root, const Session& session);
void declare_watch(Arguments& root, const Session& session);
void declare_ping(Arguments& root, const Session& session);
void declare_queue(Arguments& root, const Session& session);
void declare_purge(Arguments& root, const Session& session);
void declare_reap(Arguments& root, const Session& session);
void declare_check(Arguments& root, const Session& session);
void declare_backup(Arguments& root, const Session& session);
void declare_restore(Arguments& root, const Session& session);

using DeclareCommand = void (*)(Arguments& root, const Session& session);

inline constexpr DeclareCommand all_commands[] = {
    declare_schedule, declare_import, declare_reconcile,  declare_work,    declare_serve,
    declare_password, declare_claim,  declare_complete,   declare_fail,    declare_release,
    declare_extend,   declare_pop,    declare_order,      declare_list,    declare_why,
    declare_history,  declare_cancel, declare_reschedule, declare_retry,   declare_run,
    declare_stats,    declare_watch,  declare_ping,       declare_queue,   declare_purge,
    declare_reap,     declare_check,  declare_backup,     declare_restore,
};

}  // namespace duelease::tools
