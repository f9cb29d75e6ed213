#include "table/arrow_chunks.h"
#include "table/arrow_values.h"

namespace flexor::table {
namespace {

ValueKind kind_of(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
      return ValueKind::kBool;
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
      return ValueKind::kFloat32;
    case arrow::Type::DOUBLE:
      return ValueKind::kFloat64;
    case arrow::Type::STRUCT: {
      const auto field = static_cast<const arrow::StructType&>(type).GetFieldByName("bytes");
      return field && is_bytes(*field->type()) ? ValueKind::kImage : ValueKind::kOther;
    }
    default:
      return arrow::is_integer(type.id()) ? ValueKind::kInt
             : is_text(type)              ? ValueKind::kText
             : is_bytes(type)             ? ValueKind::kImage
                                          : ValueKind::kOther;
  }
}

}  // namespace

LeafType leaf_type(const std::shared_ptr<arrow::DataType>& type) {
  LeafType leaf{type, 0, int64_t{1}};
  while (true) {
    if (leaf.type->id() == arrow::Type::EXTENSION) {
      leaf.type = static_cast<const arrow::ExtensionType&>(*leaf.type).storage_type();
    } else if (is_list(*leaf.type)) {
      if (leaf.type->id() != arrow::Type::FIXED_SIZE_LIST) {
        leaf.fixed_width.reset();
      } else if (leaf.fixed_width) {
        *leaf.fixed_width *= static_cast<const arrow::FixedSizeListType&>(*leaf.type).list_size();
      }
      ++leaf.depth;
      leaf.type = leaf.type->field(0)->type();
    } else {
      return leaf;
    }
  }
}

ColumnInfo describe(const arrow::Field& field) {
  const LeafType leaf = leaf_type(field.type());
  return {field.name(), kind_of(*leaf.type), leaf.depth, leaf.fixed_width, field.type()->ToString()};
}

}  // namespace flexor::table
