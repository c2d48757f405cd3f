// Programs from text.
#include "errors.h"
#include "handles.h"

using namespace polyweft::capi;

namespace {

/// The first program, or the one of this name.
pw_status parse(const char* text, const char* name, pw_program** out) {
  auto parsed = polyweft::parse_programs(text, "");
  if (!parsed) return fail_with(parsed.error(), text);
  for (auto& program : parsed->programs) {
    if (name && program.name != name) continue;
    std::string key = polyweft::program_key(program);
    *out = new pw_program{std::move(program), std::move(key)};
    return PW_OK;
  }
  return fail_with(polyweft::fail("PW0002", "the text has no program '" + std::string(name ? name : "") + "'"));
}

}  // namespace

extern "C" {

pw_status pw_program_parse(const char* text, pw_program** out) {
  if (!text) return null_argument("text");
  if (!out) return null_argument("out");
  return guarded([&] { return parse(text, nullptr, out); });
}
pw_status pw_program_parse_named(const char* text, const char* name, pw_program** out) {
  if (!text) return null_argument("text");
  if (!name) return null_argument("name");
  if (!out) return null_argument("out");
  return guarded([&] { return parse(text, name, out); });
}
const char* pw_program_name(const pw_program* program) {
  return program ? program->program.name.c_str() : "";
}
void pw_program_free(pw_program* program) {
  delete program;
}
const char* pw_program_key(const pw_program* program) {
  return program ? program->key.c_str() : "";
}

}  // extern "C"
