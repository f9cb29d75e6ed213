#pragma once

namespace flexor {

/// After this, Ctrl-C (SIGINT) and SIGTERM only set a flag that long work polls; a second Ctrl-C ends the program at
/// once.
void install_interrupt_handlers();
bool interrupted();  ///< Ctrl-C was pressed
bool terminated();   ///< SIGTERM arrived
/// @throws Error(kInterrupted) or Error(kTerminated) if either flag is set
void check_interrupt();

}  // namespace flexor
