// Metal and the Objective-C runtime without a Mac, for tests of the layers above: objects with counts of references, pools,
// messages that are found by their selector, and the classes that tile-metal uses, with the types of Apple's headers.
// What is wrong is written into a journal: a message to a freed object, an unknown selector, an object without a pool,
// arguments that end the process on a Mac. Kernels are run by a function that the test gives.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {
struct Object;
typedef void* Imp;
struct Method {
  const char* encoding;
  Imp function;
};
struct Class {
  std::string name;
  std::map<std::string, Method> methods;
};
struct Object {
  Class* isa;
  int references = 1;
  bool freed = false;
  std::string text, source;
  std::vector<char> memory;
  char* start = nullptr;  // of a buffer's bytes, its own or those of a tensor
  size_t size = 0;
  std::vector<Object*> owned;
  std::map<std::string, Object*> properties;
  std::map<std::string, long> numbers;
};
struct Size {
  unsigned long width, height, depth;
};
struct Argument {
  Object* buffer = nullptr;
  unsigned long offset = 0;
  std::string data;
};
typedef int (*Executor)(const char* source, const char* symbol, int count, char** addresses, long* sizes, unsigned long* grid,
                        unsigned long* block);

std::mutex lock;
std::map<std::string, Class*> classes;
std::map<Object*, Class*> metaclasses;  // class objects
std::set<Object*> live;
thread_local std::vector<std::vector<Object*>> pools;
std::set<std::string> selectors;
std::string journal, fails, answer, gpu;
std::map<std::string, long> counts;
Executor executor = nullptr;
long family = 9, old_system = 0;
// of the encoder that is open
Object* pipeline_of_encoder = nullptr;
std::vector<Argument> arguments;
struct Work {
  Object* pipeline;
  std::vector<Argument> arguments;
  Size grid, block;
};
std::map<Object*, std::vector<Work>> work;  // by command buffer
std::map<Object*, Object*> buffer_of;       // of encoders

void note(const std::string& line) { journal += line + "\n"; }

Class* class_of(const char* name) {
  Class*& found = classes[name];
  if (!found) found = new Class{name, {}};
  return found;
}
Object* make(const char* name) {
  Object* object = new Object;
  object->isa = class_of(name);
  live.insert(object);
  return object;
}
Object* autoreleased(Object* object) {
  if (pools.empty()) note("an object of " + object->isa->name + " is autoreleased with no pool in place");
  else pools.back().push_back(object);
  return object;
}
void release(Object* object) {
  if (--object->references > 0) return;
  object->freed = true;
  live.erase(object);
  if (object->isa->name == "Encoder" && !object->numbers["ended"]) note("an encoder is freed before it is ended");
  if (!object->memory.empty()) memset(object->start, 0xDB, object->size);
  for (Object* other : object->owned) release(other);
  for (auto& property : object->properties)
    if (property.second) release(property.second);
}
Object* string_of(const std::string& text) {
  Object* object = autoreleased(make("NSString"));
  object->text = text;
  return object;
}
Object* error_of(const std::string& text) {
  Object* object = autoreleased(make("NSError"));
  object->text = text;
  return object;
}
bool fails_at(const char* what) {
  if (fails != what) return false;
  fails.clear();
  return true;
}
// what a message to nothing, or an unknown one, does
long nothing(Object*, const char*) { return 0; }

// -- methods --------------------------------------------------------------------------------------------------------
void m_release(Object* self, const char*) { release(self); }
Object* m_retain(Object* self, const char*) { self->references++; return self; }
bool m_responds(Object* self, const char*, const char* selector) { return self->isa->methods.count(selector) != 0; }
Object* m_string(Object*, const char*, const char* text) { return string_of(text); }
const char* m_utf8(Object* self, const char*) { return self->text.c_str(); }
Object* m_text(Object* self, const char*) { return string_of(self->text); }
unsigned long m_count(Object* self, const char*) { return self->owned.size(); }
Object* m_at(Object* self, const char*, unsigned long index) { return self->owned[index]; }

