#include "driver/isl_client.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "ir/nests/added_instructions.h"
#include "poly/band_json.h"
#include "support/build_identity.h"
#include "support/subprocess.h"

namespace polyweft {
namespace {

using json = nlohmann::json;

/// An error about the nest, which is no nest, or none of this class: it says more than "not decided".
bool refutes(const Error& error) {
  return error.code.starts_with("PW04") && error.code != "PW0409";
}

Diagnostic diagnostic_from(const json& j) {
  Diagnostic d;
  d.severity = j.at("severity") == "error" ? Severity::error : Severity::warning;
  d.code = j.at("code");
  d.text = j.at("text");
  d.where = {j.at("line"), j.at("column"), j.at("length")};
  d.notes = j.at("notes").get<std::vector<std::string>>();
  return d;
}

std::vector<Diagnostic> diagnostics_from(const json& list) {
  std::vector<Diagnostic> out;
  for (const auto& j : list) out.push_back(diagnostic_from(j));
  return out;
}

Error error_from(const json& j, const std::string& source_name) {
  Error error = fail(j.at("code"), j.at("message"), j.at("notes").get<std::vector<std::string>>());
  error.diagnostics = diagnostics_from(j.at("diagnostics"));
  error.source_name = source_name;
  return error;
}

// Never with a byte replaced: what is proven must be what was given.
Result<std::string> request_text(const json& request) {
  try {
    return request.dump();
  } catch (const json::exception&) {
    return fail("PW0101", "the text of the program or of its nest is not UTF-8");
  }
}

// A file may be called anything; the helper needs its name for messages only.
std::string name_in_utf8(const std::string& name) {
  return request_text(name) ? name : "";
}

json described_request(const Program& program) {
  return {{"source", program.source_text.empty() ? print(program) : program.source_text},
          {"file", name_in_utf8(program.source_name)},
          {"program", program.name}};
}

json described_request(const Task& task) {
  json j = described_request(task.source);
  j["binding"] = task.binding;
  j["class"] = name_of(task.key.cls);
  return j;
}

// A stop by quota is isl's own refusal and comes as a normal answer; what ends the process is said in the words of the
// limits.
Error limit_error(const Error& error, std::chrono::milliseconds deadline) {
  if (error.code == "PW0602")
    return fail(
        "PW0831",
        "the polyhedral analysis did not end within " + std::to_string(deadline.count()) + " ms of processor time",
        {"simplify the guards and subscripts (each floor division, remainder and 'or' multiplies the cases), or give "
         "more time"});
  if (error.code == "PW0603")
    return fail("PW0832", "the polyhedral analysis ran out of memory",
                {"simplify the guards and subscripts of the program"});
  if (error.code == "PW0601")
    return fail("PW0833", "the polyhedral analysis ended unexpectedly: " + error.message,
                {"the program is refused; nothing was stored"});
  return error;
}

std::string stage_of(const std::string& operation) {
  static const std::map<std::string, std::string> kStages = {{"check", "isl: checks of the program"},
                                                             {"base", "isl: base order"},
                                                             {"bands", "isl: bands"},
                                                             {"band", "isl: facts of bands"},
                                                             {"prove", "isl: proof"},
                                                             {"symbolic", "isl: base order"},
                                                             {"show", "isl: show"},
                                                             {"dependences", "isl: dependences"}};
  const auto found = kStages.find(operation);
  return found == kStages.end() ? "isl" : found->second;
}

/// For one question.
class OtherDeadline {
 public:
  OtherDeadline(std::chrono::milliseconds& deadline, std::optional<std::chrono::milliseconds> most)
      : deadline_(deadline), usual_(deadline) {
    if (most) deadline = *most;
  }
  ~OtherDeadline() { deadline_ = usual_; }
  OtherDeadline(const OtherDeadline&) = delete;
  OtherDeadline& operator=(const OtherDeadline&) = delete;

 private:
  std::chrono::milliseconds& deadline_;
  const std::chrono::milliseconds usual_;
};

}  // namespace

struct IslClient::Impl {
  Options options;
  std::optional<WorkerProcess> worker;

  std::chrono::nanoseconds counted{};

