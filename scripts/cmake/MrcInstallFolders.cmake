# SPDX-License-Identifier: Apache-2.0
# Folders to install into, as GNUInstallDirs names them, and how documents and links get there.
include_guard(GLOBAL)

# Debian has libraries in a folder per architecture, below /usr/local and /usr alike. GNUInstallDirs knows it for the
# prefix /usr only, which is the packages' prefix not before cpack runs.
if(EXISTS /etc/debian_version AND CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "libraries, below the prefix")
endif()
include(GNUInstallDirs)

# mrc_install_link(TARGET DESTINATION NAME COMPONENT): DESTINATION/NAME as a symbolic link to TARGET.
function(mrc_install_link target destination name component)
  set(work ${CMAKE_BINARY_DIR}/links/${destination})
  file(MAKE_DIRECTORY ${work})
  file(CREATE_LINK ${target} ${work}/${name} SYMBOLIC)
  install(FILES ${work}/${name} DESTINATION ${destination} COMPONENT ${component})
endfunction()

# mrc_install_compressed(FILE DESTINATION COMPONENT [NAME]): FILE as DESTINATION/NAME.gz, the same bytes each time.
function(mrc_install_compressed file destination component)
  get_filename_component(source ${file} ABSOLUTE)
  get_filename_component(name ${file} NAME)
  if(ARGC GREATER 3)
    set(name ${ARGV3})
  endif()
  set(work ${CMAKE_BINARY_DIR}/compressed/${component})
  install(CODE "
    file(MAKE_DIRECTORY \"${work}\")
    execute_process(COMMAND gzip -9nc \"${source}\" OUTPUT_FILE \"${work}/${name}.gz\" COMMAND_ERROR_IS_FATAL ANY)
    file(INSTALL \"${work}/${name}.gz\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${destination}\")"
    COMPONENT ${component})
endfunction()
