# SPDX-License-Identifier: Apache-2.0
# Run by cpack when all is installed into its own folder: what only Debian has leaves packages for rpm.
if(CPACK_GENERATOR STREQUAL RPM)
  file(GLOB only_debian ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/usr/share/lintian
       ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/usr/share/doc/*/changelog.Debian.gz)
  if(only_debian)
    file(REMOVE_RECURSE ${only_debian})
  endif()
  file(GLOB completions ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/usr/share/zsh/vendor-completions)
  foreach(folder ${completions})
    string(REPLACE vendor-completions site-functions elsewhere ${folder})
    file(RENAME ${folder} ${elsewhere})
  endforeach()
endif()