  /// What helpers have used since the last time belongs to this stage.
  void count(const std::string& stage) {
    const auto used = worker->processor_time();
    if (StageTimes* times = times_of(options.call)) times->add(stage, used - counted);
    counted = used;
  }

  Status start() {
    if (worker && worker->running()) return Ok{};
    if (!worker)
      if (Status launched = launch(); !launched) return launched;
    const Status greeted = greet();
    count("isl: start of the helper");
    return greeted;
  }

  /// Each new process: the file may be another one by now.
  Status greet() {
    const json hello = {{"op", "hello"}, {"instructions", ir::added_instruction_texts()}};
    auto answer = worker->call(hello.dump(-1, ' ', true, json::error_handler_t::replace), options.deadline);
    if (!answer) return limit_error(answer.error(), options.deadline);
    const json reply = json::parse(*answer, nullptr, false);
    const json* build =
        reply.is_object() && reply.contains("ok") && reply["ok"].is_object() && reply["ok"].contains("build")
            ? &reply["ok"]["build"]
            : nullptr;
    Status same = same_build(options.helper, build && build->is_string() ? build->get<std::string>() : "");
    if (!same) worker->stop();
    return same;
  }

  Status launch() {
    WorkerOptions worker_options;
    worker_options.argv = {options.helper};
    worker_options.limits.address_space_bytes = options.memory_bytes;
    worker_options.wall_factor = 6;
    if (Call* call = options.call) worker_options.is_stopped = [call] { return call->stop.is_due(); };
    auto started = WorkerProcess::start(std::move(worker_options));
    if (!started) return started.error();
    worker.emplace(std::move(started).value());
    return Ok{};
  }

  /// The helper's, which depend on their question alone, isl's quota included; stops by deadline or memory are not
  /// kept.
  KeptAnswers own;
  size_t cut_offs = 0;

  Result<std::string> answer_to(const char* operation, const std::string& question) {
    KeptAnswers& kept = options.kept ? *options.kept : own;
    if (auto known = kept.find(question)) return std::move(*known);
    if (auto started = start(); !started) return started.error();
    auto answer = worker->call(question, options.deadline);
    count(stage_of(operation));
    cut_offs += !answer;
    if (!answer) return limit_error(answer.error(), options.deadline);
    kept.keep(question, *answer);
    return answer;
  }

  Result<json> ask(const char* operation, json request, const std::string& source_name) {
    request["op"] = operation;
    auto text = request_text(request);
    if (!text) return text.error();
    auto answer = answer_to(operation, *text);
    if (!answer) return answer.error();
    try {
      json reply = json::parse(*answer);
      if (reply.contains("error")) return error_from(reply.at("error"), source_name);
      return reply.at("ok");
    } catch (const json::exception& problem) {
      return fail("PW0605", std::string("the polyhedral helper sent a malformed answer: ") + problem.what());
    }
  }

  /// `read` turns the answer into a value; a malformed one is an error, not an exception.
  template <class T, class F>
  Result<T> ask_for(const char* operation, json request, const std::string& source_name, const F& read) {
    auto reply = ask(operation, std::move(request), source_name);
    if (!reply) return reply.error();
    try {
      return read(*reply);
    } catch (const json::exception& problem) {
      return fail("PW0605", std::string("the polyhedral helper sent a malformed answer: ") + problem.what());
    }
  }

