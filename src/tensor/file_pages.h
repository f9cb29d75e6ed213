#pragma once
#include <ATen/core/Tensor.h>
#include <memory>

#include "base/file.h"

namespace flexor {

/// Tensors that view `file`, mapped privately, are known to forget_file_pages() while it is mapped.
void remember_mapping(const std::shared_ptr<MappedFile>& file);

/// Pages of memory that hold a tensor of a mapped file are the system's again, to be read anew when they are touched.
/// Call it where its values were copied and nothing was written to them. Nothing for any other tensor.
void forget_file_pages(const at::Tensor& tensor);

}  // namespace flexor
