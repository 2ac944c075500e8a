// The C ABI between the C++ shim and the Rust core. Plain data only; nothing here throws or panics.
// `nrn_` functions are implemented in Rust (crates/bridge), `nshim_` functions in C++ (csrc/).
#pragma once
#include <stddef.h>
#include <stdint.h>

// Both sides are linked into one library: no call between them goes through a table.
#pragma GCC visibility push(hidden)
extern "C" {

// A tensor as seen by the core. `data` points at element 0 (storage offset applied); sizes and strides are in
// elements and borrowed for the duration of the call. `dtype` is the core's code (see dtype.h), 255 = none.
enum NTensorFlag { NT_WRAPPED = 1, NT_CONJ = 2, NT_NEG = 4 };
enum NDeviceType { ND_CPU = 0, ND_NEURON = 1, ND_META = 2, ND_OTHER = 3 };
typedef struct {
  void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int32_t ndim;
  uint8_t dtype;
  uint8_t device_type;
  int8_t device_index;
  uint8_t flags;
  void* impl;  // c10::TensorImpl*, borrowed; null in a list means an undefined tensor
} NTensor;

enum NTag {
  NA_NONE = 0, NA_TENSOR = 1, NA_TENSOR_LIST = 2, NA_BOOL = 3, NA_INT = 4, NA_FLOAT = 5, NA_COMPLEX = 6,
  NA_INT_LIST = 7, NA_FLOAT_LIST = 8, NA_BOOL_LIST = 9, NA_STRING = 10, NA_GENERATOR = 11, NA_SCALAR_LIST = 12,
  NA_OTHER = 13
};
typedef struct { uint32_t tag; uint32_t pad; union { int64_t i; double f; } re; double im; } NScalar;
typedef struct {
  uint32_t tag;
  uint32_t len;  // of lists and strings
  union {
    int64_t i;                // INT (a ScalarType as the core's dtype code), BOOL
    double f;                 // FLOAT
    const NTensor* tensors;   // TENSOR (one), TENSOR_LIST (len)
    const int64_t* ints;      // INT_LIST
    const double* floats;     // FLOAT_LIST; COMPLEX: two
    const uint8_t* bools;     // BOOL_LIST
    const char* chars;        // STRING
    const NScalar* scalars;   // SCALAR_LIST
    void* ptr;                // GENERATOR: c10::GeneratorImpl*
  } v;
} NArg;

// One return that is not an alias of an argument. A list return is NR_LIST with `i` = length, then its elements.
enum NRetTag { NR_UNDEFINED = 0, NR_TENSOR = 1, NR_INT = 2, NR_LIST = 3, NR_FLOAT = 4 };
typedef struct { uint32_t tag; uint32_t pad; union { int64_t i; double f; void* impl; } v; } NRet;

// Result codes of calls into the core.
enum NCode {
  NC_OK = 0,
  NC_ERROR = 1,        // nrn_last_error() and nrn_last_error_kind() say what to raise
  NC_UNSUPPORTED = 2,  // no native rule for these operands: fall back, or raise NotImplementedError
  NC_RETHROW = 3       // a shim callback stashed a C++ exception: rethrow it
};
enum NErrorKind { NE_RUNTIME = 0, NE_INDEX = 1, NE_VALUE = 2, NE_TYPE = 3, NE_NOT_IMPLEMENTED = 4, NE_OOM = 5,
  NE_LINALG = 6 };
const char* nrn_last_error(void);
int nrn_last_error_kind(void);

// ---- operators -------------------------------------------------------------------------------------------
// The core names the overloads it implements; the shim registers each with its boxed kernel.
// Argument kinds of a schema, one byte each.
enum NKind { NK_TENSOR = 0, NK_TENSOR_LIST = 1, NK_SCALAR = 2, NK_FLOAT = 3, NK_INT = 4, NK_BOOL = 5, NK_DTYPE = 6,
  NK_INT_LIST = 7, NK_GENERATOR = 8, NK_OTHER = 9, NK_SCALAR_LIST = 10 };
typedef struct {
  const char* name;       // "aten::add"
  const char* overload;   // "Tensor"
  uint32_t nargs, nrets;
  const uint8_t* kinds;   // NKind per argument
  const uint8_t* writes;  // per argument: 1 if the schema says it is written (a!)
  const uint8_t* kwarg_out; // per argument: 1 if it is an out= argument
  const char* const* arg_names;
  const uint8_t* ret_aliases; // per return: 1 if it aliases an argument (the shim pushes the argument itself)
} NSchema;
// Row names of the core's table ("aten::add.Tensor"), count; the shim looks each up, derives its in-place and out=
// overloads from the dispatcher's schemas, and calls nrn_declare once per overload that it registers.
uint32_t nrn_row_count(void);
const char* nrn_row_name(uint32_t row);
// variant: 0 the row itself, 1 in-place, 2 out=. Returns the op id to pass to nrn_call.
uint32_t nrn_declare(uint32_t row, int variant, const NSchema* schema);
// Calls an operator. `frame` is the shim's own and is handed back to the callbacks below.
// Returns go to `room`, or, when they are more than NRN_ROOM, to memory that is valid until the thread's next call.
enum { NRN_ROOM = 8 };
int nrn_call(uint32_t op, void* frame, const NArg* args, uint32_t nargs, NRet* room, const NRet** rets, uint32_t* nrets);

// Callbacks during nrn_call, implemented by the shim. Non-zero: an exception is stashed (return NC_RETHROW).
typedef struct { uint8_t dtype; int32_t ndim; const int64_t* sizes; const int64_t* strides; } NMeta;
// Runs the overload on meta tensors; fills one NMeta per tensor returned (lists flattened; undefined: ndim = -1).
// `*count` = UINT32_MAX when PyTorch has no meta kernel for it. Valid until the next nshim_meta on this thread.
// `functional`: prefers the overload without out= arguments.
int nshim_meta(void* frame, int functional, const NMeta** metas, uint32_t* count);
// A new device tensor; `strides` may be null (contiguous). Returns an owned TensorImpl* in out->impl.
int nshim_empty(const int64_t* sizes, const int64_t* strides, int32_t ndim, uint8_t dtype, int8_t device, NTensor* out);
// Drops a tensor made by nshim_empty that will not be returned.
void nshim_drop(void* impl);
// Makes a tensor made by nshim_empty smaller: the strides stay, and the storage ends where the elements do.
int nshim_shrink(void* impl, const int64_t* sizes, int32_t ndim, NTensor* out);
// Resizes an out= argument (with PyTorch's warning rules) and re-reads it. `elem` >= 0: element of a tensor list.
int nshim_resize(void* frame, uint32_t arg, int32_t elem, const int64_t* sizes, int32_t ndim, NTensor* out);
// Reserves `count` 128-bit Philox blocks of a generator (null: the device's default) → seed and offset before.
int nshim_philox(void* generator, int8_t device, uint64_t count, uint64_t* seed, uint64_t* offset);
// Registers everything. Called once, from Rust, after the driver is up. Null, or why it failed (never freed).
const char* nshim_register(void);

// ---- compiled graphs ---------------------------------------------------------------------------------------
// A Python tensor as the core sees it; null: it is none. `*handle` keeps it alive until nshim_release.
int nshim_from_python(void* object, NTensor* out, void** handle);
void nshim_release(void* handle);
// A Python tensor of a tensor made by nshim_empty (which it takes over when `whole`), or of a view of any tensor.
void* nshim_to_python(void* impl, int whole, uint8_t dtype, const int64_t* sizes, const int64_t* strides, int32_t ndim,
    int64_t delta, uint8_t flags);
void nshim_retain(void* impl);
// Kind (NErrorKind) and text of the stashed exception, which is forgotten.
int nshim_stashed(void (*message)(const char*, void*), void* to);

// ---- memory ----------------------------------------------------------------------------------------------
typedef struct { void* data; void* ctx; } NBlock;
typedef struct { int64_t current, peak, allocated, freed; } NStat;
typedef struct {
  NStat allocation, segment, active, inactive_split;            // counts
  NStat allocated_bytes, reserved_bytes, active_bytes, inactive_split_bytes, requested_bytes;
  int64_t num_alloc_retries, num_ooms, num_device_alloc, num_device_free, num_sync_all_streams;
} NMemoryStats;
int nrn_alloc(size_t bytes, int device, int64_t stream, NBlock* out);  // NC_ERROR with NE_OOM when exhausted
void nrn_free(void* ctx);
void nrn_record_stream(void* ctx, int64_t stream);
int nrn_empty_cache(void);
void nrn_memory_stats(int device, NMemoryStats* out);
void nrn_reset_stats(int device, int peak);
void nrn_memory_info(int device, size_t* free_bytes, size_t* total_bytes);
int nrn_host_alloc(size_t bytes, NBlock* out);   // pinned host memory
void nrn_host_free(void* ctx);
int nrn_host_is_pinned(const void* p);
void nrn_host_empty_cache(void);
void nrn_host_stats(NStat* allocation, NStat* bytes);
void nrn_host_reset_stats(int peak);
int nrn_host_record(void* ctx, int device, int64_t stream);  // keeps the memory until the stream has passed this point
int nrn_pointer_device(const void* p);           // -1: not device memory

// ---- copies ----------------------------------------------------------------------------------------------
// Strided copy with element conversion between any two of {device, host}; sizes of dst. Blocks unless
// `non_blocking` and the host side is pinned. Conjugate and negative bits of src are honoured.
int nrn_copy(const NTensor* dst, const NTensor* src, int non_blocking);
// Waits for the device's current stream, then the caller may touch device memory from the host.
int nrn_host_access(int device);

// ---- devices, streams, events ----------------------------------------------------------------------------
int nrn_device_count(void);
int nrn_get_device(void);
int nrn_exchange_device(int device);             // returns the previous one
int64_t nrn_current_stream(int device);
int64_t nrn_exchange_stream(int device, int64_t stream);
int64_t nrn_new_stream(int device, int priority);
int nrn_stream_query(int device, int64_t stream);     // 1 idle
int nrn_stream_sync(int device, int64_t stream);      // NC_ERROR raises what the stream recorded
int nrn_device_sync(int device);
int nrn_event_record(void** event, int device, int64_t stream, int timing);
void nrn_event_destroy(void* event);
int nrn_event_block(void* event, int device, int64_t stream);
int nrn_event_query(void* event);
int nrn_event_sync(void* event);
int nrn_event_elapsed(void* start, void* end, double* milliseconds);
int nrn_event_device(void* event);

// ---- fallback --------------------------------------------------------------------------------------------
// Called before a CPU fallback runs: counts it, or refuses (NC_ERROR, NE_NOT_IMPLEMENTED). `reason`: why there is no
// native execution, empty without a rule. `*warn` becomes 1 when the operator's one warning is due.
int nrn_fallback(const char* name, const char* overload, const char* operands, const char* reason, int* warn);
}
#pragma GCC visibility pop
