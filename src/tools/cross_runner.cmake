# polyweft_cross_runner(ARCHITECTURE COMPILER RUNTIME): polyweft-runner-ARCHITECTURE, a runner for another machine or an emulator of it, by a cross compiler. Built where
# somebody asks for it (tests, or cmake --build with the target polyweft-runner-ARCHITECTURE-program), installed where it was built. It is without the filter of libseccomp, whose libraries Debian has no cross
# packages of; the greeting says so.
function(polyweft_cross_runner architecture compiler runtime)
  set(name polyweft-runner-${architecture})
  set(sources ${PROJECT_SOURCE_DIR}/targets/workers/runner_protocol.cpp ${PROJECT_SOURCE_DIR}/targets/workers/device_client.cpp ${CMAKE_BINARY_DIR}/src/support/build_identity.cpp
    ${PROJECT_SOURCE_DIR}/targets/gpu/cuda/ptx_machines.cpp ${PROJECT_SOURCE_DIR}/targets/batches/batch_file.cpp ${PROJECT_SOURCE_DIR}/targets/batches/batch_race.cpp
    ${PROJECT_SOURCE_DIR}/src/ir/values/records.cpp)
  foreach(part cpu_features cpu_levels files framing helper_path limits same_build stats subprocess turns)
    list(APPEND sources ${PROJECT_SOURCE_DIR}/src/support/${part}.cpp)
  endforeach()
  file(GLOB own CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/runner*.cpp)
  list(FILTER own EXCLUDE REGEX "runner_filters\\.cpp$")
  set(objects)
  foreach(source IN LISTS sources own)
    get_filename_component(stem ${source} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${architecture}/${stem}.o)
    add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d COMMENT "Building ${name}: ${stem}" VERBATIM
      COMMAND ${compiler} -std=c++20 -O2 -g0 -w -ffp-contract=off -fPIE -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}
        -I${PROJECT_BINARY_DIR}/cmake/halide_runtime/include -MD -MF ${object}.d -c ${source} -o ${object})
    list(APPEND objects ${object})
  endforeach()
  # Kernels find halide_* in it, and may call the mathematics library.
  set(program ${CMAKE_CURRENT_BINARY_DIR}/${name})
  add_custom_command(OUTPUT ${program} DEPENDS ${objects} ${runtime} COMMENT "Linking ${name}" VERBATIM
    COMMAND ${compiler} -pie -rdynamic -static-libstdc++ -static-libgcc ${objects} ${runtime} -o ${program} -pthread -ldl -Wl,--no-as-needed -lm)
  add_custom_target(${name}-program DEPENDS ${program})
  install(PROGRAMS ${program} DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/polyweft OPTIONAL)
endfunction()
