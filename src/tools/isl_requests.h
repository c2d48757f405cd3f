// The questions that polyweft-isl answers. One JSON object in, one out; the other side is the host's IslClient.
//
//   {"op": "check", "source": TEXT, "file": NAME, "program": NAME}                    -> {"errors": [..], "warnings":
//   [..]}
//   {"op": "base", .., "binding": [..], "class": "strict", "workspace": BYTES}        -> {"nest": TEXT}
//   {"op": "show", .., "stage": "scop" | "dependences" | "schedule"}                  -> {"text": TEXT}
//   {"op": "band", .., "binding": [..], "question": {..}}                             -> {"relations": [..], "lo",
//   "hi", "inside"}
//   {"op": "bands", .., "binding": [..]}                                              -> [{"statements": [..], "names":
//   [..]}, ..]
//   {"op": "prove", .., "binding": [..], "class": "strict", "nest": TEXT}             -> {"verdict", "why", "checker",
//   "isl", "ms"}
//
// Questions and answers about bands: poly/band_json.h; their equations are those of the bound, normalized program,
// which both sides derive alike. An answer is {"ok": VALUE} or {"error": {"code", "message", "notes", "diagnostics"}}.
// Nothing in a request is believed: the text is parsed again under the limits of the language, the binding is checked
// against the assumptions.
#pragma once

#include <string>
#include <string_view>

namespace polyweft::tools {

/// Never throws; a request that is not understood is answered with PW0605.
std::string answer_isl_request(std::string_view request);

}  // namespace polyweft::tools
