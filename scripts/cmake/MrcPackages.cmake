# SPDX-License-Identifier: Apache-2.0
# The Debian packages that `cpack --config build/CPackConfig.cmake` makes of what is installed: mrcd (daemon and tools),
# libmrc1, libmrc-dev, mrc-lab, mrc-nccl, and mrc-gloo and mrc-libfabric where libmrc-gloo.so and
# libmrc-fi.so are built.
include_guard(GLOBAL)

# Who answers for the packages; whoever hands them on gives an address that is read.
set(MRC_PACKAGE_MAINTAINER "mrc maintainers <maintainers@mrc.example>" CACHE STRING "maintainer of the Debian packages: NAME <ADDRESS>")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mrc)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own first line
set(CPACK_PACKAGE_CONTACT "${MRC_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL mrcd libmrc libmrc-dev mrc-lab mrc-nccl)
if(TARGET libmrc-gloo)
  list(APPEND CPACK_COMPONENTS_ALL mrc-gloo)
endif()
if(TARGET libmrc-fi)
  list(APPEND CPACK_COMPONENTS_ALL mrc-libfabric)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE mrc)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_MRCD_PACKAGE_NAME mrcd)
set(CPACK_DEBIAN_MRCD_PACKAGE_SECTION net)
set(CPACK_COMPONENT_MRCD_DESCRIPTION "Multipath Reliable Connection endpoint in software
mrcd makes a Linux host with several Ethernet ports an MRC endpoint: RDMA
writes over hundreds of SRv6 paths on several network planes, without a
special NIC. With it come mrcctl, mrc-doctor, mrc-perf, mrc-view, the lab's
switch and the simulator.")
# Charts of mrc-view.
set(CPACK_DEBIAN_MRCD_PACKAGE_RECOMMENDS libjs-chart.js)
set(CPACK_DEBIAN_LIBMRC_PACKAGE_NAME libmrc1)
set(CPACK_DEBIAN_LIBMRC_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBMRC_PACKAGE_RECOMMENDS "mrcd, libibverbs1")
set(CPACK_COMPONENT_LIBMRC_DESCRIPTION "OCP MRC API and its virtual verbs devices
Programs use the daemon mrcd of their host through this library, by the MRC
API of the Open Compute Project beside the verbs of libibverbs, in front of
which it shows each daemon as a device.")
set(CPACK_DEBIAN_LIBMRC-DEV_PACKAGE_NAME libmrc-dev)
set(CPACK_DEBIAN_LIBMRC-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBMRC-DEV_PACKAGE_DEPENDS "libmrc1 (= ${PROJECT_VERSION}-1), libibverbs-dev")
set(CPACK_COMPONENT_LIBMRC-DEV_DESCRIPTION "OCP MRC API: headers, examples, files for pkg-config and CMake
What is needed to build programs with the MRC API of the Open Compute Project,
which mrcd serves.")

set(CPACK_DEBIAN_MRC-LAB_PACKAGE_NAME mrc-lab)
set(CPACK_DEBIAN_MRC-LAB_PACKAGE_SECTION net)
set(CPACK_DEBIAN_MRC-LAB_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_MRC-LAB_PACKAGE_DEPENDS "mrcd (= ${PROJECT_VERSION}-1), ethtool, iproute2, python3 (>= 3.11)")
set(CPACK_COMPONENT_MRC-LAB_DESCRIPTION "fabric of several planes for mrcd, made of network namespaces
mrc-lab builds hosts, switches and links of a multi-plane network on one
machine, runs mrcd on each host, and cuts, restores and impairs links.")

set(CPACK_DEBIAN_MRC-GLOO_PACKAGE_NAME mrc-gloo)
set(CPACK_DEBIAN_MRC-GLOO_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_MRC-GLOO_PACKAGE_DEPENDS "libmrc1 (= ${PROJECT_VERSION}-1), python3:any")
set(CPACK_DEBIAN_MRC-GLOO_PACKAGE_RECOMMENDS "mrcd, python3-torch")
set(CPACK_COMPONENT_MRC-GLOO_DESCRIPTION "Gloo transport over MRC, for PyTorch's collectives
PyTorch programs whose process groups use Gloo carry their collectives over
all network planes of their hosts when GLOO_DEVICE_TRANSPORT=MRC is set.")

set(CPACK_DEBIAN_MRC-NCCL_PACKAGE_NAME mrc-nccl)
set(CPACK_DEBIAN_MRC-NCCL_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_MRC-NCCL_PACKAGE_DEPENDS "libmrc1 (= ${PROJECT_VERSION}-1)")
set(CPACK_DEBIAN_MRC-NCCL_PACKAGE_RECOMMENDS "mrcd")
set(CPACK_COMPONENT_MRC-NCCL_DESCRIPTION "NCCL network plug-in over MRC
NCCL carries what GPUs of different hosts exchange over all network planes of
the hosts when NCCL_NET_PLUGIN=mrc is set. Data is staged in host memory.")

set(CPACK_DEBIAN_MRC-LIBFABRIC_PACKAGE_NAME mrc-libfabric)
set(CPACK_DEBIAN_MRC-LIBFABRIC_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_MRC-LIBFABRIC_PACKAGE_DEPENDS "libmrc1 (= ${PROJECT_VERSION}-1)")
set(CPACK_DEBIAN_MRC-LIBFABRIC_PACKAGE_RECOMMENDS "mrcd, libfabric-bin")
set(CPACK_COMPONENT_MRC-LIBFABRIC_DESCRIPTION "libfabric provider over MRC
Programs of libfabric exchange messages and write into each other's memory
over all network planes of their hosts by the provider mrc.")

foreach(component MRCD LIBMRC MRC-GLOO MRC-NCCL MRC-LIBFABRIC)
  set(CPACK_DEBIAN_${component}_PACKAGE_SHLIBDEPS ON)
endforeach()
# mrc-perf needs libmrc: dpkg-shlibdeps passes over libraries that no installed package has.
set(CPACK_DEBIAN_MRCD_PACKAGE_DEPENDS "libmrc1 (= ${PROJECT_VERSION}-1)")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(debian ${CMAKE_SOURCE_DIR}/scripts/packaging/debian)
set(CPACK_DEBIAN_MRCD_PACKAGE_CONTROL_EXTRA ${debian}/postinst ${debian}/prerm ${debian}/postrm)
set(CPACK_DEBIAN_LIBMRC_PACKAGE_CONTROL_EXTRA ${debian}/triggers)
set(CPACK_DEBIAN_MRC-GLOO_PACKAGE_CONTROL_EXTRA ${debian}/triggers)
set(CPACK_DEBIAN_MRC-NCCL_PACKAGE_CONTROL_EXTRA ${debian}/triggers)

# What each package says of itself.
configure_file(${debian}/changelog.in ${CMAKE_BINARY_DIR}/packaging/changelog @ONLY)
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(folder ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package})
  install(FILES ${debian}/copyright DESTINATION ${folder} COMPONENT ${component})
  mrc_install_compressed(${CMAKE_BINARY_DIR}/packaging/changelog ${folder} ${component} changelog.Debian)
  mrc_install_compressed(CHANGELOG.md ${folder} ${component} changelog)
  if(EXISTS ${debian}/${package}.lintian-overrides)
    install(FILES ${debian}/${package}.lintian-overrides DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides
            COMPONENT ${component} RENAME ${package})
  endif()
endforeach()
include(MrcRpm)
include(CPack)
