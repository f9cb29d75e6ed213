#!/usr/bin/env python3
"""Pages of `flexor dataset show`: what is in them, and that a browser shows them without errors and without a network.

Usage: episode_page_test.py FLEXOR [unittest's arguments]. Tests that need a browser are skipped where there is none
(chromium, google-chrome; or the program that the variable CHROMIUM names).
"""
import html
import json
import re
import shutil
import subprocess
import sys
import unittest

from page_checks import DATA, EVIL, PROBE_END, Reader, WithFolder, dump, find_browser

FLEXOR = ""
PROBE = """<script>
window.requestAnimationFrame = f => setTimeout(f, 5);  // a headless browser in virtual time draws no frames
addEventListener('load', () => setTimeout(() => {
  const out = {}, text = id => document.getElementById(id).textContent;
  const reads = figure => [...figure.querySelectorAll('.read tspan')].map(t => t.textContent);
  const figure = document.querySelector('figure[data-plot]'), svg = figure.querySelector('svg');
  figure.scrollIntoView({block: 'center'});
  setTimeout(() => {
    out.before = {now: text('now'), reads: reads(figure)};
    const box = svg.getBoundingClientRect(), x = svg.dataset.x.split(' ').map(Number);
    const at = (x[0] + (x[1] - x[0]) * 0.5) / svg.viewBox.baseVal.width * box.width + box.left;
    figure.dispatchEvent(new PointerEvent('pointermove', {clientX: at, clientY: box.top + 60, bubbles: true}));
    setTimeout(() => {
      out.after = {now: text('now'), reads: reads(figure), dot: figure.querySelector('.dot').getAttribute('cx')};
      document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
      setTimeout(() => {
        out.key = text('now');
        out.plots = document.querySelectorAll('figure[data-plot] svg polyline, figure[data-plot] svg circle.dot').length;
        out.broken = [...document.images].filter(i => i.src && (!i.complete || i.naturalWidth === 0)).length;
        out.images = [...document.images].filter(i => i.naturalWidth > 0).length;
        out.videos = [...document.querySelectorAll('video')].map(v => ({ready: v.readyState, error: v.error && v.error.message, at: v.currentTime}));
""" + PROBE_END + """      }, 200);
    }, 200);
  }, 300);
}, 100));
</script>"""


def show(page, dataset, *flags):
    subprocess.run([FLEXOR, "dataset", "show", str(dataset), "-o", str(page), *flags], check=True, capture_output=True)
    return page.read_text(encoding="utf-8")


def hostile_dataset(folder):
    """A copy whose texts try to leave their places in the page."""
    root = folder / "a <b> & 'c' \"d\""
    shutil.copytree(DATA / "v21_h264", root)
    for path in (root / "meta").iterdir():
        path.chmod(0o644)
    tasks = [json.loads(line) for line in (root / "meta/tasks.jsonl").read_text().splitlines()]
    names = {task["task"]: f"{EVIL} {task['task_index']}" for task in tasks}
    (root / "meta/tasks.jsonl").write_text("".join(json.dumps({**t, "task": names[t["task"]]}) + "\n" for t in tasks))
    episodes = [json.loads(line) for line in (root / "meta/episodes.jsonl").read_text().splitlines()]
    (root / "meta/episodes.jsonl").write_text(
        "".join(json.dumps({**e, "tasks": [names[t] for t in e["tasks"]]}) + "\n" for e in episodes))
    info = json.loads((root / "meta/info.json").read_text())
    info["robot_type"] = EVIL
    info["features"]["action"]["names"] = [f"{EVIL} {i}" for i in range(info["features"]["action"]["shape"][0])]
    (root / "meta/info.json").write_text(json.dumps(info))
    return root


