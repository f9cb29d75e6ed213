#include "schema/batch.h"

#include "device/device.h"

namespace flexor::schema {

Batch on_device(Batch batch, const at::Device& device) {
  for (CameraBatch& camera : batch.cameras) {
    camera.pixels = device::place(camera.pixels, device);
  }
  for (at::Tensor* tensor : {&batch.tokens, &batch.token_mask, &batch.state, &batch.action, &batch.action_is_pad}) {
    *tensor = device::place(*tensor, device);
  }
  return batch;
}

}  // namespace flexor::schema
