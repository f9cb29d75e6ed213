#pragma once
#include <string>

#include "eval/evaluate.h"

namespace flexor::cli {

/// One self-contained HTML page: the numbers of an evaluation, error per joint and per step of the horizon as plots.
std::string eval_page(const eval::EvalResult& result, const std::string& policy, const std::string& dataset);

}  // namespace flexor::cli