  CheckReport checked(json request, const std::string& source_name) {
    auto report =
        ask_for<CheckReport>("check", std::move(request), source_name, [](const json& reply) -> Result<CheckReport> {
          return CheckReport{diagnostics_from(reply.at("errors")), diagnostics_from(reply.at("warnings"))};
        });
    if (report) return std::move(report).value();
    CheckReport failed;
    failed.errors = report.error().diagnostics;
    if (failed.errors.empty())
      failed.errors.push_back({Severity::error, report.error().code, report.error().message, {}, report.error().notes});
    return failed;
  }
};

IslClient::IslClient(Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
}
IslClient::~IslClient() = default;

std::chrono::milliseconds IslClient::deadline() const {
  return impl_->options.deadline;
}

int64_t IslClient::workspace_limit_bytes() const {
  return impl_->options.workspace_limit_bytes;
}

size_t IslClient::cut_offs() const {
  return impl_->cut_offs;
}

CheckReport IslClient::check(const Program& program, const std::map<std::string, int64_t>& sizes) {
  json request = described_request(program);
  request["sizes"] = sizes;
  return impl_->checked(std::move(request), program.source_name);
}

CheckReport IslClient::check_at(const Task& task) {
  return impl_->checked(described_request(task), task.source.source_name);
}

Result<LoopNest> IslClient::bound_nest(const Task& task) {
  json request = described_request(task);
  request["workspace"] = impl_->options.workspace_limit_bytes;
  request["bounds"] = true;
  return impl_->ask_for<LoopNest>("base", std::move(request), task.source.source_name,
                                  [](const json& reply) { return parse_loop_nest(reply.at("nest")); });
}

Result<LoopNest> IslClient::base_nest(const Task& task, bool leanest) {
  json request = described_request(task);
  request["leanest"] = leanest;
  request["workspace"] = impl_->options.workspace_limit_bytes;
  return impl_->ask_for<LoopNest>("base", std::move(request), task.source.source_name,
                                  [](const json& reply) { return parse_loop_nest(reply.at("nest")); });
}

Result<LoopNest> IslClient::symbolic_nest(const Task& task) {
  return impl_->ask_for<LoopNest>("symbolic", described_request(task), task.source.source_name,
                                  [](const json& reply) { return parse_loop_nest(reply.at("nest")); });
}

Result<Certificate> IslClient::prove(const Task& task, const std::string& nest_text, std::string* why,
                                     std::optional<std::chrono::milliseconds> most) {
  json request = described_request(task);
  request["nest"] = nest_text;
  const OtherDeadline other(impl_->options.deadline, most);
  auto certificate = impl_->ask_for<Certificate>(
      "prove", std::move(request), task.source.source_name, [&](const json& reply) -> Result<Certificate> {
        if (why) *why = reply.at("why");
        return Certificate{static_cast<Verdict>(reply.at("verdict").get<int>()), reply.at("checker"), reply.at("isl"),
                           reply.at("ms")};
      });
  if (certificate || !refutes(certificate.error())) return certificate;
  if (why) *why = certificate.error().code + ": " + certificate.error().message;
  return Certificate{.verdict = Verdict::refuted};
}

Result<poly::BandFacts> IslClient::band_facts(const Task& task, const poly::BandQuestion& question,
                                              std::optional<std::chrono::milliseconds> most) {
  const OtherDeadline other(impl_->options.deadline, most);
  json request = described_request(task);
  request["question"] = poly::to_json(question);
  return impl_->ask_for<poly::BandFacts>(
      "band", std::move(request), task.source.source_name,
      [](const json& reply) -> Result<poly::BandFacts> { return poly::facts_from(reply); });
}

Result<std::vector<poly::BandProposal>> IslClient::propose_bands(const Task& task) {
  using Proposals = std::vector<poly::BandProposal>;
  return impl_->ask_for<Proposals>("bands", described_request(task), task.source.source_name,
                                   [](const json& reply) -> Result<Proposals> {
                                     Proposals out;
                                     for (const json& each : reply) out.push_back(poly::proposal_from(each));
                                     return out;
                                   });
}

Result<std::vector<Dependence>> IslClient::dependences(const Task& task) {
  using Found = std::vector<Dependence>;
  return impl_->ask_for<Found>("dependences", described_request(task), task.source.source_name,
                               [](const json& reply) -> Result<Found> {
                                 Found out;
                                 for (const json& d : reply)
                                   out.push_back({d.at("kind"), d.at("source"), d.at("sink"), d.at("relation"),
                                                  d.at("reducer"), d.at("indices").get<std::vector<std::string>>()});
                                 return out;
                               });
}

Result<std::string> IslClient::show(const Task& task, const std::string& stage) {
  json request = described_request(task);
  request["stage"] = stage;
  return impl_->ask_for<std::string>(
      "show", std::move(request), task.source.source_name,
      [](const json& reply) -> Result<std::string> { return reply.at("text").get<std::string>(); });
}

}  // namespace polyweft
