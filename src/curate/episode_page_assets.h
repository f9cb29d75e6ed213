#pragma once
#include <string_view>

namespace flexor::curate {

// Style sheet and script of an episode's page, beside those of report/html_page.h. The script reads the object
// {fps, frames, step, plots: [{curves: [[label, colour, base64 of float32]]}], tasks: [[from, to, text]]} from the
// element #episode.
extern const std::string_view kEpisodePageStyle;
extern const std::string_view kEpisodePageScript;

}  // namespace flexor::curate
