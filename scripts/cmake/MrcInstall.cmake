# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, besides libmrc (agent/client), and the Debian packages that cpack makes of it:
# mrcd (daemon and tools), libmrc1, libmrc-dev.
include_guard(GLOBAL)
include(GNUInstallDirs)

install(TARGETS mrcd mrcctl mrc-doctor RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR} COMPONENT mrcd)
install(TARGETS mrc-perf mrc-sim mrc-switch RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mrcd)
install(FILES docs/mrcd.8 docs/mrcctl.8 docs/mrc-doctor.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT mrcd)
install(FILES docs/mrc-perf.1 docs/mrc-sim.1 docs/mrc-switch.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT mrcd)
install(FILES docs/api.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libmrc-dev COMPONENT libmrc-dev)
install(FILES docs/security.md docs/interop.md docs/kernels.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mrcd COMPONENT mrcd)

# Units name the daemon by its full path, and configuration is in /etc wherever the binaries are: both are known only
# when the prefix is, at installation.
configure_file(scripts/cmake/install_service.cmake.in ${CMAKE_BINARY_DIR}/install_service.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/install_service.cmake COMPONENT mrcd)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mrc)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the mrc maintainers <root@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL mrcd libmrc libmrc-dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_MRCD_PACKAGE_NAME mrcd)
set(CPACK_DEBIAN_MRCD_PACKAGE_SECTION net)
set(CPACK_COMPONENT_MRCD_DESCRIPTION "Multipath Reliable Connection endpoint in software
 mrcd makes a Linux host with several Ethernet ports an MRC endpoint; with it
 come mrcctl, mrc-doctor, mrc-perf, the lab's switch and the simulator.")
set(CPACK_DEBIAN_LIBMRC_PACKAGE_NAME libmrc1)
set(CPACK_DEBIAN_LIBMRC_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBMRC_PACKAGE_RECOMMENDS "mrcd, libibverbs1")
set(CPACK_COMPONENT_LIBMRC_DESCRIPTION "OCP MRC API and its virtual verbs devices")
set(CPACK_DEBIAN_LIBMRC-DEV_PACKAGE_NAME libmrc-dev)
set(CPACK_DEBIAN_LIBMRC-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBMRC-DEV_PACKAGE_DEPENDS "libmrc1 (= ${PROJECT_VERSION}-1), libibverbs-dev")
set(CPACK_COMPONENT_LIBMRC-DEV_DESCRIPTION "OCP MRC API: headers, pkg-config file and link names")

foreach(component MRCD LIBMRC)
  set(CPACK_DEBIAN_${component}_PACKAGE_SHLIBDEPS ON)
endforeach()
# mrc-perf needs libmrc: dpkg-shlibdeps passes over libraries that no installed package has.
set(CPACK_DEBIAN_MRCD_PACKAGE_DEPENDS "libmrc1 (= ${PROJECT_VERSION}-1)")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(debian ${CMAKE_SOURCE_DIR}/scripts/packaging/debian)
set(CPACK_DEBIAN_MRCD_PACKAGE_CONTROL_EXTRA ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)
include(CPack)
