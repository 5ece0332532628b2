// SPDX-License-Identifier: Apache-2.0
#if FOVEA_TESTS_TRAP_HEAP

#include "support/mutation.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace fovea_test {

constexpr size_t kMemoryBytes = size_t{1} << 26;
alignas(64) unsigned char g_zeros[kMemoryBytes], g_ones[kMemoryBytes >> 2], g_elsewhere[kMemoryBytes];

namespace {

// The content of FOVEA_TEST_IGNORE.
struct Ignored {
  bool reads = false, gives = false;
  std::string owner, field;
  uint64_t value = 0;
  fovea_status status = FOVEA_OK;

  bool is(const char* other_owner, const char* other_field) const {
    return field == other_field && owner == other_owner;
  }
};

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "FOVEA_TEST_IGNORE: %s\n", why);
  std::_Exit(99);
}

Ignored parse(const char* text) {
  Ignored ignored;
  if (text == nullptr) return ignored;
  std::memset(g_ones, 0xff, sizeof g_ones);
  char direction[8] = "", name[128] = "";
  const int words = std::sscanf(text, "%7s %127s = %" SCNu64, direction, name, &ignored.value);
  ignored.reads = std::strcmp(direction, "reads") == 0;
  ignored.gives = std::strcmp(direction, "gives") == 0;
  char* const dot = std::strchr(name, '.');
  if (dot != nullptr) {
    ignored.owner.assign(name, dot);
    ignored.field = dot + 1;
  } else {
    ignored.status = status_of(name);
  }
  const bool known = dot != nullptr ? ignored.reads || ignored.gives : ignored.gives && ignored.status != FOVEA_OK;
  if (words < 2 || !known) give_up("neither reads nor gives a field, nor gives a status");
  return ignored;
}

const Ignored& ignored() {
  static const Ignored kIgnored = parse(std::getenv("FOVEA_TEST_IGNORE"));
  return kIgnored;
}

// /proc/self/mem: reads of unreadable memory fail without a fault, and constant memory can be written.
int memory() {
  static const int kFile = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (kFile < 0) give_up("/proc/self/mem cannot be opened");
  return kFile;
}

bool read_memory(void* to, const void* from, size_t bytes) {
  const auto at = static_cast<off_t>(reinterpret_cast<uintptr_t>(from));
  return pread(memory(), to, bytes, at) == static_cast<ssize_t>(bytes);
}

void write_memory(void* to, const void* from, size_t bytes) {
  const auto at = static_cast<off_t>(reinterpret_cast<uintptr_t>(to));
  if (pwrite(memory(), from, bytes, at) != static_cast<ssize_t>(bytes)) give_up("/proc/self/mem cannot be written");
}

// The value of an ignored field: 0, or that in FOVEA_TEST_IGNORE.
std::vector<unsigned char> fixed_value(size_t bytes) {
  std::vector<unsigned char> value(bytes);
  std::memcpy(value.data(), &ignored().value, std::min(bytes, sizeof ignored().value));
  return value;
}

// The field's value in the test, and its value before the test changed it.
thread_local std::vector<unsigned char> g_now, g_before;

// A copy of a callback's argument, without the field.
template <class Given>
Given copy_of(const Given* given) {
  Given copy = *given;
  const Structure& structure = *StructureOf<Given>::kValue;
  for (const Field* field = structure.fields; field != structure.fields + structure.count; ++field) {
    if (ignored().is(structure.name, field->name)) {
      std::memset(reinterpret_cast<unsigned char*>(&copy) + field->offset, 0, field->bytes);
    }
  }
  return copy;
}

template <auto kHolder, auto kFunction, class Result, class Given>
Result call_with_copy(void* self, const Given* given) {
  const auto& own = static_cast<Callbacks*>(self)->*kHolder;
  const Given copy = copy_of(given);
  return (own.*kFunction)(own.self, &copy);
}

template <auto kHolder, auto kFunction, class Holder, class Result, class Given>
void replace(Holder* holder, Result (*function)(void*, const Given*)) {
  if (function != nullptr) holder->*kFunction = call_with_copy<kHolder, kFunction, Result, Given>;
}

}  // namespace

bool anything_is_ignored() { return ignored().reads || ignored().gives; }
fovea_status given(fovea_status status) { return ignored().gives && status == ignored().status ? FOVEA_OK : status; }

void Callbacks::stand_in_for(fovea_loader* own) {
  loader = *own;
  replace<&Callbacks::loader, &fovea_loader::start>(own, own->start);
  replace<&Callbacks::loader, &fovea_loader::finish>(own, own->finish);
  own->self = this;
}

void Callbacks::stand_in_for(fovea_modifier* own) {
  modifier = *own;
  replace<&Callbacks::modifier, &fovea_modifier::score_mod>(own, own->score_mod);
  replace<&Callbacks::modifier, &fovea_modifier::weight_mod>(own, own->weight_mod);
  own->self = this;
}

void Callbacks::stand_in_for(fovea_block_map_args* own) {
  map_args = *own;
  replace<&Callbacks::map_args, &fovea_block_map_args::classify>(own, own->classify);
  own->self = this;
}

Mutation::Mutation(const char* function, std::initializer_list<Parameter> parameters) {
  for (const Parameter& parameter : parameters) {
    const Field& field = parameter.field;
    if (ignored().is(function, field.name)) {
      if (ignored().reads) add(&field, parameter.at, field.bytes, Use::kRead);
    } else if (field.structure != nullptr && !(ignored().reads && parameter.use == Use::kWritten)) {
      find(function, field, parameter.at, parameter.use);
    }
  }
  if (places_.empty() || places_[0].before == g_now) return;
  g_before.swap(g_now);
  g_now = places_[0].before;
}

