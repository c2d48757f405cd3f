// What Tuner does with records: nests of them, proofs, records of other machines.
#include <ctime>

#include "driver/device_key.h"
#include "driver/flops.h"
#include "driver/recorded_task.h"
#include "driver/tuner_impl.h"
#include "ir/values/measured_times.h"

namespace polyweft {
namespace {

Status is_new(Database& database, const TuningRecord& record) {
  for (RecordFilter filter{.program = record.key.program};; filter.offset += filter.limit) {
    auto rows = database.list(filter);
    if (!rows) return rows.error();
    for (const auto& row : *rows)
      if (row.key == record.key && row.nest_text == record.nest_text)
        return fail("PW0725", "record #" + std::to_string(row.id) + " is this record already", {"nothing was stored"});
    if (static_cast<int64_t>(rows->size()) < filter.limit) return Ok{};
  }
}

}  // namespace

// A search may end with the base nest where nothing can be proven of it: it runs for everybody who has no record, so it
// may for this one.
Result<LoopNest> Tuner::Impl::nest_of(const TuningRecord& record, const Task& task) {
  auto nest = trust.nest_of(task, record);
  if (nest || nest.error().code != "PW0721") return nest;
  auto base = planner.base_nest(task);
  auto parsed = parse_loop_nest(record.nest_text);
  return base && parsed && print(*base) == print(*parsed) ? std::move(base) : std::move(nest);
}

Result<LoopNest> Tuner::Impl::nest_of(const TuningRecord& record) {
  auto task = task_of(record, compiler.target());
  return task ? nest_of(record, *task) : task.error();
}

Result<Certificate> Tuner::prove(const TuningRecord& record) {
  const Turn turn(impl_->calls);
  auto task = task_of(record, target());
  if (!task) return task.error();
  auto certificate = impl_->trust.prove(*task, record);
  if (certificate && standing(record) == Standing::unknown) impl_->trust.vouch(record);
  return certificate;
}

double Tuner::flops(const TuningRecord& record) {
  const Turn turn(impl_->calls);
  if (standing(record) != Standing::attested) return 0;
  const auto task = task_of(record, target());
  return task ? count_flops(task->program) : 0;
}

Result<TuningRecord> Tuner::adopt(const TuningRecord& foreign) {
  const Turn turn(impl_->calls);
  const Stored::Making making(impl_->stored);
  TuningRecord record = foreign;
  record.id = 0;
  impl_->given.clear();
  auto task = task_of_text(record, target());
  if (!task) return task.error();
  record.canonical_text = task->canonical_text;
  record.program_name = task->source.name;
  if (record.key.abi != task->key.abi) return mixed_up(record, "it is of another version of the kernels' ABI");
  auto trace = parse_trace(record.trace_text);
  if (!trace) return trace.error();
  if (const std::string figure = impossible_median(record.measurement.timing); !figure.empty())
    return fail("PW0728", "the record has " + figure + ", which no clock tells", {"nothing was stored"});
  auto stores = impl_->writable_database();
  if (!stores) return stores.error();
  if (!*stores) return fail("PW0709", "no database was given", {"give --database PATH, or TunerOptions::database"});
  if (auto isnew = is_new(**stores, record); !isnew) return isnew.error();
  auto certificate = impl_->trust.prove(*task, record);
  if (!certificate) return certificate.error();
  const LoopNest nest = *parse_loop_nest(record.nest_text);
  record.certificate = *certificate;
  record.measurement.nest_hash = hash(nest);
  record.measurement.status = RunStatus::ok;
  record.measurement.strategy = "import";
  record.origin = "imported";
  task->device = impl_->compiler.device_here();
  const bool is_ours = record.key.target == task->key.target || record.key == on_device(task->key, task->device);
  if (is_ours && impl_->compiler.kernels_run_here()) {
    const auto served = (*stores)->best(record.key, record.canonical_text);
    auto timed = impl_->timed(*task, nest, served ? *served : std::nullopt);
    if (!timed) return timed.error();
    record.measurement.timing = timed->timing;
    record.measurement.beside = timed->beside;
    record.measurement.toolchain = toolchain();
    record.measurement.unix_time = static_cast<int64_t>(std::time(nullptr));
    record.origin = "adopted";
  }
  auto id = (*stores)->insert(record);
  if (!id) return id.error();
  record.id = *id;
  impl_->trust.vouch(record);
  return record;
}

}  // namespace polyweft
