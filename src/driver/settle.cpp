#include "driver/settle.h"

#include <algorithm>
#include <optional>

namespace polyweft {
namespace {

std::string counted(int count, const std::string& one, const std::string& several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

Error nothing_is_left(const std::vector<Winner>& winners, int failed, NestsFrom origin) {
  const bool has_base = std::any_of(winners.begin(), winners.end(),
                                    [](const Winner& winner) { return winner.measurement.strategy == "base"; });
  const int refuted = static_cast<int>(winners.size());
  std::string text = "no kernel can be kept:";
  if (failed > 0) text += " " + counted(failed, "candidate", "candidates") + " failed on this machine,";
  if (refuted > 0) text += " the checker refutes " + counted(refuted, "nest that ran", "nests that ran") + ",";
  text += has_base ? " the base nest among them" : " and the base nest did not run";
  std::vector<std::string> notes = {"run: polyweft run FILE --verify"};
  if (refuted > 0)
    notes.push_back(origin == NestsFrom::search
                        ? "a nest that is refuted is a defect of polyweft, please report this program"
                        : "the file holds other nests than a search makes: propose and measure again");
  return fail("PW0650", text, std::move(notes));
}

}  // namespace

Result<Settled> settle(const std::vector<Winner>& winners, int failed,
                       const std::function<Result<Certificate>(const Winner&)>& prove, NestsFrom origin) {
  Settled out;
  std::optional<size_t> kept;
  for (size_t k = 0; k < winners.size(); ++k) {
    auto certificate = prove(winners[k]);
    const Verdict verdict = certificate ? certificate->verdict : Verdict::not_proven;
    if (verdict == Verdict::refuted) {
      ++out.refuted;
      continue;
    }
    if (kept && verdict != Verdict::proven) continue;
    kept = k;
    out.certificate = certificate ? *certificate : Certificate{};
    if (verdict == Verdict::proven) break;
  }
  if (!kept) return nothing_is_left(winners, failed, origin);
  out.winner = *kept;
  return out;
}

}  // namespace polyweft
