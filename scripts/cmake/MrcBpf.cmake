# SPDX-License-Identifier: Apache-2.0
# BPF objects: compiled by clang-19, embedded in C++ through a bpftool skeleton.
include_guard(GLOBAL)

find_program(MRC_BPF_CLANG NAMES clang-19 REQUIRED)
find_program(MRC_BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin REQUIRED)
mrc_find_library(libbpf)

# mrc_add_bpf(NAME [AS OTHER]): compiles NAME.bpf.c to NAME.bpf.o and writes NAME.skel.h; link mrc_bpf_NAME to include
# it, or mrc_bpf_OTHER where another folder has a program of that name.
function(mrc_add_bpf name)
  cmake_parse_arguments(arg "" "AS" "" ${ARGN})
  if(NOT arg_AS)
    set(arg_AS ${name})
  endif()
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${name}.bpf.c)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${name}.skel.h)
  # The multiarch folder holds asm/types.h; a BPF target has no default for it.
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${MRC_BPF_CLANG} -g -O2 -target bpf -mcpu=v3 -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter
            -I${CMAKE_SOURCE_DIR}/include -I${CMAKE_SOURCE_DIR}/bpf -isystem /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
            -MD -MF ${object}.d -c ${source} -o ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "BPF ${arg_AS}")
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${MRC_BPFTOOL} gen skeleton ${object} name ${name}_bpf > ${skeleton}
    DEPENDS ${object}
    COMMENT "skeleton ${arg_AS}")
  add_custom_target(bpf_${arg_AS} DEPENDS ${skeleton})
  add_library(mrc_bpf_${arg_AS} INTERFACE)
  add_dependencies(mrc_bpf_${arg_AS} bpf_${arg_AS})
  # Generated code: system include, so that it is held to its own generator's warnings only.
  target_include_directories(mrc_bpf_${arg_AS} SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(mrc_bpf_${arg_AS} INTERFACE PkgConfig::libbpf)
endfunction()
