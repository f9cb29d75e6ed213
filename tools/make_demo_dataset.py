"""Makes the bundled demonstration data: a simulated planar arm that reaches for the block named in the task.

    python3 tools/make_demo_dataset.py examples/data/reach_blocks [--episodes 40] [--codec h264|av1]
    python3 tools/make_demo_dataset.py examples/data/reach_blocks_attempts --attempts --episodes 36

Without --attempts every episode is a demonstration, with it half of them fail: the hand misses the block, pushes it away or
takes the other one; the column is_success holds the outcome. Three joints and a gripper; a camera that looks at the table from above and one that moves with the hand. A red and a
blue block lie at random places. state = joint angles in radians and the gripper's opening (0 closed, 1 open);
action = where the joints are told to be at the next frame. The movement is minimum-jerk in joint space.
"""

import argparse

import numpy as np

from lerobot_writer import DatasetWriter

FPS = 10
LINKS = np.array([0.34, 0.28, 0.14])  # metres
BASE = np.array([0.5, 0.04])          # metres; the table is the square 0..1 x 0..0.75
JOINTS = ["shoulder", "elbow", "wrist", "gripper"]
TOP, WRIST = "observation.images.top", "observation.images.wrist"
SIZES = {TOP: (128, 96), WRIST: (64, 64)}
TASKS = {"red": "reach the red block and close the gripper", "blue": "reach the blue block and close the gripper"}
COLOURS = {"red": (204, 52, 44), "blue": (44, 84, 204)}
TABLE, ARM, CLAW = np.array([168.0, 160.0, 146.0]), np.array([60.0, 62.0, 68.0]), np.array([236.0, 196.0, 64.0])