Object* m_options(Object*, const char*) { return make("MTLCompileOptions"); }
void m_language(Object* self, const char*, unsigned long version) { self->numbers["version"] = (long)version; }
void m_fast(Object* self, const char*, bool fast) { self->numbers["safe"] = !fast; }
void m_mode(Object* self, const char*, long mode) { self->numbers["safe"] = mode == 0; }
void m_functions(Object* self, const char*, long precise) { self->numbers["precise"] = precise == 1; }

Object* m_queue(Object*, const char*) { return make("Queue"); }
bool m_family(Object*, const char*, long number) { return family && number <= 1000 + family; }
Object* m_library(Object*, const char*, Object* source, Object* options, Object** error) {
  char line[96];
  snprintf(line, sizeof line, "compile version %lx safe %ld precise %ld", options->numbers["version"],
           options->numbers["safe"], options->numbers["precise"]);
  note(line);
  if (fails_at("compile")) return *error = error_of(answer), nullptr;
  Object* library = make("Library");
  library->text = source->text;
  return library;
}
Object* m_function(Object* self, const char*, Object* name) {
  if (self->text.find(" " + name->text + "(") == std::string::npos) return nullptr;
  Object* function = make("Function");
  function->text = name->text, function->source = self->text;
  return function;
}
bool is(Object* object, const char* name) { return live.count(object) && object->isa->name == name; }
Object* pipeline_of(Object* function) {
  Object* pipeline = make("Pipeline");
  pipeline->text = function->text, pipeline->source = function->source;
  pipeline->numbers["threads"] = fails_at("registers") ? 32 : 1024;
  pipeline->numbers["bytes"] = fails_at("threadgroup") ? 32784 : 0;
  return pipeline;
}
Object* m_pipeline(Object*, const char*, Object* function, Object** error) {
  if (!is(function, "Function")) return note("a pipeline of no function"), nullptr;
  if (fails_at("pipeline")) return *error = error_of(answer), nullptr;
  counts["compiled"]++;
  return pipeline_of(function);
}

