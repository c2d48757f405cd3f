// The task that a record is of, out of its own texts: they come from a row, so they are not trusted to belong together.
#pragma once

#include <string>

#include "driver/task.h"
#include "polyweft/database.h"

namespace polyweft {

/// PW0711: what of a record contradicts the rest of it.
Error mixed_up(const TuningRecord& record, const std::string& what);
/// By its program's text, sizes, class and threads, for `target`. PW0711 where these do not fit its key.
Result<Task> task_of_text(const TuningRecord& record, const Target& target);
/// The same, whose canonical text is the record's too.
Result<Task> task_of(const TuningRecord& record, const Target& target);

}  // namespace polyweft
