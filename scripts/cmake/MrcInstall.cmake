# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, besides libmrc (agent/client).
include_guard(GLOBAL)

install(TARGETS mrcd mrcctl mrc-doctor mrc-view RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR} COMPONENT mrcd)
install(TARGETS mrc-perf mrc-sim mrc-switch RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mrcd)
foreach(page mrcd.8 mrcctl.8 mrc-doctor.8 mrc-view.8 mrc-perf.1 mrc-sim.1 mrc-switch.1)
  string(REGEX MATCH ".$" section ${page})
  mrc_install_compressed(docs/${page} ${CMAKE_INSTALL_MANDIR}/man${section} mrcd)
endforeach()
# The page of mrc-view, which finds it by the prefix.
install(DIRECTORY agent/tools/mrc-view/page/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/mrc/view COMPONENT mrcd)
install(FILES docs/api.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libmrc-dev COMPONENT libmrc-dev)
install(DIRECTORY docs/examples DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libmrc-dev COMPONENT libmrc-dev)
install(FILES docs/containers.md docs/embedded.md docs/security.md docs/interop.md docs/kernels.md docs/sockets.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mrcd COMPONENT mrcd)

# bash looks for a file of each program's name; zsh reads in the file which programs it is for.
set(completions ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions)
install(FILES scripts/packaging/completions/mrc.bash DESTINATION ${completions} RENAME mrcctl COMPONENT mrcd)
mrc_install_link(mrcctl ${completions} mrc-doctor mrcd)
mrc_install_link(mrcctl ${completions} mrc-perf mrcd)
mrc_install_link(mrcctl ${completions} mrc-view mrcd)
mrc_install_link(mrcctl ${completions} mrc-lab mrc-lab)
install(FILES scripts/packaging/completions/_mrc DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions COMPONENT mrcd)

# mrc-lab is Python in a folder of its own, which the command in the prefix points into; it finds the daemons by the prefix.
install(PROGRAMS scripts/mrc-lab DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/mrc-lab COMPONENT mrc-lab)
install(DIRECTORY scripts/lab DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/mrc-lab COMPONENT mrc-lab
        FILES_MATCHING PATTERN *.py
        PATTERN stage.py EXCLUDE # of the demonstrations
        PATTERN __pycache__ EXCLUDE)
mrc_install_link(../share/mrc-lab/mrc-lab ${CMAKE_INSTALL_BINDIR} mrc-lab mrc-lab)
mrc_install_compressed(docs/mrc-lab.1 ${CMAKE_INSTALL_MANDIR}/man1 mrc-lab)

# An example and no more: a configuration names the host's ports, which `mrcctl setup` or the operator knows.
install(FILES docs/mrcd.toml DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mrcd/examples COMPONENT mrcd)

# Units name the daemon by its full path, which is known only when the prefix is, at installation.
configure_file(scripts/cmake/install_service.cmake.in ${CMAKE_BINARY_DIR}/install_service.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/install_service.cmake COMPONENT mrcd)

include(MrcPackages)
