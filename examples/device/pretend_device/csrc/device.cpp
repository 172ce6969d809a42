#include "device.h"
#include "faults.h"
#include "memory.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace pretend {
namespace {

using Clock = std::chrono::steady_clock;

// Work on a stream other than the default one is late by so much: what does not wait for it reads memory
// that is not written yet, each time and not only when the machine is busy.
constexpr auto kLate = std::chrono::milliseconds(20);
// So many streams of each device are handed out in turn by `getStreamFromGlobalPool`.
constexpr c10::StreamId kPool = 4;

class Queue {
 public:
  explicit Queue(bool late) : late_(late) {
    std::thread([this] { run(); }).detach();
  }

  void push(std::function<void()> work) {
    std::lock_guard<std::mutex> lock(mutex_);
    work_.push_back(std::move(work));
    ++pushed_;
    changed_.notify_all();
  }

  void drain() {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto until = pushed_;
    changed_.wait(lock, [&] { return done_ >= until; });
  }

  bool idle() {
    std::lock_guard<std::mutex> lock(mutex_);
    return done_ == pushed_;
  }

 private:
  void run() {
    while (true) {
      std::function<void()> work;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return !work_.empty(); });
        work = std::move(work_.front());
        work_.pop_front();
      }
      if (late_) {
        std::this_thread::sleep_for(kLate);
      }
      work();
      work = nullptr; // gives back what it held before it counts as done
      std::lock_guard<std::mutex> lock(mutex_);
      ++done_;
      changed_.notify_all();
    }
  }

  const bool late_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  uint64_t pushed_ = 0;
  uint64_t done_ = 0;
};

class Streams {
 public:
  Streams() {
    begin();
    pthread_atfork(synchronize_all, nullptr, in_child);
  }

  // Of the threads of a process only the one that called fork lives on in the child.
  static void in_child();

  void begin() {
    for (auto& queues : queues_) {
      queues.clear();
      for (c10::StreamId id = 0; id <= kPool; ++id) {
        queues.push_back(new Queue(id != 0)); // they end with the process
      }
    }
  }

  Queue& queue(c10::DeviceIndex device, c10::StreamId id) {
    std::lock_guard<std::mutex> lock(mutex_);
    return *queues_[device].at(id);
  }

  c10::StreamId next(c10::DeviceIndex device) {
    std::lock_guard<std::mutex> lock(mutex_);
    return 1 + next_[device]++ % kPool;
  }

  std::vector<Queue*> queues(c10::DeviceIndex device) {
    std::lock_guard<std::mutex> lock(mutex_);
    return queues_[device];
  }

 private:
  std::mutex mutex_;
  std::vector<Queue*> queues_[kDevices];
  c10::StreamId next_[kDevices] = {};
};

Streams& streams() {
  static Streams* kept = new Streams;
  return *kept;
}

void Streams::in_child() {
  copy_for_fork();
  streams().begin();
}

// Before anything is allocated, so that no fork finds memory and no handler.
const auto& started = streams();

thread_local c10::DeviceIndex chosen_device = 0;
thread_local c10::StreamId chosen_stream[kDevices] = {};

c10::Stream stream(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kPrivateUse1, device), id);
}

Queue& queue(const c10::Stream& stream) {
  return streams().queue(stream.device_index(), stream.id());
}

c10::DeviceIndex index_of(c10::Device device) {
  return device.has_index() ? device.index() : current_device();
}

