// Which system calls the runner's two kinds of processes may make, as programs for Linux. By libseccomp
// (runner_filters.cpp); built without it there are none.
#pragma once

#include <linux/filter.h>

#include <string>
#include <vector>

namespace polyweft::runner {

/// Installs the supervisor's filter in this process: false where there is none.
bool restrict_supervisor_calls();
/// The compiled program of a candidate's filter, so that each process installs it with one system call; empty: there is
/// none.
std::vector<sock_filter> candidate_program();
/// "socket", or the number as text where the name is unknown.
std::string system_call_name(int number);

}  // namespace polyweft::runner
