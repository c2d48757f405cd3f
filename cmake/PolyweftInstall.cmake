# cmake --install: the shared library with headers, the command line, the helper processes, and the two ways to find them.
include(CMakePackageConfigHelpers)

set(PW_INSTALL_HELPERS ${CMAKE_INSTALL_LIBEXECDIR}/polyweft)
set(PW_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/Polyweft)
file(RELATIVE_PATH PW_LIBRARY_FROM_PROGRAMS ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})

install(TARGETS libpolyweft EXPORT PolyweftTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/polyweft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/targets/cpu/polyweft_kernel.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/schedules/library ${PROJECT_SOURCE_DIR}/targets/descriptions
  ${PROJECT_SOURCE_DIR}/targets/instructions DESTINATION ${CMAKE_INSTALL_DATADIR}/polyweft)
# Searches find it from the build tree in the same place, relative to the programs.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/polyweft)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/schedules/library ${PROJECT_BINARY_DIR}/share/polyweft/library SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/targets/descriptions ${PROJECT_BINARY_DIR}/share/polyweft/descriptions SYMBOLIC)
if(TARGET polyweft)
  set_target_properties(polyweft PROPERTIES INSTALL_RPATH "$ORIGIN/${PW_LIBRARY_FROM_PROGRAMS}")
  install(TARGETS polyweft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/polyweft)
  set(PW_PAGES ${PROJECT_BINARY_DIR}/src/cli/pages)
  install(FILES ${PW_PAGES}/polyweft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PW_PAGES}/polyweft DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PW_PAGES}/_polyweft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${PW_PAGES}/polyweft.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
foreach(helper polyweft-isl polyweft-runner polyweft-device)
  if(TARGET ${helper})
    install(TARGETS ${helper} RUNTIME DESTINATION ${PW_INSTALL_HELPERS})
  endif()
endforeach()

install(EXPORT PolyweftTargets NAMESPACE Polyweft:: DESTINATION ${PW_INSTALL_CMAKE})
configure_package_config_file(cmake/PolyweftConfig.cmake.in ${PROJECT_BINARY_DIR}/PolyweftConfig.cmake INSTALL_DESTINATION ${PW_INSTALL_CMAKE})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PolyweftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/PolyweftConfig.cmake ${PROJECT_BINARY_DIR}/PolyweftConfigVersion.cmake DESTINATION ${PW_INSTALL_CMAKE})

# Relative to the .pc file, so that an installed tree can be moved and packaged with any prefix.
file(RELATIVE_PATH PW_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/polyweft.pc.in ${PROJECT_BINARY_DIR}/polyweft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/polyweft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
