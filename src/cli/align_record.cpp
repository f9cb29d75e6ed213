#include <ostream>

#include "align/record.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/policy_folder.h"
#include "cli/print_json.h"
#include "cli/threads.h"
#include "config/command_line.h"
#include "dist/choose_device.h"
#include "models/open_model.h"
#include "nn/named_params.h"
#include "schema/batch_file.h"

namespace flexor::cli {
namespace {

struct AlignRecordOptions {
  std::string policy, batch, output;
  std::optional<std::string> dtype;
  bool backward = false, savings = false, json = false;
  std::string rope_frequencies = "reference", attention = "exact", device = "auto";
  int64_t threads = 0;
};

void fields(config::FieldTable& table, AlignRecordOptions& o) {
  table("policy", o.policy, "folder with config.json and model.safetensors").required().value_name("DIR");
  table("batch", o.batch, "safetensors file of model-side tensors").required().value_name("FILE");
  table("output", o.output, "safetensors file to write").required().short_flag('o').value_name("FILE");
  table("dtype", o.dtype, "default: as config.json says").choices({"float32", "bfloat16", "bfloat16_autocast"});
  table("backward", o.backward, "record the gradients as well");
  table("savings", o.savings, "leave the exact savings on: shapes then differ from the reference's");
  table("rope_frequencies", o.rope_frequencies, "in bfloat16").choices({"reference", "exact"});
  table("attention", o.attention, "softmax written out, or the fused kernel").choices({"exact", "fused"});
  dist::add_device_flag(table, o.device);
  table("threads", o.threads, "0: LibTorch's choice").range(0, 1024);
  table("json", o.json, "print one JSON object instead of text");
}

int run_align_record(const Args& args, const Io& io) {
  const auto options = config::parse<AlignRecordOptions>(args);
  set_threads(options.threads);
  check_output_file(options.output);
  schema::BatchFile batch = schema::read_batch_file(options.batch);
  const models::ComputeOptions compute{.exact_savings = options.savings,
                                       .fused_attention = options.attention == "fused",
                                       .reference_rope = options.rope_frequencies == "reference",
                                       .autocast = false,
                                       .gradient_checkpointing = false};
  const at::Device device = dist::choose_device(options.device);
  const auto model = models::open_model(policy_folder(options.policy), options.dtype, compute);
  nn::move_params(*model, device);
  batch.batch = schema::on_device(std::move(batch.batch), device);
  const std::vector<NamedTensor> tensors =
      align::record(*model, batch, {.backward = options.backward, .savings = options.savings});
  write_safetensors(options.output, tensors);
  if (options.json) {
    print_json(io.out, Json::object({{"output", options.output}, {"tensors", tensors.size()}}));
  } else {
    io.out << tensors.size() << " tensors in " << options.output << '\n';
  }
  return 0;
}

}  // namespace

const Command kAlignRecord{
    .path = "align record",
    .summary = "Write the tensors of one forward pass, backward pass and sampling of a policy to a file.",
    .notes =
        "The batch holds normalised, tokenised tensors and raw pictures under LeRobot's names; the loss uses its "
        "`noise` "
        "and `time`,\nsampling starts from `sample_noise`, else from `noise`. Names of what is written: `prefix_embs`, "
        "`layer_first.suffix`, `v_t`,\n`loss`, `kv_cache.first.key`, `sampled_actions`, `grad.PARAMETER` ...\n",
    .usage = &config::usage<AlignRecordOptions>,
    .run = &run_align_record};

}  // namespace flexor::cli
