// Records and reports: what a search found and said.
#include "handles.h"

extern "C" {

size_t pw_record_list_count(const pw_record_list* list) {
  return list ? list->records.size() : 0;
}
const pw_record* pw_record_list_at(const pw_record_list* list, size_t index) {
  return list && index < list->records.size() ? &list->records[index] : nullptr;
}
void pw_record_list_free(pw_record_list* list) {
  delete list;
}

void pw_record_free(pw_record* record) {
  delete record;
}
int64_t pw_record_id(const pw_record* record) {
  return record ? record->record.id : 0;
}
double pw_record_median_ns(const pw_record* record) {
  return record ? record->record.measurement.timing.median_ns : 0;
}
const char* pw_record_trace(const pw_record* record) {
  return record ? record->record.trace_text.c_str() : "";
}

const char* pw_record_program_name(const pw_record* record) {
  return record ? record->record.program_name.c_str() : "";
}
const char* pw_record_program_key(const pw_record* record) {
  return record ? record->record.key.program.c_str() : "";
}
const char* pw_record_numerics(const pw_record* record) {
  return record ? polyweft::name_of(record->record.key.cls) : "";
}
int32_t pw_record_threads(const pw_record* record) {
  return record ? record->record.key.threads : 0;
}
int64_t pw_record_unix_time(const pw_record* record) {
  return record ? record->record.measurement.unix_time : 0;
}
size_t pw_record_parameter_count(const pw_record* record) {
  return record ? record->record.key.binding.size() : 0;
}
int64_t pw_record_parameter(const pw_record* record, size_t index) {
  return record && index < record->record.key.binding.size() ? record->record.key.binding[index] : 0;
}

int pw_record_is_proven(const pw_record* record) {
  return record && record->record.certificate.verdict == polyweft::Verdict::proven ? 1 : 0;
}
const char* pw_record_differs_in(const pw_record* record) {
  return record ? record->differs_in.c_str() : "";
}

pw_status pw_report_status(const pw_report* report) {
  return report && report->error ? static_cast<pw_status>(polyweft::kind_of(report->error->code)) : PW_OK;
}
const char* pw_report_error(const pw_report* report) {
  return report ? report->error_text.c_str() : "";
}
const char* pw_report_error_code(const pw_report* report) {
  return report && report->error ? report->error->code.c_str() : "";
}
const pw_record* pw_report_record(const pw_report* report) {
  return report && report->record ? &*report->record : nullptr;
}
int pw_report_is_hit(const pw_report* report) {
  return report && report->report.hit ? 1 : 0;
}
const char* pw_report_reason(const pw_report* report) {
  return report ? report->report.reason.c_str() : "";
}
int32_t pw_report_measured(const pw_report* report) {
  return report ? report->report.measured : 0;
}
int32_t pw_report_failed(const pw_report* report) {
  return report ? report->report.failed : 0;
}
double pw_report_wall_s(const pw_report* report) {
  return report ? report->report.wall_s : 0;
}
double pw_report_flops(const pw_report* report) {
  return report ? report->report.flops : 0;
}
double pw_report_reference_ns(const pw_report* report) {
  return report ? report->report.reference_ns : 0;
}
double pw_report_peak_gflops(const pw_report* report) {
  return report ? report->report.peak_gflops : 0;
}
size_t pw_report_warning_count(const pw_report* report) {
  return report ? report->report.warnings.size() : 0;
}
const char* pw_report_warning(const pw_report* report, size_t index) {
  return index < pw_report_warning_count(report) ? report->report.warnings[index].c_str() : "";
}
void pw_report_free(pw_report* report) {
  delete report;
}
size_t pw_report_list_count(const pw_report_list* list) {
  return list ? list->reports.size() : 0;
}
const pw_report* pw_report_list_at(const pw_report_list* list, size_t index) {
  return list && index < list->reports.size() ? &list->reports[index] : nullptr;
}
void pw_report_list_free(pw_report_list* list) {
  delete list;
}

}  // extern "C"