// -- binary archives: a file's first line is of the device, each further one the digest of a kernel and its program -------
std::string line_of(Object* function) {
  return std::to_string(std::hash<std::string>()(function->source + '\0' + function->text)) + "\n";
}
void set(Object* self, const char* name, Object* value) {  // as a property that retains, or copies what cannot change
  if (value) value->references++;
  Object*& property = self->properties[name];
  if (property) release(property);
  property = value;
}
Object* m_url(Object*, const char*, Object* path) {
  if (!is(path, "NSString")) return note("a URL of no string"), nullptr;
  Object* url = autoreleased(make("NSURL"));
  url->text = path->text;
  return url;
}
Object* m_array(Object*, const char*, Object* element) {
  if (!live.count(element)) return note("an array of no object"), nullptr;
  Object* array = autoreleased(make("NSArray"));
  element->references++;
  array->owned.push_back(element);
  return array;
}
Object* m_archive_descriptor(Object*, const char*) { return make("MTLBinaryArchiveDescriptor"); }
Object* m_pipeline_descriptor(Object*, const char*) { return make("MTLComputePipelineDescriptor"); }
void m_set_url(Object* self, const char*, Object* url) {
  if (url && !is(url, "NSURL")) return note("setUrl: takes an NSURL");
  set(self, "url", url);
}
void m_set_function(Object* self, const char*, Object* function) {
  if (!is(function, "Function")) return note("setComputeFunction: takes a function");
  set(self, "function", function);
}
void m_set_archives(Object* self, const char*, Object* archives) {
  if (!is(archives, "NSArray")) return note("setBinaryArchives: takes an array");
  for (Object* archive : archives->owned)
    if (!is(archive, "Archive")) note("setBinaryArchives: takes an array of archives");
  set(self, "archives", archives);
}
Object* m_open_archive(Object* self, const char*, Object* descriptor, Object** error) {
  if (!is(descriptor, "MTLBinaryArchiveDescriptor")) return note("an archive of no descriptor"), nullptr;
  Object* url = descriptor->properties["url"];
  if (fails_at(url ? "open" : "new archive")) return *error = error_of(answer), nullptr;
  Object* archive = make("Archive");
  if (!url) return archive;
  FILE* file = fopen(url->text.c_str(), "rb");
  std::string data;
  if (file) {
    for (int c; (c = fgetc(file)) != EOF;) data += (char)c;
    fclose(file);
  }
  std::string head = "archive of " + self->text + "\n";
  if (data.compare(0, head.size(), head)) {
    release(archive);
    return *error = error_of("invalid file"), nullptr;
  }
  archive->text = data.substr(head.size());
  counts["opened"]++;
  return archive;
}
bool m_add(Object* self, const char*, Object* descriptor, Object** error) {
  if (!is(descriptor, "MTLComputePipelineDescriptor") || !descriptor->properties["function"])
    return note("an archive takes the descriptor of a pipeline with a function"), false;
  if (fails_at("add")) return *error = error_of(answer), false;
  std::string line = line_of(descriptor->properties["function"]);
  if (self->text.find(line) == std::string::npos) self->text += line, counts["compiled"]++;
  return true;
}
bool m_serialize(Object* self, const char*, Object* url, Object** error) {
  if (!is(url, "NSURL")) return note("an archive is written to a URL"), false;
  if (fails_at("serialize")) return *error = error_of(answer), false;
  FILE* file = fopen(url->text.c_str(), "wbx");
  if (!file) return *error = error_of("the file cannot be written"), false;
  std::string data = "archive of " + gpu + "\n" + self->text;
  fwrite(data.data(), 1, data.size(), file);
  fclose(file);
  return true;
}
Object* m_described_pipeline(Object*, const char*, Object* descriptor, unsigned long options, Object** reflection,
                             Object** error) {
  if (!is(descriptor, "MTLComputePipelineDescriptor") || !descriptor->properties["function"])
    return note("a pipeline of a descriptor without a function"), nullptr;
  if (options || reflection) note("options or reflection that nobody reads");
  if (fails_at("described pipeline")) return *error = error_of(answer), nullptr;
  Object *function = descriptor->properties["function"], *archives = descriptor->properties["archives"];
  bool found = false;
  if (archives)
    for (Object* archive : archives->owned) found |= archive->text.find(line_of(function)) != std::string::npos;
  counts[found ? "from an archive" : "compiled"]++;
  return pipeline_of(function);
}
unsigned long m_threads(Object* self, const char*) { return self->numbers["threads"]; }
unsigned long m_bytes(Object* self, const char*) { return self->numbers["bytes"]; }
Object* m_buffer(Object*, const char*, unsigned long length, unsigned long options) {
  if (!length || options) note("a buffer of no bytes, or of another storage mode");
  if (fails_at("buffer")) return nullptr;
  Object* buffer = make("Buffer");
  buffer->memory.assign(length, (char)0xCD);
  buffer->start = buffer->memory.data(), buffer->size = length;
  return buffer;
}
void* m_contents(Object* self, const char*) { return self->start; }

