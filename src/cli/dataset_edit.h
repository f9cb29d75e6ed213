#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/field_table.h"
#include "curate/edit.h"

namespace flexor::cli {

/// The flags of all commands that write a dataset out of others.
struct EditFlags {
  std::optional<std::string> to;  ///< "v2.1", "v3.0"; without: as the source
  bool reencode = false;
  double data_file_size_in_mb = 100, video_file_size_in_mb = 200;
  bool json = false;
};
void fields(config::FieldTable& table, EditFlags& flags);

curate::EditOptions edit_options(const EditFlags& flags);

/// The reports as text, or as one JSON object: that of the only one, or {"parts": [...]} of several.
void print_reports(const Io& io, const std::vector<curate::RewriteReport>& reports, bool json);

}  // namespace flexor::cli
