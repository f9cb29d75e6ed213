#include "device/device.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/linspace.h>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "device/backend.h"
#include "device/cpu_ops.h"
#include "device/fused.h"
#include "device/out_of_memory.h"
#include "tensor/tensor.h"
#include "testing/error_text.h"

namespace flexor::device {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Variables by name; the back ends of the tests are beside the build's src folder.
Env env_of(std::map<std::string, std::string> variables = {}) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  variables.try_emplace("FLEXOR_BACKEND_PATH", (program.parent_path().parent_path() / "fake_device").string());
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
  };
}

Env without_backends() {
  return env_of({{"FLEXOR_BACKEND_PATH", "nowhere"}});
}

std::string opening_error(const std::string& name, const Env& env) {
  try {
    open_backend(name, env);
  } catch (const Error& error) {
    return format_error(error);
  }
  return "none";
}

/// A variable of this process while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// The fake device chosen; the CPU afterwards.
class OnFake : public ::testing::Test {
 protected:
  OnFake() { choose("fake", {}, env_of()); }
  ~OnFake() override { choose("cpu", {}, env_of()); }
};

TEST(BackendSearch, LibrariesOfTheVendorComeInFront) {
  const auto cuda = vendor_libraries("cuda", "/env/lib/python3.11/site-packages/torch/lib", without_backends());
  ASSERT_EQ(cuda.size(), 1U);
  EXPECT_EQ(cuda[0].path, "/env/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so");
  const auto npu = vendor_libraries("npu", "/env/lib/python3.11/site-packages/torch/lib",
                                    env_of({{"FLEXOR_LIBPYTHON", "/usr/lib/libpython3.11.so.1.0"}}));
  ASSERT_EQ(npu.size(), 3U);
  EXPECT_EQ(npu[0].path, "/usr/lib/libpython3.11.so.1.0");
  EXPECT_EQ(npu[1].path, "/env/lib/python3.11/site-packages/torch/lib/libtorch_python.so");
  EXPECT_EQ(npu[2].path, "/env/lib/python3.11/site-packages/torch_npu/lib/libtorch_npu.so");
  EXPECT_EQ(vendor_libraries("npu", "/no/lib/python3.12/site-packages/torch/lib", without_backends())[0].path,
            "libpython3.12.so.1.0");
  EXPECT_TRUE(vendor_libraries("fake", "/env", without_backends()).empty());
}

TEST(BackendSearch, NamesAreThoseOfTheFolders) {
  EXPECT_THAT(backend_names(env_of()), ElementsAre("cuda", "npu", "broken", "fake"));
  EXPECT_EQ(find_backend("cuda", env_of()), "");
  EXPECT_THAT(find_backend("fake", env_of()), HasSubstr("fake_device/libflexor_fake.so"));
}

TEST(DeviceName, IsAutoCpuOrABackEnd) {
  for (const char* name : {"auto", "cpu", "cuda", "npu"}) {
    EXPECT_EQ(name_problem(name, without_backends()), "") << name;
  }
  EXPECT_EQ(name_problem("fake", env_of()), "");
  for (const char* name : {"fake", "gpu", "cuda:0", "", "../fake"}) {
    EXPECT_THAT(name_problem(name, without_backends()), HasSubstr("expected auto, cpu, cuda or npu")) << name;
  }
}

// Before the back end is opened, since a process opens one.
TEST(OpenBackend, SaysWhatIsMissingOrDoesNotFit) {
  EXPECT_THAT(opening_error("npu", without_backends()), HasSubstr("device npu: no libflexor_npu.so (nowhere, "));
  EXPECT_THAT(opening_error("broken", env_of()), HasSubstr("needs libflexor_vendor_runtime.so: not found"));
  {
    const Variable abi("FLEXOR_FAKE_ABI", "7");
    EXPECT_THAT(opening_error("fake", env_of()), HasSubstr("speaks version 7 of the interface"));
  }
  {
    const Variable torch("FLEXOR_FAKE_TORCH", "2.12.0");
    EXPECT_THAT(opening_error("fake", env_of()), HasSubstr("was built for LibTorch 2.12.0, this program has"));
  }
  const Variable why("FLEXOR_FAKE_INIT", "no firmware");
  EXPECT_THAT(opening_error("fake", env_of()), HasSubstr("device fake: it does not start: no firmware"));
  EXPECT_EQ(opened_backend(), nullptr);
}

TEST_F(OnFake, IsOneOfAProcess) {
  EXPECT_EQ(current().str(), "fake:0");
  EXPECT_EQ(&open_backend("fake", env_of()), opened_backend());
  EXPECT_THAT(opening_error("cuda", env_of()), HasSubstr("this process computes on fake already"));
  EXPECT_EQ(describe_current(), "fake:0, Fake Device 0 (1.0)");
  EXPECT_EQ(opened_backend()->notes().at(1).problem, "expected 1.0 or newer");
}

TEST_F(OnFake, LocalRanksTakeTheirDevice) {
  {
    const Variable count("FLEXOR_FAKE_DEVICES", "2");
    EXPECT_EQ(choose("fake", {.local_rank = 1, .local_world = 2}, env_of()).index(), 1);
    EXPECT_EQ(physical_id(env_of()), "1");
    EXPECT_EQ(physical_id(env_of({{"FLEXOR_FAKE_VISIBLE_DEVICES", "4, 6"}})), "6");
    EXPECT_THAT(testing::error_text([&] { choose("fake", {.local_rank = 2, .local_world = 3}, env_of()); }),
                HasSubstr("local rank 2 has no device: 2 fake devices are visible to 3 ranks"));
  }
  // One visible device may be a process's own.
  EXPECT_THAT(testing::error_text([&] { choose("fake", {.local_rank = 1, .local_world = 2}, env_of()); }),
              HasSubstr("local rank 1 has no device: 1 fake device is visible"));
  const Env own = env_of({{"FLEXOR_FAKE_VISIBLE_DEVICES", "3"}});
  EXPECT_EQ(choose("fake", {.local_rank = 1, .local_world = 2}, own).index(), 0);
  EXPECT_EQ(physical_id(own), "3");
  const Variable none("FLEXOR_FAKE_DEVICES", "0");
  EXPECT_THAT(testing::error_text([&] { choose("fake", {}, env_of()); }), HasSubstr("no fake device is visible"));
}