Object* m_commands(Object*, const char*) { return autoreleased(make("CommandBuffer")); }
Object* m_encoder(Object* self, const char*) {
  Object* encoder = autoreleased(make("Encoder"));
  encoder->references++;  // the command buffer keeps it
  self->owned.push_back(encoder);
  buffer_of[encoder] = self;
  arguments.assign(31, {});
  pipeline_of_encoder = nullptr;
  return encoder;
}
void m_set_pipeline(Object*, const char*, Object* pipeline) { pipeline_of_encoder = pipeline; }
void m_set_buffer(Object*, const char*, Object* buffer, unsigned long offset, unsigned long index) {
  if (index > 30 || !live.count(buffer) || buffer->isa->name != "Buffer" || offset >= buffer->size)
    return note("a wrong buffer, offset or index");
  arguments[index] = {buffer, offset, ""};
}
void m_set_bytes(Object*, const char*, const char* bytes, unsigned long length, unsigned long index) {
  if (index > 30 || !length || length > 4096) return note("a wrong length or index of bytes");
  arguments[index] = {nullptr, 0, std::string(bytes, length)};
}
void m_dispatch(Object* self, const char*, Size grid, Size block) {
  if (!pipeline_of_encoder) return note("a dispatch without a pipeline");
  if (block.width * block.height * block.depth > (unsigned long)pipeline_of_encoder->numbers["threads"])
    return note("a threadgroup with too many threads");
  if (!grid.width || !grid.height || !grid.depth) return note("an empty grid");
  work[buffer_of[self]].push_back({pipeline_of_encoder, arguments, grid, block});
}
void m_end(Object* self, const char*) { self->numbers["ended"] = 1; }
void m_commit(Object* self, const char*) {
  for (Object* encoder : self->owned)
    if (!encoder->numbers["ended"]) note("a command buffer is committed with an open encoder");
  self->numbers["committed"] = 1;
}
void m_wait(Object* self, const char*) {
  if (!self->numbers["committed"]) return note("waits for a command buffer that was not committed");
  self->numbers["status"] = 4;
  for (Work& one : work[self]) {
    std::vector<char*> addresses;
    std::vector<long> sizes;
    for (Argument& argument : one.arguments) {
      if (!argument.buffer && argument.data.empty()) break;
      Object* buffer = argument.buffer;
      addresses.push_back(buffer ? buffer->start + argument.offset : &argument.data[0]);
      sizes.push_back(buffer ? (long)(buffer->size - argument.offset) : -(long)argument.data.size());
    }
    unsigned long grid[] = {one.grid.width, one.grid.height, one.grid.depth};
    unsigned long block[] = {one.block.width, one.block.height, one.block.depth};
    if (executor)
      executor(one.pipeline->source.c_str(), one.pipeline->text.c_str(), (int)sizes.size(), addresses.data(), sizes.data(),
               grid, block);
    self->numbers["ran"]++;
  }
  work.erase(self);
  if (fails_at("run")) self->numbers["status"] = 5, self->text = answer;
}
unsigned long m_status(Object* self, const char*) { return self->numbers["status"]; }
Object* m_error(Object* self, const char*) { return self->numbers["status"] == 5 ? error_of(self->text) : nullptr; }
double m_start(Object*, const char*) { return 12.25; }
double m_stop(Object* self, const char*) { return 12.25 + 0.5 * self->numbers["ran"]; }

