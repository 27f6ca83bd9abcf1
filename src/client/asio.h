// client/asio.h: Boost.Asio, by this one door. <utility> must come first: Boost 1.74 uses std::exchange
// without it, and GCC 12 minds. TLS is in client/stream.cpp alone.
#pragma once

#include <utility>
// (The blank line keeps the formatter from sorting the one above below.)

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