TEST_F(OnFake, TensorsGoThereAndBackAndAreCounted) {
  const int64_t before = memory()->allocated;
  const Tensor there = place(at::arange(256, at::kFloat));
  EXPECT_EQ(there.device(), current());
  EXPECT_EQ(memory()->allocated - before, 1024);
  reset_peak();
  static_cast<void>(at::ones({512}, there.options()));
  EXPECT_EQ(memory()->allocated - before, 1024);
  EXPECT_EQ(memory()->peak_allocated - before, 3072);
  EXPECT_TRUE(at::equal(there.cpu(), at::arange(256, at::kFloat)));
  EXPECT_TRUE(place(there).is_same(there));
  EXPECT_FALSE(place(Tensor()).defined());
  EXPECT_EQ(place(at::empty({0, 3}, at::kByte)).sizes(), at::IntArrayRef({0, 3}));
}

TEST_F(OnFake, OperatorsWithoutKernelAreComputedByTheCpuAndNamed) {
  const Tensor x = at::linspace(-2, 2, 7), y = at::silu(place(x));
  EXPECT_EQ(y.device(), current());
  EXPECT_TRUE(at::equal(y.cpu(), at::silu(x)));
  EXPECT_THAT(used_cpu_ops(), ::testing::Contains("aten::silu.out"));
  EXPECT_THAT(opened_backend()->cpu_ops(), ElementsAre("aten::silu.out", "aten::cumsum.out"));
  EXPECT_EQ(opened_backend()->fused_ops().at(0).use, "adamw");
  EXPECT_TRUE(opened_backend()->fused_ops().at(0).is_there);
  EXPECT_FALSE(opened_backend()->fused_ops().at(5).is_there);
}

TEST_F(OnFake, GradientsAreTheCpus) {
  const Tensor w = at::arange(12, at::kFloat).view({3, 4}).div(7), x = at::arange(8, at::kFloat).view({2, 4}).sub(3);
  const auto gradient = [](const Tensor& weight, const Tensor& input) {
    Tensor leaf = weight.clone().set_requires_grad(true);
    at::gelu(at::linear(input, leaf), "tanh").square().sum().backward();
    return leaf.grad();
  };
  EXPECT_TRUE(at::equal(gradient(place(w), place(x)).cpu(), gradient(w, x)));
}

TEST_F(OnFake, FusedOperatorsStandForFormulasOnlyIfTheyAgree) {
  EXPECT_TRUE(has_fused(FusedUse::kRope));
  EXPECT_TRUE(has_fused(FusedUse::kGeglu));  // npu::npu_geglu is not there, the next one is
  ASSERT_TRUE(has_fused(FusedUse::kRmsNorm));
  const Tensor x = at::tensor({3.0F, 4.0F}), gamma = at::tensor({1.0F, 2.0F});
  const Tensor y = call_fused(FusedUse::kRmsNorm, {place(x), place(gamma), 0.0}).at(0).cpu();
  EXPECT_TRUE(at::allclose(y, at::tensor({3.0F, 8.0F}) / std::sqrt(12.5)));  // of other_rms_norm: 2 and 3 times
  const at::AutoGradMode with_graph(true);
  const Tensor weight = place(gamma).set_requires_grad(true);
  call_fused(FusedUse::kRmsNorm, {place(x), weight, 0.0}).at(0).sum().backward();
  ASSERT_TRUE(weight.grad().defined());  // deaf_rms_norm, the second in the list, gives none
  EXPECT_TRUE(at::allclose(weight.grad().cpu(), x / std::sqrt(12.5)));
  choose("cpu", {}, env_of());
  EXPECT_FALSE(has_fused(FusedUse::kRmsNorm));
}

TEST_F(OnFake, OutOfMemorySaysWhatIsLive) {
  const Tensor held = at::ones({1 << 20}, at::TensorOptions().device(current()));
  const Variable limit("FLEXOR_FAKE_MEMORY", "8388608");
  try {
    static_cast<void>(at::ones({2 << 20}, held.options()));
    FAIL() << "8 MiB more than there are";
  } catch (const std::exception& error) {
    ASSERT_TRUE(is_out_of_memory(error));
    const Error explained = out_of_memory(error, {{"weights", 3 << 20}, {"averages", 0}}, "step 4");
    EXPECT_EQ(explained.kind(), ErrorKind::kRuntime);
    EXPECT_EQ(explained.where(), "step 4");
    EXPECT_STREQ(explained.what(),
                 "out of memory: fake:0 of 8.0 MiB, asked for 8192 KiB more; live: weights 3.0 MiB, activations and "
                 "others 1.0 MiB");
  }
}

TEST(OutOfMemory, OfTheMachineIsKnownToo) {
  EXPECT_TRUE(is_out_of_memory(std::bad_alloc()));
  EXPECT_FALSE(is_out_of_memory(std::runtime_error("shapes do not match")));
  EXPECT_STREQ(out_of_memory(std::bad_alloc(), {}, {}).what(), "out of memory: the machine's memory");
}

}  // namespace
}  // namespace flexor::device
