#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "base/json.h"
#include "recap/training_folder.h"

namespace flexor::cli {

/// What `--json` prints of one of RECAP's trainings.
Json to_json(const recap::TrainingReport& report);

/// The same as lines. @param names  metrics of the last validation to show, those that there are
void print_report(std::ostream& out, const recap::TrainingReport& report, const std::vector<std::string>& names);

}  // namespace flexor::cli
