# duelease_allocator: the malloc of our programs (Redis comes with the same one). A library leaves that choice to the
# program which links it, so duelease::duelease does not bring it.
#
# Off, or under a sanitizer, which brings a malloc of its own: the one of the system.
option(DUELEASE_JEMALLOC "Link the programs with jemalloc: a tenth more orders a second in batches of 100" ON)
add_library(duelease_allocator INTERFACE)
if(DUELEASE_JEMALLOC AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(duelease_jemalloc REQUIRED IMPORTED_TARGET jemalloc)
  target_link_libraries(duelease_allocator INTERFACE PkgConfig::duelease_jemalloc)
endif()
