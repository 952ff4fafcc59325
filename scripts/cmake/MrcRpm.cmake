# SPDX-License-Identifier: Apache-2.0
# The same packages for rpm: `cpack --config build/CPackConfig.cmake -G RPM`, where rpmbuild is. They are for the distribution
# that they are built on, whose folders and libraries they name.
include_guard(GLOBAL)

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0 AND (GPL-2.0-only OR BSD-2-Clause)")
set(CPACK_RPM_PACKAGE_VENDOR "mrc")
set(CPACK_RPM_PACKAGE_GROUP "System Environment/Daemons")
# No links to debuggers' files, which are not packaged.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none")
# Folders of the system, beyond those that CPack knows.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    /usr/lib/systemd /usr/lib/systemd/system /usr/lib/sysusers.d /usr/lib/tmpfiles.d /usr/lib/python3
    /usr/lib/python3/dist-packages /usr/share/bash-completion /usr/share/bash-completion/completions
    /usr/share/zsh /usr/share/zsh/site-functions
    /usr/sbin /usr/share/man /usr/share/man/man1 /usr/share/man/man7 /usr/share/man/man8
    /usr/${CMAKE_INSTALL_LIBDIR} /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig /usr/${CMAKE_INSTALL_LIBDIR}/cmake
    /usr/${CMAKE_INSTALL_LIBDIR}/libfabric)

set(version "${PROJECT_VERSION}-${CPACK_RPM_PACKAGE_RELEASE}")
set(CPACK_RPM_MRCD_PACKAGE_NAME mrcd)
set(CPACK_RPM_MRCD_PACKAGE_REQUIRES "libmrc1 = ${version}")
foreach(script post preun postun)
  string(TOUPPER ${script} upper)
  set(in_cpack_POST POST_INSTALL)
  set(in_cpack_PREUN PRE_UNINSTALL)
  set(in_cpack_POSTUN POST_UNINSTALL)
  set(CPACK_RPM_MRCD_${in_cpack_${upper}}_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/scripts/packaging/rpm/${script})
endforeach()
set(CPACK_RPM_LIBMRC_PACKAGE_NAME libmrc1)
set(CPACK_RPM_LIBMRC-DEV_PACKAGE_NAME libmrc-devel)
set(CPACK_RPM_LIBMRC-DEV_PACKAGE_REQUIRES "libmrc1 = ${version}")
set(CPACK_RPM_MRC-LAB_PACKAGE_NAME mrc-lab)
set(CPACK_RPM_MRC-LAB_PACKAGE_ARCHITECTURE noarch)
set(CPACK_RPM_MRC-LAB_PACKAGE_REQUIRES "mrcd = ${version}, ethtool, iproute, python3 >= 3.11")
foreach(adapter mrc-gloo mrc-nccl mrc-libfabric)
  string(TOUPPER ${adapter} upper)
  set(CPACK_RPM_${upper}_PACKAGE_NAME ${adapter})
  set(CPACK_RPM_${upper}_PACKAGE_REQUIRES "libmrc1 = ${version}")
endforeach()
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/scripts/cmake/rpm_contents.cmake)
