#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dist/group.h"

namespace flexor::dist {

/// Does the pieces [first, end) of a work once each, whatever their number: in turns of one piece a rank, rank r the
/// r-th of the turn. After every turn all ranks get what it gave. Called by all ranks with the same range.
/// @param work  numbers of a piece, as many as it likes  @param take  gets them, piece after piece in ascending order
/// @throws Error(kInterrupted), Error(kTerminated) on all ranks after a signal to any; all pieces before the first one
///         that is missing were taken then. Error(kRuntime) if a rank is gone; what `work` and `take` throw, on the
///         rank where they do
void share_work(Group& group, int64_t first, int64_t end, const std::function<std::vector<double>(int64_t piece)>& work,
                const std::function<void(int64_t piece, std::span<const double> numbers)>& take);

/// A group of this process alone, for what takes a group.
std::shared_ptr<Group> group_of_one();

}  // namespace flexor::dist
