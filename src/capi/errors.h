// Errors become a status and this thread's message; no exception leaves a C function.
#pragma once

#include <exception>
#include <string>

#include "polyweft/c_api.h"
#include "polyweft/result.h"

namespace polyweft::capi {

pw_status status_of(const Error& error);
/// `source_text`: of the program that the message is about; may be empty.
pw_status fail_with(const Error& error, const std::string& source_text = "");
/// PW0021.
pw_status null_argument(const std::string& name);
/// PW0022: "pw_task_options".
pw_status no_size(const char* type);
/// PW0023.
pw_status out_of_range(const std::string& what);
/// PW0024.
pw_status unexpected(const std::string& what);
const std::string& last_message();
const std::string& last_message_code();

template <class F>
pw_status guarded(const F& body) {
  try {
    return body();
  } catch (const std::exception& problem) {
    return unexpected(problem.what());
  } catch (...) {
    return unexpected("unknown exception");
  }
}

}  // namespace polyweft::capi
