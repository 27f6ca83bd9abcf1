# What the library links, for the build and for the installed package alike.
#
# RocksDB by its CMake package, else by pkg-config; another one is chosen with -DRocksDB_DIR=... or
# -DCMAKE_PREFIX_PATH=.... Shared where there is a choice.
find_package(Threads REQUIRED)
find_package(Protobuf MODULE REQUIRED)

if(NOT TARGET duelease::rocksdb)
  add_library(duelease::rocksdb INTERFACE IMPORTED)
  find_package(RocksDB CONFIG QUIET)
  if(TARGET RocksDB::rocksdb-shared)
    set(duelease_rocksdb RocksDB::rocksdb-shared)
  elseif(TARGET RocksDB::rocksdb)
    set(duelease_rocksdb RocksDB::rocksdb)
  else()
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(duelease_rocksdb_pc REQUIRED IMPORTED_TARGET rocksdb)
    set(duelease_rocksdb PkgConfig::duelease_rocksdb_pc)
  endif()
  target_link_libraries(duelease::rocksdb INTERFACE ${duelease_rocksdb})
endif()
