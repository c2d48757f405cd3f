#include <Halide.h>

#include <cstdio>

/// write_runtime TARGET OBJECT
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Halide::Target target(argv[1]);
  Halide::compile_standalone_runtime(
      std::map<Halide::OutputFileType, std::string>{{Halide::OutputFileType::object, argv[2]}}, target);
  return 0;
}