// A place in a queue: how often it was recorded, and how many of these have been reached. What is queued holds
// it: it may be destroyed before that has run.
class Event : public std::enable_shared_from_this<Event> {
 public:
  void record(Queue& queue) {
    uint64_t version = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      version = ++recorded_;
    }
    queue.push([self = shared_from_this(), version] { self->reach(version); });
  }

  void block(Queue& queue) {
    queue.push([self = shared_from_this(), version = recorded()] { self->wait(version); });
  }

  void synchronize() {
    wait(recorded());
  }

  bool reached() {
    std::lock_guard<std::mutex> lock(mutex_);
    return reached_ == recorded_;
  }

  double milliseconds_until(Event& other) {
    return std::chrono::duration<double, std::milli>(other.time_ - time_).count();
  }

 private:
  void reach(uint64_t version) {
    std::lock_guard<std::mutex> lock(mutex_);
    reached_ = std::max(reached_, version);
    time_ = Clock::now();
    changed_.notify_all();
  }

  uint64_t recorded() {
    std::lock_guard<std::mutex> lock(mutex_);
    return recorded_;
  }

  void wait(uint64_t version) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= version; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t recorded_ = 0;
  uint64_t reached_ = 0;
  Clock::time_point time_;
};

// PyTorch keeps an event as a pointer to nothing in particular.
Event& event_at(void* handle) {
  return **static_cast<std::shared_ptr<Event>*>(handle);
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override {
    return c10::kPrivateUse1;
  }

  c10::Device exchangeDevice(c10::Device device) const override {
    const auto former = getDevice();
    setDevice(device);
    return former;
  }

  c10::Device getDevice() const override {
    return {c10::kPrivateUse1, current_device()};
  }

  void setDevice(c10::Device device) const override {
    set_current_device(index_of(device));
  }

  void uncheckedSetDevice(c10::Device device) const noexcept override {
    chosen_device = index_of(device);
  }

  c10::DeviceIndex deviceCount() const noexcept override {
    return kDevices;
  }

  c10::Stream getStream(c10::Device device) const override {
    return current_stream(index_of(device));
  }

  c10::Stream getDefaultStream(c10::Device device) const override {
    return stream(index_of(device), 0);
  }

  c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    return stream(index_of(device), streams().next(index_of(device)));
  }

  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*priority*/) const override {
    return getNewStream(device, 0);
  }

  c10::Stream exchangeStream(c10::Stream chosen) const override {
    const auto former = current_stream(chosen.device_index());
    chosen_stream[chosen.device_index()] = chosen.id();
    return former;
  }

  bool queryStream(const c10::Stream& stream) const override {
    return queue(stream).idle();
  }

  void synchronizeStream(const c10::Stream& stream) const override {
    queue(stream).drain();
  }

  void synchronizeDevice(const c10::DeviceIndex device) const override {
    synchronize_device(device < 0 ? current_device() : device);
  }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag)
      const override {
    if (*event == nullptr) {
      *event = new std::shared_ptr<Event>(std::make_shared<Event>());
    }
    event_at(*event).record(queue(stream));
  }

  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr && !fault("no_sync")) {
      event_at(event).block(queue(stream));
    }
  }

  bool queryEvent(void* event) const override {
    return event == nullptr || event_at(event).reached();
  }

  void synchronizeEvent(void* event) const override {
    if (event != nullptr) {
      event_at(event).synchronize();
    }
  }

  double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override {
    TORCH_CHECK(first && second, "Both events must be recorded before calculating elapsed time.");
    return event_at(first).milliseconds_until(event_at(second));
  }

  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<std::shared_ptr<Event>*>(event);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

} // namespace

c10::DeviceIndex current_device() {
  return chosen_device;
}

void set_current_device(c10::DeviceIndex device) {
  TORCH_CHECK(
      device >= 0 && device < kDevices, "pretend has ", int(kDevices), " devices, none with index ", int(device));
  chosen_device = device;
}

c10::Stream current_stream(c10::DeviceIndex device) {
  return stream(device, chosen_stream[device]);
}

void enqueue(c10::DeviceIndex device, std::function<void()> work) {
  queue(current_stream(device)).push(std::move(work));
}

void synchronize_current(c10::DeviceIndex device) {
  queue(current_stream(device)).drain();
}

void synchronize_device(c10::DeviceIndex device) {
  for (auto* queue : streams().queues(device)) {
    queue->drain();
  }
}

void synchronize_all() {
  for (c10::DeviceIndex device = 0; device < kDevices; ++device) {
    synchronize_device(device);
  }
}

} // namespace pretend
