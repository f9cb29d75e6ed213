#include "recap/camera_slots.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/str_cat.h"
#include "base/text.h"

namespace flexor::recap {
namespace {

struct Robot {
  std::string_view type, base, wrist;  ///< names without prefix; empty: none
};
constexpr std::array kRobots = {
    Robot{"libero", "image", "wrist_image"},
    Robot{"libero_v2", "image", "wrist_image"},
    Robot{"franka", "image", ""},
    Robot{"franka_co_train", "image", "wrist_image"},
};

using Cameras = std::vector<data::FeatureInfo>;

std::vector<std::string> names_of(const Cameras& cameras) {
  std::vector<std::string> names;
  for (const data::FeatureInfo& camera : cameras) {
    names.push_back(camera.name);
  }
  return names;
}

std::string find_camera(const Cameras& cameras, std::string_view name, std::string_view type,
                        const std::string& where) {
  for (const char* prefix : {"", "observation.", "observation.images."}) {
    const std::string full = str_cat(prefix, name);
    if (std::ranges::any_of(cameras, [&](const data::FeatureInfo& camera) { return camera.name == full; })) {
      return full;
    }
  }
  throw Error(ErrorKind::kData,
              str_cat("robot_type ", type, " needs a camera '", name, "', the dataset has ",
                      cameras.empty() ? "none" : join_text(names_of(cameras), ", ")),
              where, "data.robot_type=auto takes the cameras as they are");
}

CameraSlots automatic(const Cameras& cameras, const std::string& where) {
  std::vector<std::string> bases, wrists;
  for (const std::string& name : names_of(cameras)) {
    (name.find("wrist") != std::string::npos ? wrists : bases).push_back(name);
  }
  CameraSlots slots;
  if (!bases.empty()) {
    slots.emplace_back(kSlots[0], bases[0]);
  }
  for (size_t i = 0; i < std::min<size_t>(2, wrists.size()); ++i) {
    slots.emplace_back(kSlots[i + 1], wrists[i]);
  }
  if (slots.empty()) {
    throw Error(ErrorKind::kData, "the dataset has no camera", where);
  }
  return slots;
}

}  // namespace

CameraSlots camera_slots(std::string_view robot_type, const Cameras& cameras, const std::string& where) {
  if (robot_type == "auto") {
    return automatic(cameras, where);
  }
  std::vector<std::string> known{"auto"};
  for (const Robot& robot : kRobots) {
    if (robot.type == robot_type) {
      CameraSlots slots{{std::string(kSlots[0]), find_camera(cameras, robot.base, robot_type, where)}};
      if (!robot.wrist.empty()) {
        slots.emplace_back(kSlots[1], find_camera(cameras, robot.wrist, robot_type, where));
      }
      return slots;
    }
    known.emplace_back(robot.type);
  }
  throw Error(ErrorKind::kConfig, str_cat("unknown robot_type '", robot_type, "'"), where,
              "one of " + join_text(known, ", "));
}

}  // namespace flexor::recap
