# cmake -D BUILD=build -D FOLDER=temporary -D CXX_FLAGS=... -D CONSUMER=tests/consumer -P consumer_test.cmake
# Installs the build, then configures, builds and runs an outside project that knows only the installation.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${FOLDER}/build -D CMAKE_PREFIX_PATH=${FOLDER}/prefix
  -D "CMAKE_CXX_FLAGS=${CXX_FLAGS}")
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${FOLDER}/build/consumer ${FOLDER}/store)
run(${FOLDER}/build/consumer_serve ${FOLDER}/store)
run(${FOLDER}/build/consumer_ask ${FOLDER}/store)
run(${FOLDER}/build/client_alone/client_alone)
execute_process(COMMAND ldd ${FOLDER}/build/client_alone/client_alone
  OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
if(libraries MATCHES "rocksdb|protobuf")
  message(FATAL_ERROR "A client needs the engine's libraries:\n${libraries}")
endif()
file(REMOVE_RECURSE ${FOLDER})