void define(const char* name, const char* selector, const char* encoding, Imp function) {
  class_of(name)->methods[selector] = {encoding, function};
}
void define_all() {
  for (const char* name : {"NSString", "NSError", "NSArray", "MTLCompileOptions", "Device", "Queue", "Library", "Function",
                           "Pipeline", "Buffer", "CommandBuffer", "Encoder", "NSURL", "Archive",
                           "MTLBinaryArchiveDescriptor", "MTLComputePipelineDescriptor"}) {
    define(name, "release", "v@:", (Imp)m_release);
    define(name, "retain", "@@:", (Imp)m_retain);
    define(name, "respondsToSelector:", "B@::", (Imp)m_responds);
  }
  define("class NSString", "stringWithUTF8String:", "@@:r*", (Imp)m_string);
  define("NSString", "UTF8String", "r*@:", (Imp)m_utf8);
  define("NSError", "localizedDescription", "@@:", (Imp)m_text);
  define("NSArray", "count", "Q@:", (Imp)m_count);
  define("NSArray", "objectAtIndex:", "@@:Q", (Imp)m_at);
  define("class MTLCompileOptions", "new", "@@:", (Imp)m_options);
  define("MTLCompileOptions", "setLanguageVersion:", "v@:Q", (Imp)m_language);
  define("MTLCompileOptions", "setFastMathEnabled:", "v@:B", (Imp)m_fast);
  define("MTLCompileOptions", "setMathMode:", "v@:q", (Imp)m_mode);
  define("MTLCompileOptions", "setMathFloatingPointFunctions:", "v@:q", (Imp)m_functions);
  define("Device", "name", "@@:", (Imp)m_text);
  define("Device", "supportsFamily:", "B@:q", (Imp)m_family);
  define("Device", "newCommandQueue", "@@:", (Imp)m_queue);
  define("Device", "newLibraryWithSource:options:error:", "@@:@@^@", (Imp)m_library);
  define("Device", "newComputePipelineStateWithFunction:error:", "@@:@^@", (Imp)m_pipeline);
  define("class NSURL", "fileURLWithPath:", "@@:@", (Imp)m_url);
  define("class NSArray", "arrayWithObject:", "@@:@", (Imp)m_array);
  define("class MTLBinaryArchiveDescriptor", "new", "@@:", (Imp)m_archive_descriptor);
  define("class MTLComputePipelineDescriptor", "new", "@@:", (Imp)m_pipeline_descriptor);
  define("MTLBinaryArchiveDescriptor", "setUrl:", "v@:@", (Imp)m_set_url);
  define("MTLComputePipelineDescriptor", "setComputeFunction:", "v@:@", (Imp)m_set_function);
  define("MTLComputePipelineDescriptor", "setBinaryArchives:", "v@:@", (Imp)m_set_archives);
  define("Device", "newBinaryArchiveWithDescriptor:error:", "@@:@^@", (Imp)m_open_archive);
  define("Device", "newComputePipelineStateWithDescriptor:options:reflection:error:", "@@:@Q^@^@",
         (Imp)m_described_pipeline);
  define("Archive", "addComputePipelineFunctionsWithDescriptor:error:", "B@:@^@", (Imp)m_add);
  define("Archive", "serializeToURL:error:", "B@:@^@", (Imp)m_serialize);
  define("Device", "newBufferWithLength:options:", "@@:QQ", (Imp)m_buffer);
  define("Library", "newFunctionWithName:", "@@:@", (Imp)m_function);
  define("Pipeline", "maxTotalThreadsPerThreadgroup", "Q@:", (Imp)m_threads);
  define("Pipeline", "staticThreadgroupMemoryLength", "Q@:", (Imp)m_bytes);
  define("Buffer", "contents", "^v@:", (Imp)m_contents);
  define("Queue", "commandBuffer", "@@:", (Imp)m_commands);
  define("CommandBuffer", "computeCommandEncoder", "@@:", (Imp)m_encoder);
  define("CommandBuffer", "commit", "v@:", (Imp)m_commit);
  define("CommandBuffer", "waitUntilCompleted", "v@:", (Imp)m_wait);
  define("CommandBuffer", "status", "Q@:", (Imp)m_status);
  define("CommandBuffer", "error", "@@:", (Imp)m_error);
  define("CommandBuffer", "GPUStartTime", "d@:", (Imp)m_start);
  define("CommandBuffer", "GPUEndTime", "d@:", (Imp)m_stop);
  define("Encoder", "setComputePipelineState:", "v@:@", (Imp)m_set_pipeline);
  define("Encoder", "setBuffer:offset:atIndex:", "v@:@QQ", (Imp)m_set_buffer);
  define("Encoder", "setBytes:length:atIndex:", "v@:r^vQQ", (Imp)m_set_bytes);
  define("Encoder", "dispatchThreadgroups:threadsPerThreadgroup:", "v@:{Size=QQQ}{Size=QQQ}", (Imp)m_dispatch);
  define("Encoder", "endEncoding", "v@:", (Imp)m_end);
}
}  // namespace

