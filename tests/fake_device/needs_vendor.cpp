// A back end whose vendor's library is not where the loader looks.
#include "device/backend_plugin.h"

int vendor_start();

const flexor_backend* flexor_backend_entry(void) {
  static flexor_backend table;
  table.abi = vendor_start();
  return &table;
}
