#include "tensor/unpickler.h"

#include <bit>
#include <cstring>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/str_cat.h"
#include "tensor/tensor.h"

namespace flexor {
namespace {

using Value = PickleValue;
using List = PickleValue::List;
using Dict = PickleValue::Dict;

const std::map<std::string, at::ScalarType, std::less<>> kStorages = {
    {"torch.FloatStorage", at::kFloat},       {"torch.DoubleStorage", at::kDouble}, {"torch.HalfStorage", at::kHalf},
    {"torch.BFloat16Storage", at::kBFloat16}, {"torch.LongStorage", at::kLong},     {"torch.IntStorage", at::kInt},
    {"torch.ShortStorage", at::kShort},       {"torch.CharStorage", at::kChar},     {"torch.ByteStorage", at::kByte},
    {"torch.BoolStorage", at::kBool},
};
constexpr std::string_view kOrderedDict = "collections.OrderedDict", kRebuild = "torch._utils._rebuild_tensor_v2",
                           kRebuildOld = "torch._utils._rebuild_tensor", kParameter = "torch._utils._rebuild_parameter";

bool is_known(std::string_view name) {
  return name == kOrderedDict || name == kRebuild || name == kRebuildOld || name == kParameter ||
         kStorages.contains(name);
}

/// Pickle's stack machine (Lib/pickletools.py describes the operations).
class Machine {
 public:
  Machine(std::span<const std::byte> bytes, const std::function<Tensor(const Value::Storage&)>& storage,
          const std::string& path)
      : bytes_(bytes), storage_(storage), path_(path) {}

  Value run() {
    while (true) {
      const auto op = number<uint8_t>();
      if (op == '.') {
        return pop();
      }
      if (!constant(op) && !container(op) && !memo(op) && !object(op)) {
        damaged(str_cat("operation ", static_cast<int>(op), " is none that torch.save uses"));
      }
    }
  }

 private:
  [[noreturn]] void damaged(const std::string& why) const {
    throw Error(ErrorKind::kCheckpoint, "pickle: " + why, str_cat(path_, ", byte ", at_),
                "only state dicts of tensors are read");
  }
  [[noreturn]] void refuse(const std::string& name) const {
    throw Error(ErrorKind::kCheckpoint,
                str_cat("the file wants to call '", name, "'; only tensors, dicts and storages are read"), path_,
                "a state dict can be written by torch.save(model.state_dict(), FILE)");
  }

  std::span<const std::byte> take(uint64_t count) {
    if (count > bytes_.size() - at_) {
      damaged("it ends in the middle");
    }
    const auto part = bytes_.subspan(at_, count);
    at_ += count;
    return part;
  }
  template <typename T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string text(uint64_t count) {
    const auto part = take(count);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::string line() {
    std::string result;
    for (char c = number<char>(); c != '\n'; c = number<char>()) {
      result += c;
    }
    return result;
  }

  void push(Value value) { stack_.push_back(std::move(value)); }
  template <typename T>
  void put(T value) {
    stack_.push_back(Value{std::move(value)});
  }
  Value pop() {
    if (stack_.empty()) {
      damaged("it takes more than it has put");
    }
    Value value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }
  Value& top() {
    if (stack_.empty()) {
      damaged("it takes more than it has put");
    }
    return stack_.back();
  }
  /// The values above the last mark, which goes too.
  List pop_mark() {
    for (size_t i = stack_.size(); i-- > 0;) {
      if (std::holds_alternative<Value::Mark>(stack_[i].value)) {
        List items(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(i) + 1),
                   std::make_move_iterator(stack_.end()));
        stack_.resize(i);
        return items;
      }
    }
    damaged("a mark is missing");
  }
  template <typename T>
  T& as(Value& value, const char* kind) {
    T* found = std::get_if<T>(&value.value);
    if (found == nullptr) {
      damaged(str_cat("expected ", kind));
    }
    return *found;
  }