extern "C" {
Imp fake_lookup(Object* self, const char* selector) {
  if (!self) return note(std::string(selector) + " is sent to nil"), (Imp)nothing;
  if (!metaclasses.count(self) && !live.count(self))
    return note(std::string(selector) + " is sent to a freed object, or to none"), (Imp)nothing;
  auto& methods = metaclasses.count(self) ? metaclasses[self]->methods : self->isa->methods;
  auto found = methods.find(selector);
  if (found == methods.end()) return note(std::string(selector) + ": unrecognized selector"), (Imp)nothing;
  if (old_system && !strncmp(selector, "setMath", 7)) return note("a message of a newer system"), (Imp)nothing;
  return found->second.function;
}
// As the real one: finds the method and goes on in it, with all arguments where they are (System V, x86-64).
__asm__(
    ".text\n.globl objc_msgSend\n.type objc_msgSend,@function\nobjc_msgSend:\n"
    "  push %rbp\n  mov %rsp,%rbp\n  sub $192,%rsp\n"
    "  mov %rdi,0(%rsp)\n  mov %rsi,8(%rsp)\n  mov %rdx,16(%rsp)\n  mov %rcx,24(%rsp)\n  mov %r8,32(%rsp)\n"
    "  mov %r9,40(%rsp)\n  movups %xmm0,64(%rsp)\n  movups %xmm1,80(%rsp)\n"
    "  call fake_lookup@PLT\n  mov %rax,%r11\n"
    "  mov 0(%rsp),%rdi\n  mov 8(%rsp),%rsi\n  mov 16(%rsp),%rdx\n  mov 24(%rsp),%rcx\n  mov 32(%rsp),%r8\n"
    "  mov 40(%rsp),%r9\n  movups 64(%rsp),%xmm0\n  movups 80(%rsp),%xmm1\n  leave\n  jmp *%r11\n");

Object* objc_getClass(const char* name) {
  if (classes.empty()) define_all();
  std::string wanted = std::string("class ") + name;
  if (!classes.count(wanted)) return nullptr;
  static std::map<std::string, Object*> objects;
  Object*& object = objects[wanted];
  if (!object) {
    object = new Object;
    metaclasses[object] = classes[wanted];
  }
  return object;
}
const char* sel_registerName(const char* name) { return selectors.insert(name).first->c_str(); }
void* objc_autoreleasePoolPush() {
  pools.emplace_back();
  return (void*)pools.size();
}
void objc_autoreleasePoolPop(void* token) {
  while (pools.size() >= (size_t)token) {
    std::vector<Object*> objects = pools.back();
    pools.pop_back();
    for (Object* object : objects) release(object);
  }
}
Object* MTLCreateSystemDefaultDevice() {
  if (classes.empty()) define_all();
  if (fails == "device" || fails == "devices") return nullptr;
  Object* device = make("Device");
  device->text = gpu;
  return device;
}
Object* MTLCopyAllDevices() {
  Object* array = make("NSArray");
  if (fails != "devices") {
    fails.clear();
    array->owned.push_back(MTLCreateSystemDefaultDevice());
  }
  return array;
}
// -- what tests ask ---------------------------------------------------------------------------------------------------
const char* fake_journal() { return journal.c_str(); }
long fake_count(const char* what) { return counts[what]; }
void fake_reset() { journal.clear(), fails.clear(), counts.clear(), gpu = "Apple M3 Max", family = 9, old_system = 0, executor = nullptr; }
void fake_fail(const char* what, const char* message) { fails = what, answer = message; }
void fake_gpu(const char* name) { gpu = name; }
void fake_family(long number) { family = number; }
void fake_old_system() {
  old_system = 1;
  for (const char* selector : {"setMathMode:", "setMathFloatingPointFunctions:"})
    classes["MTLCompileOptions"]->methods.erase(selector);
}
void fake_new_system() { define_all(); }
void fake_executor(Executor function) { executor = function; }
long fake_live(const char* name) {
  long count = 0;
  for (Object* object : live) count += object->isa->name == name;
  return count;
}
// A buffer that has the memory of a tensor, as torch allocates one; the test owns it.
Object* fake_buffer(char* start, unsigned long size) {
  Object* buffer = make("Buffer");
  buffer->start = start, buffer->size = size;
  return buffer;
}
void fake_release(Object* object) { release(object); }
const char* fake_encodings() {
  static std::string all;
  all.clear();
  if (classes.empty()) define_all();
  for (auto& entry : classes)
    for (auto& method : entry.second->methods) all += method.first + " " + method.second.encoding + "\n";
  return all.c_str();
}
}
