// Devices, and their streams: queues of work, each with a thread that does it.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <functional>

namespace pretend {

c10::DeviceIndex current_device();
void set_current_device(c10::DeviceIndex device);

c10::Stream current_stream(c10::DeviceIndex device);
// Queue work on the current stream of a device. It may not need Python's lock: the host may hold it and wait.
void enqueue(c10::DeviceIndex device, std::function<void()> work);
// Wait until all that is queued on the current stream of a device has run.
void synchronize_current(c10::DeviceIndex device);
void synchronize_device(c10::DeviceIndex device);
void synchronize_all();

const at::Generator& default_generator(c10::DeviceIndex device);
// The generator of the CPU that draws the numbers of a generator of the device.
at::Generator drawing(const at::Generator& generator);

} // namespace pretend