  bool constant(uint8_t op) {
    switch (op) {
      case 0x80:
        take(1);  // protocol
        return true;
      case 0x95:
        take(8);  // frame
        return true;
      case 'N':
        push({});
        return true;
      case 0x88:
      case 0x89:
        put(op == 0x88);
        return true;
      case 'J':
        put(int64_t{number<int32_t>()});
        return true;
      case 'K':
        put(int64_t{number<uint8_t>()});
        return true;
      case 'M':
        put(int64_t{number<uint16_t>()});
        return true;
      case 0x8a:
        put(long_integer());
        return true;
      case 'G':
        put(big_endian_double());
        return true;
      case 'X':
      case 'T':
        put(text(number<uint32_t>()));
        return true;
      case 0x8c:
      case 'U':
        put(text(number<uint8_t>()));
        return true;
      case 0x8d:
        put(text(number<uint64_t>()));
        return true;
      default:
        return false;
    }
  }

  int64_t long_integer() {
    const auto count = number<uint8_t>();
    const auto part = take(count);
    if (count > 8) {
      damaged("an integer of more than 64 bits");
    }
    uint64_t value = count > 0 && (static_cast<uint8_t>(part[count - 1]) & 0x80U) != 0 ? ~uint64_t{0} : 0;
    for (size_t i = 0; i < count; ++i) {
      value = (value & ~(uint64_t{0xff} << (8 * i))) | (static_cast<uint64_t>(part[i]) << (8 * i));
    }
    return static_cast<int64_t>(value);
  }
  double big_endian_double() {
    uint64_t bits = 0;
    for (const std::byte b : take(8)) {
      bits = bits << 8U | static_cast<uint64_t>(b);
    }
    return std::bit_cast<double>(bits);
  }

  void put_list(List items) { put(std::make_shared<List>(std::move(items))); }

