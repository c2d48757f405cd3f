// polyweft-isl: answers polyhedral questions on standard input and output. The parent sets deadline and memory limit
// and may kill it at any time; answers depend on their question alone.
#include <unistd.h>

#include "support/limits.h"
#include "support/subprocess.h"
#include "tools/isl_requests.h"

int main() {
  polyweft::die_with_parent(getppid());
  polyweft::exit_when_out_of_memory();
  return polyweft::serve_requests(
      [](std::string_view request) { return polyweft::tools::answer_isl_request(request); });
}
