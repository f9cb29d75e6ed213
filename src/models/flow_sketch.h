#pragma once
#include <cstdint>

#include "models/memory_tape.h"
#include "models/policy_model.h"
#include "models/value_model.h"

namespace flexor::models {

/// One micro batch, as far as its memory depends on it.
struct BatchShape {
  int64_t batch_size = 1;
  int64_t cameras = 1;          ///< that are computed: missing ones are skipped
  int64_t prompt_tokens = 1;    ///< of the longest prompt
  bool has_padding = true;      ///< prompts differ in length: attention gets a mask
  bool float_pictures = false;  ///< as they come; else bytes
};

/// Imagines the forward pass of loss(), with exact savings on. Shapes, dtypes and requires_grad of the parameters
/// count, their values are not read. @param model  of make_policy()
/// @return the loss, whose backward pass the tape can run
SketchTensor sketch_loss(PolicyModel& model, const BatchShape& batch, MemoryTape& tape);

/// The same of the value model, up to the mean of categorical losses.
SketchTensor sketch_loss(ValueModel& model, const BatchShape& batch, MemoryTape& tape);

BatchShape shape_of(const schema::Batch& batch);
BatchShape shape_of(const ValueBatch& batch);

/// Bytes of a micro batch as the data loader hands it over: pictures, prompt, state, actions.
double batch_bytes(const schema::PolicyConfig& config, const BatchShape& batch);
double batch_bytes(const ValueConfig& config, const BatchShape& batch);

}  // namespace flexor::models
