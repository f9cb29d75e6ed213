#pragma once
#include <string_view>

namespace flexor {

// stderr, shared by log lines and the progress bar. Thread-safe.

bool stderr_is_terminal();
/// Prints a whole line; the bar, if one is shown, is redrawn below it. `line` ends without '\n'.
void print_line(std::string_view line);
/// Shows `text` as the last line of the terminal, in place of the bar before; "" takes the bar away.
void show_bar(std::string_view text);
bool log_is_off();  ///< set_log_level(kOff), or a rank other than 0

}  // namespace flexor
