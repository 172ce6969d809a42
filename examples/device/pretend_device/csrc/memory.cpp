#include "memory.h"
#include "device.h"

#include <c10/util/Exception.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace pretend {
namespace {

// Of one device; a page takes memory once it is written.
constexpr size_t kCapacity = size_t(16) << 30;
constexpr size_t kTotal = kCapacity * kDevices;
constexpr size_t kSmallest = 512;
constexpr size_t kPage = 4096;
// A block of this size or more gives its pages back when it is freed, once so much freed memory keeps its own:
// new pages cost more than what most kernels do with them.
constexpr size_t kLarge = size_t(1) << 20;
constexpr size_t kKept = size_t(1) << 30;
// What new memory holds: NaN, where it is read as floating point.
constexpr int kUnwritten = 0xFF;

class Pages {
 public:
  Pages() {
    map();
  }

  std::mutex mutex;
  char* address = nullptr;
  char* window = nullptr;

  size_t take(c10::DeviceIndex device, size_t bytes) {
    auto& [with_pages, bare] = free_[device][bytes];
    if (!with_pages.empty()) {
      kept_ -= bytes;
      return popped(with_pages);
    }
    if (!bare.empty()) {
      return popped(bare);
    }
    // Only whole pages can be given back. (All sizes are powers of two.)
    const auto alignment = std::min(bytes, kPage);
    const auto begin = (used_[device] + alignment - 1) / alignment * alignment;
    TORCH_CHECK_WITH(
        OutOfMemoryError,
        bytes <= kCapacity - begin,
        "pretend out of memory: ", bytes, " bytes asked for, ", kCapacity - begin, " bytes are free");
    used_[device] = begin + bytes;
    return device * kCapacity + begin;
  }

  void give(c10::DeviceIndex device, size_t offset, size_t bytes) {
    auto& [with_pages, bare] = free_[device][bytes];
    if (bytes < kLarge || kept_ + bytes <= kKept) {
      kept_ += bytes;
      with_pages.push_back(offset);
    } else {
      madvise(window + offset, bytes, MADV_REMOVE);
      bare.push_back(offset);
    }
  }

  // A fork copies the memory of a process, but shares that of a file: the child makes a copy of its own.
  void copy() {
    std::vector<char> kept[kDevices];
    for (c10::DeviceIndex device = 0; device < kDevices; ++device) {
      const char* begin = window + device * kCapacity;
      kept[device].assign(begin, begin + used_[device]);
    }
    map();
    for (c10::DeviceIndex device = 0; device < kDevices; ++device) {
      std::memcpy(window + device * kCapacity, kept[device].data(), kept[device].size());
    }
  }

 private:
  void map() {
    const int file = memfd_create("pretend", MFD_CLOEXEC);
    TORCH_CHECK(file >= 0 && ftruncate(file, kTotal) == 0, "pretend has no memory: ", std::strerror(errno));
    address = mapped(address, PROT_NONE, file);
    window = mapped(window, PROT_READ | PROT_WRITE, file);
    close(file);
  }

  static char* mapped(char* where, int protection, int file) {
    const int flags = MAP_SHARED | MAP_NORESERVE | (where ? MAP_FIXED : 0);
    void* found = mmap(where, kTotal, protection, flags, file, 0);
    TORCH_CHECK(found != MAP_FAILED, "pretend has no memory: ", std::strerror(errno));
    return static_cast<char*>(found);
  }

  static size_t popped(std::vector<size_t>& offsets) {
    const auto offset = offsets.back();
    offsets.pop_back();
    return offset;
  }

  // Freed blocks of one size.
  struct Free {
    std::vector<size_t> with_pages, bare;
  };

  size_t used_[kDevices] = {};
  size_t kept_ = 0;
  std::map<size_t, Free> free_[kDevices];
};

Pages& pages() {
  static Pages* kept = new Pages; // outlives the last tensor
  return *kept;
}

size_t rounded(size_t bytes) {
  size_t size = kSmallest;
  while (size < bytes) {
    size *= 2;
  }
  return size;
}

using Held = std::shared_ptr<Block>;

void release(void* context) {
  delete static_cast<Held*>(context);
}

c10::DataPtr pointer(char* data, const Held& block) {
  const bool on_host = data == block->window;
  const auto device =
      on_host ? c10::Device(c10::kCPU) : c10::Device(c10::kPrivateUse1, block->device);
  return {data, new Held(block), &release, device};
}

class DeviceAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    return pretend::allocate(bytes, current_device());
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return &release;
  }

  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    synchronize_all();
    const auto shift = pages().window - pages().address;
    std::memcpy(static_cast<char*>(target) + shift, static_cast<const char*>(source) + shift, bytes);
  }
};

DeviceAllocator allocator;
REGISTER_ALLOCATOR(c10::kPrivateUse1, &allocator);

} // namespace

Block::Block(c10::DeviceIndex device, size_t bytes) : device(device), bytes(rounded(bytes)) {
  auto& memory = pages();
  std::lock_guard<std::mutex> lock(memory.mutex);
  const auto offset = memory.take(device, this->bytes);
  address = memory.address + offset;
  window = memory.window + offset;
  std::memset(window, kUnwritten, bytes);
}

Block::~Block() {
  auto& memory = pages();
  std::lock_guard<std::mutex> lock(memory.mutex);
  memory.give(device, window - memory.window, bytes);
}

c10::DataPtr allocate(size_t bytes, c10::DeviceIndex device) {
  if (bytes == 0) {
    return {nullptr, c10::Device(c10::kPrivateUse1, device)};
  }
  auto block = std::make_shared<Block>(device, bytes);
  return pointer(block->address, block);
}

namespace {

const Held& block_of(const c10::DataPtr& memory) {
  TORCH_CHECK(memory.get_deleter() == &release, "memory that is not of the device pretend");
  return *static_cast<Held*>(memory.get_context());
}

} // namespace

c10::DataPtr window_of(const c10::DataPtr& memory) {
  if (memory.get() == nullptr) {
    return {nullptr, c10::Device(c10::kCPU)};
  }
  if (memory.get_deleter() != &release && device_of(memory.get()) >= 0) {
    // A tensor on the memory of another, which its maker keeps alive: torch.save makes one.
    const auto shift = pages().window - pages().address;
    return {static_cast<char*>(memory.get()) + shift, c10::Device(c10::kCPU)};
  }
  const auto& block = block_of(memory);
  return pointer(block->window, block);
}

c10::DataPtr device_memory_of(const c10::DataPtr& window) {
  const auto& block = block_of(window);
  return pointer(block->address, block);
}

void copy_for_fork() {
  pages().copy();
}

c10::DeviceIndex device_of(const void* address) {
  const auto distance = static_cast<const char*>(address) - pages().address;
  const bool inside = distance >= 0 && size_t(distance) < kTotal;
  return inside ? c10::DeviceIndex(size_t(distance) / kCapacity) : c10::DeviceIndex(-1);
}

} // namespace pretend
