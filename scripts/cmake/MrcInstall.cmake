# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, besides libmrc (agent/client).
include_guard(GLOBAL)

install(TARGETS mrcd mrcctl mrc-doctor RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR} COMPONENT mrcd)
install(TARGETS mrc-perf mrc-sim mrc-switch RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mrcd)
foreach(page mrcd.8 mrcctl.8 mrc-doctor.8 mrc-perf.1 mrc-sim.1 mrc-switch.1)
  string(REGEX MATCH ".$" section ${page})
  mrc_install_compressed(docs/${page} ${CMAKE_INSTALL_MANDIR}/man${section} mrcd)
endforeach()
install(FILES docs/api.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libmrc-dev COMPONENT libmrc-dev)
install(DIRECTORY docs/examples DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libmrc-dev COMPONENT libmrc-dev)
install(FILES docs/security.md docs/interop.md docs/kernels.md docs/sockets.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mrcd COMPONENT mrcd)
install(FILES scripts/packaging/completions/mrcctl.bash DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions
        RENAME mrcctl COMPONENT mrcd)
install(FILES scripts/packaging/completions/_mrcctl DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions COMPONENT mrcd)

# Units name the daemon by its full path, and configuration is in /etc wherever the binaries are: both are known only
# when the prefix is, at installation.
configure_file(scripts/cmake/install_service.cmake.in ${CMAKE_BINARY_DIR}/install_service.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/install_service.cmake COMPONENT mrcd)

include(MrcPackages)
