// Of the library as a whole, and buffers.
#include "errors.h"
#include "handles.h"

using namespace polyweft::capi;

extern "C" {

const char* pw_version(void) {
  static const std::string version = polyweft::toolchain();
  return version.c_str();
}

pw_status pw_hold_host(const char* level) {
  if (!level) return null_argument("level");
  return guarded([&] {
    const auto held = polyweft::hold_host(level);
    return held ? PW_OK : fail_with(held.error());
  });
}

pw_status pw_add_instructions(const char* folder) {
  if (!folder) return null_argument("folder");
  return guarded([&] {
    const auto added = polyweft::add_instructions(folder);
    return added ? PW_OK : fail_with(added.error());
  });
}

pw_status pw_explain(const char* code, pw_buffer** out) {
  if (!code) return null_argument("code");
  if (!out) return null_argument("out");
  return guarded([&] {
    const auto text = polyweft::explain_code(code);
    if (!text) return fail_with(polyweft::fail("PW0007", "there is no message '" + std::string(code) + "'"));
    *out = new_buffer(*text);
    return PW_OK;
  });
}

const void* pw_buffer_data(const pw_buffer* buffer) {
  return buffer ? buffer->bytes.data() : nullptr;
}
size_t pw_buffer_bytes(const pw_buffer* buffer) {
  return buffer ? buffer->bytes.size() - 1 : 0;
}
void pw_buffer_free(pw_buffer* buffer) {
  delete buffer;
}

}  // extern "C"
