# What the server links beside what the library does: OpenSSL for TLS, libsodium for passwords.
find_package(OpenSSL REQUIRED)

if(NOT TARGET duelease::sodium)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(duelease_sodium_pc REQUIRED IMPORTED_TARGET libsodium)
  add_library(duelease::sodium INTERFACE IMPORTED)
  target_link_libraries(duelease::sodium INTERFACE PkgConfig::duelease_sodium_pc)
endif()
