# SPDX-License-Identifier: Apache-2.0
# How every target of the project is declared, so that flags, warnings and test properties live in one place.
include_guard(GLOBAL)

# A compiler cache, where one is installed: branches and sanitizer trees share what they compile alike.
find_program(MRC_CCACHE NAMES ccache)
if(MRC_CCACHE)
  # It keeps what uses precompiled headers only when told that their defines and times do not matter. It has to know files
  # by what the compiler says that it read (depend mode): preprocessed, a set of precompiled headers beside its older self
  # is nothing but a reference to that, the same in all branches that began there, and one gets another's.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${MRC_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# mrc_find_library(MODULE): PkgConfig::MODULE, which the project cannot do without.
find_package(PkgConfig REQUIRED)
function(mrc_find_library module)
  pkg_check_modules(${module} QUIET IMPORTED_TARGET ${module})
  if(NOT ${module}_FOUND)
    message(FATAL_ERROR "${module} is missing: scripts/setup installs what scripts/packages/build names")
  endif()
endfunction()

add_library(mrc_flags INTERFACE)
# Of what is compiled together, a name of one file's anonymous namespace is a global one to the files after it.
set(shadow $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
target_compile_options(mrc_flags INTERFACE -Wall -Wextra ${shadow} -Wconversion -Werror
                                           $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
# g++ 12 sees overlapping copies in every std::string concatenation at -O3 (its bug 105651, repaired in 13).
set(old_gcc $<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>)
target_compile_options(mrc_flags INTERFACE $<${old_gcc}:-Wno-restrict>)
# LIBBPF_OPTS names some fields of a structure.
target_compile_options(mrc_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-designated-field-initializers>)
target_include_directories(mrc_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/agent)
if(MRC_SANITIZE)
  # The GCC manual warns of false positives of this warning in instrumented code; g++ 12 has them for std::optional.
  target_compile_options(mrc_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # But for targets with the property MRC_UNSANITIZED: command lines and tables of tools, which the lab needs.
  target_compile_options(mrc_flags INTERFACE
    "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:MRC_UNSANITIZED>>>:-fsanitize=${MRC_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  target_link_options(mrc_flags INTERFACE -fsanitize=${MRC_SANITIZE})
  if(MRC_SANITIZE MATCHES thread)
    # Fences here only order a store before a load of another atomic: nothing that ThreadSanitizer would look at.
    target_compile_options(mrc_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>)
  endif()
endif()

# Headers that most sources include, parsed once for all targets of like flags. Sources include what they use all the
# same: clang-tidy and the fuzzers' tree compile them without.
option(MRC_PRECOMPILED "precompile common headers" ON)
set(MRC_TEST_OPTIMIZATION -O0) # two thirds of the time to compile that -O1 takes; what is tested keeps the tree's
set(MRC_SETUP_OPTIMIZATION -O1) # of what runs at the start and when asked: compiling it is what takes time
set(MRC_HEADERS_agent <algorithm> <array> <atomic> <bit> <cerrno> <chrono> <cstdint> <cstring> <expected> <functional>
                      <map> <memory> <optional> <span> <string> <string_view> <utility> <vector>)
# Not CLI11: its objects of namespace scope are code, six seconds of it in every file that gets to see them.
set(MRC_HEADERS_setup ${MRC_HEADERS_agent})
set(MRC_HEADERS_tool ${MRC_HEADERS_agent} <boost/json/object.hpp> <fmt/format.h>)
set(MRC_HEADERS_test ${MRC_HEADERS_agent} <gtest/gtest.h>)
set(MRC_HEADERS_worker_test ${MRC_HEADERS_test} ${CMAKE_SOURCE_DIR}/agent/datapath/worker.h)

# mrc_precompile(TARGET SET): TARGET is compiled with one of the sets of precompiled headers above. Libraries share code of
# one kind, programs and tests of another: a set serves one of them.
function(mrc_precompile target set)
  if(NOT MRC_PRECOMPILED OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  set(provider mrc_precompiled_${set})
  if(NOT TARGET ${provider})
    set(source ${CMAKE_BINARY_DIR}/${provider}.cpp)
    file(GENERATE OUTPUT ${source} CONTENT "")
    add_library(${provider} OBJECT ${source})
    target_link_libraries(${provider} PRIVATE mrc_flags)
    target_precompile_headers(${provider} PRIVATE ${MRC_HEADERS_${set}})
    if(set MATCHES "tool|test")
      # As executables are compiled, or the compiler would not take it for them.
      set_target_properties(${provider} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${provider} PRIVATE -fPIE)
    endif()
    if(set MATCHES "test")
      target_compile_options(${provider} PRIVATE ${MRC_TEST_OPTIMIZATION})
      target_link_libraries(${provider} PRIVATE GTest::gtest)
    elseif(set MATCHES "setup|tool")
      target_compile_options(${provider} PRIVATE ${MRC_SETUP_OPTIMIZATION})
    endif()
    if(set STREQUAL tool)
      target_link_libraries(${provider} PRIVATE fmt::fmt Boost::headers)
    endif()
    if(set STREQUAL worker_test)
      target_link_libraries(${provider} PRIVATE mrc_datapath)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${provider})
  # Of the doubts of bug 105651 (above) g++ 12 no longer knows then that the lines are the library's own.
  target_compile_options(${target} PRIVATE "$<${old_gcc}:-Wno-stringop-overflow;-Wno-array-bounds>")
endfunction()

# Sources of one target are compiled together, 32 at a time, and headers parsed once for all: half the time of a whole
# build. Of tests, whose names are more alike, 16. OFF compiles file by file, as clang-tidy sees them, where one file is
# worked on.
option(MRC_UNITY "compile a target's sources together" ON)
function(mrc_compile_together target)
  set(batch 32)
  if(ARGC GREATER 1)
    set(batch ${ARGV1})
  endif()
  get_target_property(sources ${target} SOURCES)
  if(MRC_UNITY AND NOT sources MATCHES "\\.c(;|$)")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
endfunction()

# mrc_compile_apart(FILE…): but for these, which have names of their own for what others in their target name so too.
function(mrc_compile_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# What runs for every packet lies in several libraries, and the linker of programs that move packets sees through them: a
# tenth more packets a second in mrc-bench-core. Their objects hold code as well, of which all others are linked.
option(MRC_LINK_TIME_OPTIMIZATION "have programs that move packets optimised as a whole in Release" ON)
set(link_time $<AND:$<BOOL:${MRC_LINK_TIME_OPTIMIZATION}>,$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>)
set(moves_packets $<BOOL:$<TARGET_PROPERTY:MRC_HOT>>)
target_link_options(mrc_flags INTERFACE
  "$<${link_time}:$<IF:${moves_packets},-O3;-flto=auto,-fno-lto>>")

# mrc_add_library(NAME SOURCES … [DEPENDS …] [UNSANITIZED] [APART] [SETUP] [HOT]): a static library of one agent/
# folder. APART: compiled file by file, also with MRC_UNITY, but where there are sanitizers. SETUP: see
# MRC_SETUP_OPTIMIZATION; not for what includes the transport, whose inline functions the linker might then take from
# there. HOT: runs for every packet.
function(mrc_add_library name)
  cmake_parse_arguments(arg "APART;HOT;SETUP;UNSANITIZED" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  if(NOT arg_APART OR MRC_SANITIZE)
    mrc_compile_together(${name})
  endif()
  if(arg_SETUP)
    target_compile_options(${name} PRIVATE ${MRC_SETUP_OPTIMIZATION})
  endif()
  if(arg_HOT)
    target_compile_options(${name} PRIVATE "$<${link_time}:-flto;-ffat-lto-objects>")
  endif()
  target_link_libraries(${name} PUBLIC mrc_flags ${arg_DEPENDS})
  if(arg_UNSANITIZED AND MRC_SANITIZE)
    set_target_properties(${name} PROPERTIES MRC_UNSANITIZED ON)
  elseif(arg_SETUP)
    mrc_precompile(${name} setup)
  else()
    mrc_precompile(${name} agent)
  endif()
endfunction()

# mrc_add_tool(NAME SOURCES … [DEPENDS …] [SETUP] [HOT]): an executable in build/bin. HOT: it moves packets.
function(mrc_add_tool name)
  cmake_parse_arguments(arg "HOT;SETUP" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  mrc_compile_together(${name})
  if(arg_SETUP)
    target_compile_options(${name} PRIVATE ${MRC_SETUP_OPTIMIZATION})
  endif()
  target_link_libraries(${name} PRIVATE mrc_flags ${arg_DEPENDS})
  set_target_properties(${name} PROPERTIES MRC_HOT ${arg_HOT})
  if(MRC_SANITIZE)
    set_target_properties(${name} PROPERTIES MRC_UNSANITIZED ON)
  elseif(arg_SETUP)
    mrc_precompile(${name} tool)
  endif()
endfunction()

# mrc_test_paths(FILE…): these test sources may use MRC_SOURCE_DIR and MRC_BIN_DIR. Only these: a compiler cache keeps
# what the folder of the checkout has no part in.
function(mrc_test_paths)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_DEFINITIONS MRC_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                                                  MRC_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()

# What tests of untrusted input are made of: the part of a tree with sanitizers that every run of scripts/test builds.
add_custom_target(untrusted)

# mrc_add_test(NAME KIND SOURCES … [DEPENDS …] [PRECOMPILED SET] [TIMEOUT s]) declares a GoogleTest executable, or with
# mrc_add_test(NAME KIND COMMAND … [TIMEOUT s] [SANITIZED] [ALONE]) any command, as one test of a kind:
# unit (no root, seconds), sim (simulated time), bpf (root, BPF_PROG_TEST_RUN), e2e (root, lab), vm, fuzz, perf.
# Several run at a time, but for bpf and those that are ALONE: they judge what the machine does within a time, or take what
# it has once.
# UNTRUSTED: drives what reads packets of other hosts, or memory and messages of clients; every run of scripts/test has
# it with sanitizers, too. WHOLE: only scripts/test --all runs it, which says why.
# OPTIMIZED: simulates, and runs for longer than it takes to compile, as do all of kind sim.
function(mrc_add_test name kind)
  cmake_parse_arguments(arg "ALONE;OPTIMIZED;SANITIZED;UNTRUSTED;WHOLE" "PRECOMPILED;TIMEOUT" "SOURCES;DEPENDS;COMMAND" ${ARGN})
  if(kind STREQUAL sim)
    set(arg_OPTIMIZED ON)
  endif()
  set(kinds unit sim bpf e2e vm fuzz perf)
  set(labels ${kind})
  if(NOT kind IN_LIST kinds)
    message(FATAL_ERROR "test ${name}: kind '${kind}' is none of: ${kinds}")
  endif()
  if(arg_SOURCES)
    add_executable(${name} ${arg_SOURCES})
    mrc_compile_together(${name} 16)
    target_link_libraries(${name} PRIVATE mrc_flags ${arg_DEPENDS} GTest::gtest GTest::gtest_main)
    # A test names what it shares with tests of other folders from tests/ on.
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    # Tests of parts run for milliseconds: compiling them is what takes time. Simulations are worth optimising.
    if(NOT arg_OPTIMIZED)
      target_compile_options(${name} PRIVATE ${MRC_TEST_OPTIMIZATION})
    endif()
    if(NOT arg_OPTIMIZED AND NOT arg_SOURCES MATCHES "\\.c(;|$)") # headers of one language cannot serve a test of two
      if(NOT arg_PRECOMPILED)
        set(arg_PRECOMPILED test)
      endif()
      mrc_precompile(${name} ${arg_PRECOMPILED})
    endif()
    set(arg_COMMAND $<TARGET_FILE:${name}>)
  else()
    # Commands may run any tool, and trees of a few targets (asan) do not have them all: scripts/suites/tree.py. Those
    # that are SANITIZED have what they need there.
    if(NOT arg_SANITIZED)
      list(APPEND labels command)
    endif()
  endif()
  foreach(word UNTRUSTED WHOLE)
    if(arg_${word})
      string(TOLOWER ${word} label)
      list(APPEND labels ${label})
    endif()
  endforeach()
  if(arg_UNTRUSTED AND arg_SOURCES)
    add_dependencies(untrusted ${name})
  endif()
  if(kind STREQUAL e2e)
    list(PREPEND arg_COMMAND ${CMAKE_SOURCE_DIR}/tests/e2e/isolated)
  endif()
  add_test(NAME ${kind}.${name} COMMAND ${arg_COMMAND})
  # For what hangs: the slowest take a minute where nothing else runs. Those of units and simulations may have the
  # processor only when no other test wants it (scripts/suites).
  if(NOT arg_TIMEOUT AND kind MATCHES "unit|sim")
    set(arg_TIMEOUT 900)
  elseif(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set_tests_properties(${kind}.${name} PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
                       ENVIRONMENT "MRC_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(arg_ALONE OR kind STREQUAL bpf)
    set_tests_properties(${kind}.${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