void Mutation::find(const char* owner, const Field& field, void* at, Use use) {
  if (ignored().is(owner, field.name)) {
    if (ignored().reads || use != Use::kRead) add(&field, at, field.bytes, use);
    return;
  }
  if (ignored().gives) find_callbacks(owner, field, at);
  if (field.structure == nullptr || (!field.is_pointer && std::strcmp(field.name, "desc") == 0)) return;
  if (field.is_pointer) {
    void* target = nullptr;
    bool found = read_memory(&target, at, sizeof target) && target != nullptr;
    if (field.is_list) found = found && read_memory(&target, target, sizeof target) && target != nullptr;
    if (found) find_in(*field.structure, target, use);
    return;
  }
  for (size_t i = 0; i < field.bytes; i += field.structure->bytes) {
    find_in(*field.structure, static_cast<unsigned char*>(at) + i, use);
  }
}

void Mutation::find_in(const Structure& structure, void* at, Use use) {
  for (size_t i = 0; i < structure.count; ++i) {
    const Field& field = structure.fields[i];
    find(structure.name, field, static_cast<unsigned char*>(at) + field.offset, use);
  }
}

void Mutation::find_callbacks(const char* owner, const Field& field, void* at) {
  const auto is = [&](const char* given, const char* other_owner, const char* first) {
    return ignored().owner == given && std::strcmp(owner, other_owner) == 0 && std::strcmp(field.name, first) == 0;
  };
  if (is("fovea_kv_tile", "fovea_loader", "start")) stand_in_for<fovea_loader>(at, field);
  if (is("fovea_score_block", "fovea_modifier", "score_mod")) stand_in_for<fovea_modifier>(at, field);
  if (is("fovea_block", "fovea_block_map_args", "classify")) stand_in_for<fovea_block_map_args>(at, field);
}

template <class Holder>
void Mutation::stand_in_for(void* at, const Field& field) {
  Place* const place = add(nullptr, static_cast<unsigned char*>(at) - field.offset, sizeof(Holder), Use::kRead);
  if (place == nullptr) return;
  Holder holder;
  std::memcpy(&holder, place->before.data(), sizeof holder);
  callbacks_.stand_in_for(&holder);
  std::memcpy(place->changed.data(), &holder, sizeof holder);
}

Mutation::Place* Mutation::add(const Field* field, void* at, size_t bytes, Use use) {
  Place place = {field, at, use, std::vector<unsigned char>(bytes), {}};
  if (!read_memory(place.before.data(), at, bytes)) return nullptr;
  place.changed = place.before;
  places_.push_back(std::move(place));
  return &places_.back();
}

// Sets the places, or `only` that one, to this value. False if this is no new attempt.
bool Mutation::try_value(Instead value, const Place* only) {
  const bool all_zero = std::all_of(places_.begin(), places_.end(), is_zero);
  for (Place& place : places_) {
    place.changed = place.before;
    if (value == Instead::kOwn || (only != nullptr && &place != only)) continue;
    if (value == Instead::kZero) {
      place.changed = fixed_value(place.before.size());
    } else if (value == Instead::kBefore) {
      if (!place.field->is_number || g_before.size() != place.before.size()) return false;
      place.changed = g_before;
    } else if (all_zero || !is_zero(place)) {  // an unused field stays unused
      const auto index = static_cast<size_t>(&place - places_.data());
      if (place.field->put == nullptr || !place.field->put(place.changed.data(), value, index)) return false;
    }
  }
  return true;
}

// The next attempt: each of kValues in all places, then each in one place alone, then kLast.
bool Mutation::try_next() {
  constexpr Instead kValues[] = {Instead::kZero, Instead::kOther, Instead::kBefore, Instead::kOnes, Instead::kNext};
  constexpr Instead kLast[] = {Instead::kOwn, Instead::kGreat, Instead::kOwn};
  constexpr size_t kCount = std::size(kValues);
  const size_t subsets = places_.size() > 1 ? places_.size() + 1 : 1;
  const size_t at = attempt_++, subset = at / kCount;
  const Instead value = subset < subsets ? kValues[at % kCount] : kLast[at - subsets * kCount];
  done_ = at + 1 == subsets * kCount + std::size(kLast);
  return try_value(value, subset > 0 && subset < subsets ? &places_[subset - 1] : nullptr);
}

void Mutation::change() {
  if (ignored().reads) {
    while (!try_next()) {
    }
  }
  for (const Place& place : places_) write_memory(place.at, place.changed.data(), place.changed.size());
  done_ = done_ || ignored().gives || std::all_of(places_.begin(), places_.end(), is_structure);
}

void Mutation::restore(bool accepted) {
  for (const Place& place : places_) {
    std::vector<unsigned char> now(place.before.size());
    const bool written = read_memory(now.data(), place.at, now.size()) && now != place.changed;
    if (ignored().gives && accepted && place.field != nullptr && (written || place.use == Use::kWritten)) {
      now = fixed_value(now.size());
      write_memory(place.at, now.data(), now.size());
    } else if (ignored().gives || !written) {  // keeps what the call wrote to a field that it also reads
      write_memory(place.at, place.before.data(), place.before.size());
    }
  }
  done_ = done_ || accepted;
}

}  // namespace fovea_test

#endif
