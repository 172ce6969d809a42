// What PyTorch asks of a backend beside its kernels: generators, the size of a storage, the device of a pointer.
#include "device.h"
#include "memory.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace pretend {
namespace {

// Draws what the generator of the CPU draws from the same seed.
struct DeviceGenerator final : c10::GeneratorImpl {
  static c10::DeviceType device_type() {
    return c10::kPrivateUse1;
  }

  explicit DeviceGenerator(
      c10::DeviceIndex device,
      at::Generator drawing = at::detail::createCPUGenerator(c10::default_rng_seed_val))
      : GeneratorImpl(
            c10::Device(c10::kPrivateUse1, device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        drawing(std::move(drawing)) {}

  void set_current_seed(uint64_t seed) override {
    drawing.set_current_seed(seed);
  }
  void set_offset(uint64_t) override {
    TORCH_CHECK(false, "a generator of the device pretend has no offset");
  }
  uint64_t get_offset() const override {
    TORCH_CHECK(false, "a generator of the device pretend has no offset");
  }
  uint64_t current_seed() const override {
    return drawing.current_seed();
  }
  uint64_t seed() override {
    return drawing.seed();
  }
  void set_state(const c10::TensorImpl& state) override {
    drawing.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return drawing.unsafeGetGeneratorImpl()->get_state();
  }
  DeviceGenerator* clone_impl() const override {
    return new DeviceGenerator(device().index(), drawing.clone());
  }

  at::Generator drawing;
};

at::Generator new_generator(c10::DeviceIndex device) {
  return at::make_generator<DeviceGenerator>(device < 0 ? current_device() : device);
}

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return true;
  }
  c10::DeviceIndex deviceCount() const override {
    return kDevices;
  }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    set_current_device(device);
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return current_device();
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    const auto former = current_device();
    set_current_device(device);
    return former;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 || device >= kDevices ? current_device() : exchangeDevice(device);
  }
  // Copies are made through the host's own memory: any of it will do.
  at::Allocator* getPinnedMemoryAllocator() const override {
    return c10::GetCPUAllocator();
  }
  at::Device getDeviceFromPtr(void* data) const override {
    const auto device = device_of(data);
    TORCH_CHECK(device >= 0, "an address that is not of the device pretend");
    return {c10::kPrivateUse1, device};
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return new_generator(device);
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    const auto device = storage.device().index();
    auto memory = allocate(bytes, device);
    const auto kept = std::min(bytes, storage.nbytes());
    if (kept != 0) {
      // Closures of std::function can be copied, a DataPtr cannot.
      auto target = std::make_shared<c10::DataPtr>(window_of(memory));
      auto source = std::make_shared<c10::DataPtr>(window_of(storage.data_ptr()));
      enqueue(device, [=] { std::memcpy(target->get(), source->get(), kept); });
    }
    storage.set_data_ptr_noswap(std::move(memory));
    storage.set_nbytes(bytes);
  }
};

const bool registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

// For the Python module torch.pretend; the rest of it is torch.accelerator's.
TORCH_LIBRARY(pretend, library) {
  library.def("current_device() -> int", [] { return int64_t(current_device()); });
  library.def("set_device(int device) -> ()", [](int64_t device) { set_current_device(device); });
  library.def("device_count() -> int", [] { return int64_t(kDevices); });
  library.def("synchronize(int device) -> ()", [](int64_t device) { synchronize_device(device); });
  library.def("default_generator(int device) -> Generator?", [](int64_t device) { return default_generator(device); });
}

} // namespace

const at::Generator& default_generator(c10::DeviceIndex device) {
  static const auto generators = [] {
    std::vector<at::Generator> made;
    for (c10::DeviceIndex index = 0; index < kDevices; ++index) {
      made.push_back(new_generator(index));
    }
    return made;
  }();
  return generators.at(device < 0 ? current_device() : device);
}

at::Generator drawing(const at::Generator& generator) {
  return at::check_generator<DeviceGenerator>(generator)->drawing;
}

} // namespace pretend