class Page(WithFolder):
    def check_closed(self, text):
        """Nothing in the page points outside of it."""
        for tag, key, value in Reader(text).attributes:
            if key in ("src", "href", "srcset", "action", "poster", "data"):
                self.assertTrue(value.startswith("data:"), (tag, key, value[:80]))
        self.assertEqual(set(re.findall(r"https?://[^'\" ]*", text)), {"http://www.w3.org/2000/svg"})

    def test_holds_every_dimension_task_and_picture(self):
        text = show(self.folder / "a.html", DATA / "v21_h264", "--episode", "3", "--frames", "5")
        page = Reader(text)
        info = json.loads((DATA / "v21_h264/meta/info.json").read_text())
        self.check_closed(text)
        for feature in ("observation.state", "action"):
            for name in info["features"][feature]["names"] or []:
                self.assertIn(name, page.texts)
        episode = [json.loads(line) for line in (DATA / "v21_h264/meta/episodes.jsonl").read_text().splitlines()][3]
        self.assertIn(episode["tasks"][0], page.texts)
        self.assertIn("Task: " + episode["tasks"][0], page.texts)
        self.assertEqual(sum(v.startswith("data:image/jpeg;base64,") for _, k, v in page.attributes if k == "src"), 10)
        data = json.loads(text.split('id="episode">')[1].split("</script>")[0])
        self.assertEqual(data["frames"], episode["length"])
        self.assertIn("band fill0 std", text)

    def test_is_of_reasonable_size(self):
        text = show(self.folder / "size.html", DATA / "v30_small", "--episode", "2")
        self.assertLess(len(text), 2_000_000)

    def test_texts_stay_texts(self):
        text = show(self.folder / "evil.html", hostile_dataset(self.folder), "--episode", "0")
        page = Reader(text)
        self.assertNotIn("onerror", [key for _, key, _ in page.attributes])
        self.assertEqual(text.count("<script"), 2)
        self.check_closed(text)
        self.assertTrue(any(EVIL in t for t in page.texts))


@unittest.skipUnless(find_browser(), "no browser: chromium or google-chrome")
class Browser(WithFolder):
    def look(self, name, text):
        page = self.folder / name
        page.write_text(text.replace("</body>", PROBE + "</body>"), encoding="utf-8")
        dom, log = dump(page, self.folder)
        self.assertIn('data-ready="yes"', dom, log[-2000:])
        self.assertEqual([line for line in log.splitlines() if "CONSOLE" in line], [])
        found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
        self.assertTrue(found, log[-2000:])
        out = json.loads(html.unescape(found[1]))
        self.assertEqual(out["fetched"], [])  # and the page's own policy forbids it: a try would be on the console
        return out

    def test_the_cursor_runs_through_plots_and_pictures(self):
        out = self.look("b.html", show(self.folder / "a.html", DATA / "v21_h264", "--episode", "3", "--frames", "5"))
        frames = 25
        self.assertEqual(out["before"]["now"], f"frame 0 of {frames} · 0.00 s")
        self.assertEqual(out["after"]["now"], f"frame {(frames - 1) // 2} of {frames} · 1.20 s")
        self.assertEqual(out["key"], f"frame {(frames - 1) // 2 + 1} of {frames} · 1.30 s")
        self.assertNotEqual(out["before"]["reads"], out["after"]["reads"])
        self.assertTrue(all(re.search(r"-?\d", read) for read in out["after"]["reads"]))
        self.assertGreater(out["plots"], 15)
        self.assertEqual(out["broken"], 0)
        self.assertEqual(out["images"], 12)  # two strips of five, two large ones
        self.assertLessEqual(out["overflow"], 0)

    def test_plays_the_videos(self):
        for dataset in ("v30_images", "v21_h264"):
            out = self.look("video.html", show(self.folder / "v.html", DATA / dataset, "--episode", "1", "--video"))
            self.assertEqual(len(out["videos"]), 2)
            for video in out["videos"]:
                self.assertIsNone(video["error"])
                self.assertGreaterEqual(video["ready"], 1)

    def test_runs_no_code_out_of_the_data(self):
        out = self.look("b.html", show(self.folder / "a.html", hostile_dataset(self.folder), "--episode", "0"))
        self.assertNotEqual(out["title"], "pwned")
        self.assertIn("episode 0", out["title"])


if __name__ == "__main__":
    FLEXOR = sys.argv.pop(1)
    unittest.main()
