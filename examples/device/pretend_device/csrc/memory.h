// The memory of the devices, which the host may not touch.
//
// Every page is mapped twice. A tensor has the address in the first mapping, which may be neither read nor
// written: a kernel of the CPU that is handed a tensor of the device by mistake dies of a segmentation fault.
// The second mapping, the window, is known only to the kernels of this backend.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <memory>

namespace pretend {

constexpr c10::DeviceIndex kDevices = 2;

// A piece of memory. What is queued on a stream holds the blocks that it uses, so that none is given to
// another tensor before it has run.
struct Block {
  Block(c10::DeviceIndex device, size_t bytes);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  c10::DeviceIndex device;
  size_t bytes; // rounded up
  char* address; // what tensors are told
  char* window; // where kernels read and write
};

// The memory of a new block: its address on the device, or the window.
c10::DataPtr allocate(size_t bytes, c10::DeviceIndex device);
// The window on the memory that a tensor of the device has.
c10::DataPtr window_of(const c10::DataPtr& memory);
// The memory that a window is on.
c10::DataPtr device_memory_of(const c10::DataPtr& window);
// In a forked process: give it a copy of the memory, which it shares with its parent until then.
void copy_for_fork();
// The device of an address; -1 for an address of the host.
c10::DeviceIndex device_of(const void* address);

} // namespace pretend
