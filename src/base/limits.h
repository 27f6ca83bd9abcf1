// base/limits.h: every fixed limit that a user can run into, in one place. Those that an embedder can set are
// fields of Options or QueueSettings; bounds of the latter are here, those of the former in engine.cpp, validate().
#pragma once

#include <cstddef>
#include <cstdint>

namespace duelease::limits {

inline constexpr std::size_t queue_name_bytes_max = 128;
inline constexpr std::size_t id_bytes_max = 255;
inline constexpr std::size_t key_bytes_max = 255;
inline constexpr std::size_t worker_bytes_max = 128;
inline constexpr std::size_t run_bytes_max = 128;
inline constexpr std::size_t request_bytes_max = 128;
inline constexpr std::size_t result_bytes_max = 1024 * 1024;
inline constexpr std::size_t error_bytes_max = 4096;  // Longer ones are cut, not refused.

inline constexpr std::size_t history_reason_bytes_max = 256;  // The same.

inline constexpr std::size_t payload_bytes_ceiling = 64 * 1024 * 1024;  // Of QueueSettings.
inline constexpr std::size_t app_write_count_max = 1000;
inline constexpr std::size_t app_write_bytes_max = 4 * 1024 * 1024;  // Keys and values of one command.
inline constexpr std::size_t app_key_bytes_max = 4096;

// Every queue costs a few hundred bytes of memory, whether it holds orders or not.
inline constexpr std::size_t queues_max = 100'000;

inline constexpr std::uint32_t claim_count_max = 10'000;
inline constexpr std::size_t claim_queues_max = 64;
inline constexpr std::uint32_t reap_count_max = 10'000;
inline constexpr std::uint32_t purge_count_max = 100'000;
inline constexpr std::uint32_t list_count_max = 10'000;
inline constexpr std::uint32_t history_count_max = 10'000;

// Times from 0001-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z: all that RFC 3339 can write.
inline constexpr std::int64_t time_ms_min = -62'135'596'800'000;
inline constexpr std::int64_t time_ms_max = 253'402'300'799'999;

inline constexpr std::int64_t lease_ms_min = 1;
inline constexpr std::int64_t lease_ms_max = 30LL * 24 * 3600 * 1000;
inline constexpr std::int64_t wait_ms_max = lease_ms_max;
inline constexpr std::int64_t backoff_ms_max = 365LL * 24 * 3600 * 1000;
inline constexpr std::int64_t keep_ms_max = 100LL * 365 * 24 * 3600 * 1000;
inline constexpr std::uint32_t tries_max = 1'000'000;

// A store is full when its sequence gets here: tokens must stay readable as signed 64-bit integers.
inline constexpr std::uint64_t sequence_max = (std::uint64_t{1} << 63) - 1;
// How far a restore jumps: at 100,000 transitions a second it covers five years since the backup.
inline constexpr std::uint64_t restore_jump = std::uint64_t{1} << 44;
// How far an open jumps after a crash: further than the changes that can have been lost with the end of the log.
inline constexpr std::uint64_t crash_jump = std::uint64_t{1} << 32;

// The engine never sleeps longer than this, so that a step of the clock is noticed.
inline constexpr std::int64_t nap_ms_max = 1000;
// Wall and monotonic clock drifting apart by this much between two looks is a step.
inline constexpr std::int64_t clock_step_ms_min = 500;

// Runs that are alive or still have live orders are kept in memory.
inline constexpr std::size_t runs_active_max = 100'000;

// What one pass of the engine's own upkeep may do before other commands get their turn.
inline constexpr std::uint32_t reap_pass_max = 1000;
inline constexpr std::uint32_t purge_pass_max = 1000;
inline constexpr std::uint32_t orphan_pass_max = 200;  // Each costs four writes, and claims wait meanwhile.

static_assert(result_bytes_max + id_bytes_max < payload_bytes_ceiling);
static_assert(backoff_ms_max < time_ms_max && keep_ms_max < time_ms_max);

}  // namespace duelease::limits
