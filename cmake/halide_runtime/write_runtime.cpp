#include <Halide.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Halide::Target target("x86-64-linux");
  Halide::compile_standalone_runtime(std::map<Halide::OutputFileType, std::string>{{Halide::OutputFileType::object, argv[1]}}, target);
  return 0;
}