  bool container(uint8_t op) {
    switch (op) {
      case '(':
        put(Value::Mark{});
        return true;
      case '}':
        put(std::make_shared<Dict>());
        return true;
      case ']':
      case ')':
        put_list({});
        return true;
      case 't':
      case 'l':
        put_list(pop_mark());
        return true;
      case 'd': {
        put(std::make_shared<Dict>());
        Value dict = pop();
        List items = pop_mark();
        set_items(dict, std::move(items));
        push(std::move(dict));
        return true;
      }
      case 0x85:
      case 0x86:
      case 0x87: {
        List items(op - 0x84U);
        for (size_t i = items.size(); i-- > 0;) {
          items[i] = pop();
        }
        put_list(std::move(items));
        return true;
      }
      case 's': {
        List pair(2);
        pair[1] = pop();
        pair[0] = pop();
        set_items(top(), std::move(pair));
        return true;
      }
      case 'u': {
        List items = pop_mark();
        set_items(top(), std::move(items));
        return true;
      }
      case 'a': {
        Value item = pop();
        as<std::shared_ptr<List>>(top(), "a list")->push_back(std::move(item));
        return true;
      }
      case 'e': {
        List items = pop_mark();
        List& list = *as<std::shared_ptr<List>>(top(), "a list");
        list.insert(list.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
        return true;
      }
      default:
        return false;
    }
  }

  void set_items(Value& target, List items) {
    Dict& dict = *as<std::shared_ptr<Dict>>(target, "a dict");
    if (items.size() % 2 != 0) {
      damaged("a key without value");
    }
    for (size_t i = 0; i < items.size(); i += 2) {
      dict.emplace_back(std::move(items[i]), std::move(items[i + 1]));
    }
  }

  bool memo(uint8_t op) {
    switch (op) {
      case 'q':
        memo_[number<uint8_t>()] = top();
        return true;
      case 'r':
        memo_[number<uint32_t>()] = top();
        return true;
      case 0x94:
        memo_[static_cast<uint32_t>(memo_.size())] = top();
        return true;
      case 'h':
        push(recall(number<uint8_t>()));
        return true;
      case 'j':
        push(recall(number<uint32_t>()));
        return true;
      case '0':
        pop();
        return true;
      case '1':
        pop_mark();
        return true;
      case '2': {
        const Value copy = top();
        push(copy);
        return true;
      }
      default:
        return false;
    }
  }
  const Value& recall(uint32_t key) const {
    const auto found = memo_.find(key);
    if (found == memo_.end()) {
      damaged("it refers to a value that it has not put");
    }
    return found->second;
  }

  bool object(uint8_t op) {
    switch (op) {
      case 'c': {
        std::string name = line();
        name += '.';
        name += line();
        put_global(std::move(name));
        return true;
      }
      case 0x93: {
        Value name = pop(), module = pop();
        put_global(as<std::string>(module, "a text") + "." + as<std::string>(name, "a text"));
        return true;
      }
      case 'Q':
        put(storage_id(pop()));
        return true;
      case 'R': {
        Value arguments = pop(), callee = pop();
        push(call(as<Value::Global>(callee, "a function").name, *as<std::shared_ptr<List>>(arguments, "a tuple")));
        return true;
      }
      case 'b':  // attributes of an OrderedDict (_metadata): nothing that is needed
        pop();
        as<std::shared_ptr<Dict>>(top(), "a dict");
        return true;
      default:
        return false;
    }
  }
  void put_global(std::string name) {
    if (!is_known(name)) {
      refuse(name);
    }
    put(Value::Global{std::move(name)});
  }

  /// ("storage", type, key, device, number of elements)
  Value::Storage storage_id(Value id) {
    List& parts = *as<std::shared_ptr<List>>(id, "a storage");
    if (parts.size() != 5 || as<std::string>(parts[0], "a text") != "storage") {
      damaged("a reference that is no storage");
    }
    const std::string& type = as<Value::Global>(parts[1], "a type").name;
    const auto dtype = kStorages.find(type);
    if (dtype == kStorages.end()) {
      damaged(str_cat("'", type, "' is no type of a storage"));
    }
    return {as<std::string>(parts[2], "a text"), dtype->second, as<int64_t>(parts[4], "a number")};
  }

  Value call(const std::string& name, List& arguments) {
    if (name == kOrderedDict) {
      if (!arguments.empty()) {
        damaged("an OrderedDict with arguments");
      }
      return {std::make_shared<Dict>()};
    }
    if (name == kParameter) {
      if (arguments.empty()) {
        damaged("a parameter without data");
      }
      return {as<Tensor>(arguments[0], "a tensor")};
    }
    if (name == kRebuild || name == kRebuildOld) {
      return {rebuild(arguments)};
    }
    refuse(name);
  }

  std::vector<int64_t> numbers(Value& value) {
    std::vector<int64_t> result;
    for (Value& item : *as<std::shared_ptr<List>>(value, "sizes")) {
      result.push_back(as<int64_t>(item, "a size"));
    }
    return result;
  }

  /// (storage, offset, sizes, strides, ...)
  Tensor rebuild(List& arguments) {
    if (arguments.size() < 4) {
      damaged("a tensor without shape");
    }
    const auto& storage = as<Value::Storage>(arguments[0], "a storage");
    const int64_t offset = as<int64_t>(arguments[1], "an offset");
    const std::vector<int64_t> sizes = numbers(arguments[2]), strides = numbers(arguments[3]);
    bool fits = sizes.size() == strides.size() && offset >= 0;
    __int128 last = offset;  // largest element that the tensor reaches
    bool is_empty = false;
    for (size_t i = 0; fits && i < sizes.size(); ++i) {
      fits = sizes[i] >= 0 && strides[i] >= 0;
      is_empty = is_empty || sizes[i] == 0;
      last += static_cast<__int128>(sizes[i] - 1) * strides[i];
      fits = fits && last < (static_cast<__int128>(1) << 62);
    }
    if (!fits || (!is_empty && last >= storage.numel)) {
      damaged(str_cat("a tensor reaches beyond storage '", storage.key, "' of ", storage.numel, " values"));
    }
    if (is_empty) {
      return at::empty(sizes, storage.dtype);
    }
    return storage_(storage).as_strided(sizes, strides, offset);
  }

  std::span<const std::byte> bytes_;
  const std::function<Tensor(const Value::Storage&)>& storage_;
  const std::string& path_;
  size_t at_ = 0;
  std::vector<Value> stack_;
  std::map<uint32_t, Value> memo_;
};

}  // namespace

PickleValue unpickle(std::span<const std::byte> bytes,
                     const std::function<Tensor(const PickleValue::Storage&)>& storage, const std::string& path) {
  return Machine(bytes, storage, path).run();
}

}  // namespace flexor