def joint_places(angles):
    """[3] radians -> [4, 2] metres: base, elbow, wrist, tip."""
    heading = np.cumsum(angles)
    steps = LINKS[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    return np.concatenate([BASE[None], BASE + np.cumsum(steps, axis=0)])


def reach(target, side):
    """Angles that put the tip on the target with the hand pointing away from the base; side = +-1 bends the elbow."""
    heading = np.arctan2(*(target - BASE)[::-1])
    wrist = target - LINKS[2] * np.array([np.cos(heading), np.sin(heading)]) - BASE
    distance = min(np.hypot(*wrist), LINKS[0] + LINKS[1] - 1e-3)
    bend = np.arccos((distance**2 - LINKS[0] ** 2 - LINKS[1] ** 2) / (2 * LINKS[0] * LINKS[1]))
    shoulder = np.arctan2(wrist[1], wrist[0]) - side * np.arctan2(
        LINKS[1] * np.sin(bend), LINKS[0] + LINKS[1] * np.cos(bend))
    return np.array([shoulder, side * bend, heading - shoulder - side * bend])


def paint(image, distance, width, colour):
    """Blends a shape, given by its signed distance [H, W] in metres, into the picture with a soft edge."""
    alpha = np.clip(0.5 - distance / width, 0, 1)[..., None]
    image += alpha * (np.asarray(colour) - image)


def segment_distance(points, start, end):
    along = end - start
    share = np.clip(((points - start) @ along) / (along @ along), 0, 1)[..., None]
    return np.linalg.norm(points - start - share * along, axis=-1)


def render(points, pixel, angles, opening, blocks):
    """Picture of the table at the given places [H, W, 2] in metres; pixel = metres per pixel."""
    stripes = 6.0 * np.sin(40 * points[..., :1]) * np.sin(34 * points[..., 1:])
    image = TABLE + stripes
    for name, place in blocks.items():
        paint(image, np.abs(points - place).max(axis=-1) - 0.04, pixel, COLOURS[name])
    places = joint_places(angles)
    for start, end, thick in zip(places[:-1], places[1:], (0.024, 0.019, 0.014)):
        paint(image, segment_distance(points, start, end) - thick, pixel, ARM)
    hand = (places[3] - places[2]) / LINKS[2]
    across = np.array([-hand[1], hand[0]]) * (0.012 + 0.03 * opening)
    for side in (-1, 1):
        root = places[3] + side * across
        paint(image, segment_distance(points, root, root + 0.05 * hand) - 0.009, pixel, CLAW)
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def top_view():
    width, height = SIZES[TOP]
    x, y = np.meshgrid((np.arange(width) + 0.5) / width, 0.75 * (1 - (np.arange(height) + 0.5) / height))
    return np.stack([x, y], axis=-1), 1.0 / width


def wrist_view(angles):
    """A window of 0.3 m that turns with the hand, its lower edge behind the tip."""
    width, height = SIZES[WRIST]
    pixel = 0.3 / width
    tip, heading = joint_places(angles)[3], angles.sum()
    ahead, left = np.array([np.cos(heading), np.sin(heading)]), np.array([-np.sin(heading), np.cos(heading)])
    u, v = np.meshgrid((np.arange(width) + 0.5) * pixel - 0.15, 0.24 - (np.arange(height) + 0.5) * pixel)
    return tip + u[..., None] * -left + v[..., None] * ahead, pixel


def place_blocks(rng):
    """Two blocks within reach, neither on top of the other."""
    while True:
        polar = rng.uniform([0.42, 0.7], [0.64, 2.4], (2, 2))
        places = BASE + polar[:, :1] * np.stack([np.cos(polar[:, 1]), np.sin(polar[:, 1])], axis=1)
        if np.linalg.norm(places[0] - places[1]) > 0.18:
            return dict(zip(("red", "blue"), places))


def start_pose(rng, side):
    return reach(BASE + 0.4 * np.array([np.cos(a := rng.uniform(1.2, 1.9)), np.sin(a)]), side)


def movement(start, goal, moving, close_at):
    """[T + 1, 4]: joints from start to goal in `moving` frames, the gripper closing within 5 frames from close_at on."""
    length = moving + 8  # the gripper closes during the last frames
    share = np.clip(np.arange(length + 1) / moving, 0, 1)
    smooth = (10 * share**3 - 15 * share**4 + 6 * share**5)[:, None]
    opening = np.clip(1 - (np.arange(length + 1) - close_at) / 5, 0, 1)[:, None]
    return np.concatenate([start + smooth * (goal - start), opening], axis=1)


def videos_of(state, blocks):
    """Pictures of both cameras; blocks: where they lie at every frame."""
    points, pixel = top_view()
    return {TOP: np.stack([render(points, pixel, row[:3], row[3], now) for row, now in zip(state, blocks)]),
            WRIST: np.stack([render(*wrist_view(row[:3]), row[:3], row[3], now) for row, now in zip(state, blocks)])}


def episode(seed, index):
    """One successful reach: (task, values, videos)."""
    rng = np.random.default_rng([seed, index])
    wanted = ("red", "blue")[index % 2]
    blocks = place_blocks(rng)
    start = start_pose(rng, 1.0)
    goal = reach(blocks[wanted], 1.0)
    moving = int(rng.integers(22, 32))
    path = movement(start, goal, moving, moving)
    noise = rng.normal(0, 0.002, (len(path) - 1, 4)) * [1, 1, 1, 0]
    state, action = path[:-1] + noise, path[1:]
    done = np.arange(len(state)) == len(state) - 1
    return TASKS[wanted], {"observation.state": state, "action": action, "next.reward": done, "next.done": done,
                           "next.success": done}, videos_of(state, [blocks] * len(state))


def beside(rng, blocks, wanted):
    """A place within reach, 9 to 13 cm from the wanted block and not at the other one."""
    while True:
        turn = rng.uniform(0, 2 * np.pi)
        place = blocks[wanted] + rng.uniform(0.09, 0.13) * np.array([np.cos(turn), np.sin(turn)])
        away = min(np.linalg.norm(place - other) for other in blocks.values())
        if away > 0.085 and 0.3 < np.linalg.norm(place - BASE) < 0.7:
            return place


def pushed(state, blocks, wanted):
    """Where the blocks lie when the closed hand pushes the wanted one: it stays 6 cm before the tip once it was touched."""
    now, result = dict(blocks), []
    for row in state:
        tip, heading = joint_places(row[:3])[3], row[:3].sum()
        ahead = np.array([np.cos(heading), np.sin(heading)])
        if np.linalg.norm(now[wanted] - tip) < 0.062:
            now = {**now, wanted: tip + 0.062 * ahead}
        result.append(now)
    return result


KINDS = ("reach", "miss", "reach", "push", "reach", "other")  # every second attempt fails


def attempt(seed, index):
    """One attempt, twelve in turn: each kind with each colour."""
    rng = np.random.default_rng([seed, 1, index])
    wanted, unwanted = ("red", "blue") if index % 2 == 0 else ("blue", "red")
    kind = KINDS[index // 2 % len(KINDS)]
    blocks = place_blocks(rng)
    start = start_pose(rng, 1.0)
    moving = int(rng.integers(24, 38))
    outward = (blocks[wanted] - BASE) / np.linalg.norm(blocks[wanted] - BASE)
    target = {"reach": blocks[wanted], "other": blocks[unwanted], "miss": beside(rng, blocks, wanted),
              "push": blocks[wanted] - 0.09 * outward}[kind]
    path = movement(start, reach(target, 1.0), moving, 4 if kind == "push" else moving)
    if kind == "push":  # the last frames: straight through the block
        for i, share in enumerate(np.linspace(0, 1, 9)):
            path[moving + i, :3] = reach(target + share * 0.19 * outward, 1.0)
    wobble = rng.normal(0, 0.01, (len(path), 3)).cumsum(axis=0)
    path[:, :3] += wobble * np.sin(np.linspace(0, np.pi, len(path)))[:, None]
    state, action = path[:-1], path[1:]
    done = np.arange(len(state)) == len(state) - 1
    success = done & (kind == "reach")
    lying = pushed(state, blocks, wanted) if kind == "push" else [blocks] * len(state)
    return TASKS[wanted], {"observation.state": state, "action": action, "next.reward": success, "next.done": done,
                           "next.success": success, "is_success": np.full(len(state), kind == "reach")}, videos_of(state, lying)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", help="folder to write; must not exist or be empty")
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--attempts", action="store_true", help="recorded attempts, of which half fail, not demonstrations")
    parser.add_argument("--codec", choices=("h264", "av1"), default="h264")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    features = {"observation.state": (np.float32, JOINTS), "action": (np.float32, JOINTS), "next.reward": (np.float32, None),
                "next.done": (np.bool_, None), "next.success": (np.bool_, None)}
    if options.attempts:
        features["is_success"] = (np.bool_, None)
    writer = DatasetWriter(options.root, "planar_arm", FPS, features, SIZES, options.codec)
    for index in range(options.episodes):
        writer.add_episode(*(attempt if options.attempts else episode)(options.seed, index))
    print(f"{options.root}: {options.episodes} episodes, {sum(writer.lengths)} frames, {writer.finish() / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
