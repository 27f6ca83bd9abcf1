# cmake -D SOURCE=repository -D FOLDER=temporary -P forgotten_test.cmake
# Shows that configuring refuses a test that is in no list, and a list that names a missing file.
file(REMOVE_RECURSE ${FOLDER})
file(GLOB entries ${SOURCE}/CMakeLists.txt ${SOURCE}/src ${SOURCE}/include ${SOURCE}/tests ${SOURCE}/bench
  ${SOURCE}/tools)
file(COPY ${entries} DESTINATION ${FOLDER}/copy)

# Configures the copy; fails unless that is refused with `reason`.
function(expect_refusal reason)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${FOLDER}/copy -B ${FOLDER}/build
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result EQUAL 0 OR NOT output MATCHES "${reason}")
    message(FATAL_ERROR "Expected to be refused with '${reason}', got ${result}:\n${output}")
  endif()
endfunction()

file(WRITE ${FOLDER}/copy/tests/base/planted_test.cpp "")
expect_refusal("Not listed: base/planted_test.cpp\n")
file(REMOVE ${FOLDER}/copy/tests/base/planted_test.cpp)

file(READ ${FOLDER}/copy/tests/CMakeLists.txt lists)
string(REPLACE "# ---- No test is forgotten ----"
  "set_property(GLOBAL APPEND PROPERTY duelease_tests_listed base/gone_test.cpp)" lists "${lists}")
file(WRITE ${FOLDER}/copy/tests/CMakeLists.txt "${lists}")
expect_refusal("Listed, but no such file: base/gone_test.cpp\n")
file(REMOVE_RECURSE ${FOLDER})
