int vendor_start();
int vendor_start() {
  return 0;
}
