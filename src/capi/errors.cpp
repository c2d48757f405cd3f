#include "errors.h"

#include "polyweft/tuner.h"

namespace polyweft::capi {
namespace {

thread_local std::string message, code;

static_assert(static_cast<int>(ErrorKind::no) == PW_NO && static_cast<int>(ErrorKind::bad_input) == PW_BAD_INPUT &&
              static_cast<int>(ErrorKind::environment) == PW_ENVIRONMENT &&
              static_cast<int>(ErrorKind::internal) == PW_INTERNAL);

}  // namespace

pw_status status_of(const Error& error) {
  return static_cast<pw_status>(kind_of(error.code));
}

pw_status fail_with(const Error& error, const std::string& source_text) {
  message = render(error, source_text);
  code = error.code;
  return status_of(error);
}

pw_status null_argument(const std::string& name) {
  return fail_with(fail("PW0021", name + " is NULL"));
}
pw_status no_size(const char* type) {
  return fail_with(fail("PW0022", std::string(type) + ": struct_size is not set"));
}
pw_status out_of_range(const std::string& what) {
  return fail_with(fail("PW0023", what));
}
pw_status unexpected(const std::string& what) {
  return fail_with(fail("PW0024", what));
}

const std::string& last_message() {
  return message;
}
const std::string& last_message_code() {
  return code;
}

}  // namespace polyweft::capi

extern "C" {

const char* pw_last_error(void) {
  return polyweft::capi::last_message().c_str();
}
const char* pw_last_error_code(void) {
  return polyweft::capi::last_message_code().c_str();
}

}  // extern "C"
