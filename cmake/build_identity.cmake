# Writes OUTPUT: what this build and its helper processes must agree on, a hash of the sources of what they tell each other.
# cmake -D SOURCE=.. -D OUTPUT=.. -P build_identity.cmake
file(GLOB_RECURSE sources LIST_DIRECTORIES false ${SOURCE}/include/*.h ${SOURCE}/src/support/*.[ch]* ${SOURCE}/src/ir/*.[ch]* ${SOURCE}/src/lang/*.[ch]*
     ${SOURCE}/src/poly/*.[ch]* ${SOURCE}/schedules/*.[ch]* ${SOURCE}/src/tools/isl_*.[ch]* ${SOURCE}/targets/workers/runner_protocol.*)
list(SORT sources)
set(all "")
foreach(source IN LISTS sources)
  file(SHA256 ${source} one)
  file(RELATIVE_PATH name ${SOURCE} ${source})
  string(APPEND all "${name} ${one}\n")
endforeach()
string(SHA256 identity "${all}")
string(SUBSTRING ${identity} 0 16 identity)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#include \"support/build_identity.h\"\n\nnamespace polyweft {\n\nconst char* build_identity() {\n  return \"${identity}\";\n}\n\n}  // namespace polyweft\n")
