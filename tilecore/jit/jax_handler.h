// A handler of XLA's foreign function interface (xla/ffi/api/c_api.h) that launches kernels of tilecore. One handler is
// for all kernels: the attribute "call", an array of int64, says which kernel a call launches and how:
//
//   the kernel's number, the numbers of slots, of buffers and of words of grids; the slots, in which the addresses of
//   buffers are missing; for each buffer, arguments first, its slot, the number of its elements and its alignment; the
//   grids. Slots and grids are those of tilecore.contract.adapter.LoadedKernel.
//
// Kernels are registered by number before a call of theirs is compiled. The number is a digest of the kernel, so that
// a compiled program in a cache of XLA's cannot launch another one in another process.
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace {

using Launch = int (*)(void* state, const int64_t* slots, const int64_t* grids, void* stream);
struct Kernel {
  Launch launch;
  void* state;
  std::string name;
};

std::mutex lock;
std::unordered_map<int64_t, Kernel>& kernels() {
  static auto* table = new std::unordered_map<int64_t, Kernel>();
  return *table;
}

XLA_FFI_Error* error(const XLA_FFI_Api* api, XLA_FFI_Error_Code code, const std::string& message) {
  XLA_FFI_Error_Create_Args args = {};
  args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  args.message = message.c_str();
  args.errc = code;
  return api->XLA_FFI_Error_Create(&args);
}

const XLA_FFI_Array* attribute(const XLA_FFI_Attrs& attrs) {
  for (int64_t i = 0; i < attrs.size; ++i) {
    const std::string name(attrs.names[i]->ptr, attrs.names[i]->len);
    if (name != "call" || attrs.types[i] != XLA_FFI_AttrType_ARRAY) continue;
    const auto* array = static_cast<const XLA_FFI_Array*>(attrs.attrs[i]);
    return array->dtype == XLA_FFI_DataType_S64 ? array : nullptr;
  }
  return nullptr;
}

XLA_FFI_Error* launch(XLA_FFI_CallFrame* frame) {
  const XLA_FFI_Api* api = frame->api;
  const XLA_FFI_Array* array = attribute(frame->attrs);
  const int64_t* call = array == nullptr ? nullptr : static_cast<const int64_t*>(array->data);
  if (call == nullptr || array->size < 4) return error(api, XLA_FFI_Error_Code_INVALID_ARGUMENT, "tilecore: no call");
  const int64_t slots = call[1], buffers = call[2], words = call[3];
  if (slots < 0 || buffers < 0 || words < 0 || (int64_t)array->size != 4 + slots + 3 * buffers + words ||
      frame->args.size + frame->rets.size != buffers) {
    return error(api, XLA_FFI_Error_Code_INVALID_ARGUMENT, "tilecore: the call does not fit its arguments");
  }
  Kernel kernel;
  {
    std::lock_guard<std::mutex> guard(lock);
    auto found = kernels().find(call[0]);
    if (found == kernels().end()) {
      return error(api, XLA_FFI_Error_Code_FAILED_PRECONDITION,
                   "tilecore: the kernel of this program is not loaded in this process: call tilecore.jax_call with it");
    }
    kernel = found->second;
  }
  std::vector<int64_t> values(call + 4, call + 4 + slots);
  const int64_t* place = call + 4 + slots;
  for (int64_t i = 0; i < buffers; ++i, place += 3) {
    const bool is_arg = i < frame->args.size;
    const auto* buffer = static_cast<const XLA_FFI_Buffer*>(is_arg ? frame->args.args[i]
                                                                   : frame->rets.rets[i - frame->args.size]);
    int64_t elements = 1;
    for (int64_t axis = 0; axis < buffer->rank; ++axis) elements *= buffer->dims[axis];
    const auto address = (int64_t)(uintptr_t)buffer->data;
    if (elements != place[1] || place[0] < 0 || place[0] >= slots) {
      return error(api, XLA_FFI_Error_Code_INVALID_ARGUMENT, kernel.name + ": a buffer has another size than the kernel's");
    }
    if (elements && address % place[2]) {
      return error(api, XLA_FFI_Error_Code_INVALID_ARGUMENT, kernel.name + ": a buffer is not aligned as the kernel needs it");
    }
    values[place[0]] = address;
  }
  int64_t blocks = 0;
  for (int64_t i = 0; i + 2 < words; i += 4) blocks += place[i] * place[i + 1] * place[i + 2];
  if (blocks == 0) return nullptr;
  const int code = kernel.launch(kernel.state, values.data(), place, nullptr);
  if (code == 0) return nullptr;
  return error(api, XLA_FFI_Error_Code_INTERNAL, kernel.name + " failed: the launch returned " + std::to_string(code));
}

}  // namespace

extern "C" void tilecore_register(int64_t number, void* launch, void* state, const char* name) {
  std::lock_guard<std::mutex> guard(lock);
  kernels()[number] = Kernel{reinterpret_cast<Launch>(launch), state, name};
}

extern "C" XLA_FFI_Error* tilecore_launch(XLA_FFI_CallFrame* frame) {
  for (auto* extension = frame->extension_start; extension != nullptr; extension = extension->next) {
    if (extension->type != XLA_FFI_Extension_Metadata) continue;
    auto* metadata = reinterpret_cast<XLA_FFI_Metadata_Extension*>(extension)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    return nullptr;
  }
  return frame->stage == XLA_FFI_ExecutionStage_EXECUTE ? launch(frame) : nullptr;
}
