#!/usr/bin/env python3
"""The page of a RECAP run: its steps on small data, and that a browser shows the page without errors and without a network.

Usage: recap_page_test.py FLEXOR [unittest's arguments]. Tests that need a browser are skipped where there is none
(chromium, google-chrome; or the program that the variable CHROMIUM names).
"""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from page_checks import DATA, EVIL, PROBE_END, Reader, WithFolder, dump, find_browser

FLEXOR = ""
TESTS = pathlib.Path(__file__).resolve().parent
PROBE = """<script>
addEventListener('load', () => setTimeout(() => {
  const out = {}, sections = [...document.querySelectorAll('.episode')];
  out.reads = sections.map(section => {
    const svg = section.querySelector('svg.plot'), box = svg.getBoundingClientRect(), x = svg.dataset.x.split(' ').map(Number);
    const at = (x[0] + (x[1] - x[0]) * 0.5) / svg.viewBox.baseVal.width * box.width + box.left;
    svg.dispatchEvent(new PointerEvent('pointermove', {clientX: at, clientY: box.top + 60, bubbles: true}));
    return section.querySelector('.read').textContent;
  });
  out.cursors = document.querySelectorAll('line.cursor[visibility=visible]').length;
  out.now = document.querySelectorAll('.shots figure.now').length;
  out.aligned = sections.map(section => {  // the strip stands above the axes of its plots
    const svg = section.querySelector('svg.plot'), box = svg.getBoundingClientRect(), strip = section.querySelector('.shots').getBoundingClientRect();
    const x = svg.dataset.x.split(' ').map(Number), scale = box.width / svg.viewBox.baseVal.width;
    return Math.max(Math.abs(strip.left - box.left - x[0] * scale), Math.abs(strip.right - box.left - x[1] * scale));
  });
  out.broken = [...document.images].filter(i => !i.complete || i.naturalWidth === 0).length;
  out.images = document.images.length;
  out.plots = document.querySelectorAll('svg.plot').length;
  out.links = [...document.querySelectorAll('nav a')].map(a => !!document.querySelector(a.getAttribute('href')));
""" + PROBE_END + """}, 300));
</script>"""


def run(folder, *arguments):
    subprocess.run([FLEXOR, *arguments], cwd=folder, check=True, capture_output=True)


def make_run(folder):
    """Steps 1 to 3 with a value model of a few steps; the texts of the data try to leave their places in the page."""
    for source, name in (("v21_h264", "sft"), ("v30_small", "rollout")):
        shutil.copytree(DATA / source, folder / name)
        for path in (folder / name).rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
    path = folder / "sft/meta/tasks.jsonl"
    tasks = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**task, "task": f"{EVIL} {task['task_index']}"}) + "\n" for task in tasks))
    if (folder / "sft/meta/episodes.jsonl").exists():
        names = {task["task"]: f"{EVIL} {task['task_index']}" for task in tasks}
        path = folder / "sft/meta/episodes.jsonl"
        episodes = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({**e, "tasks": [names[t] for t in e["tasks"]]}) + "\n" for e in episodes))
    config = (TESTS / "cli/assets/recap_value.yaml").read_text()
    (folder / "c.yaml").write_text(config.replace("type: rollout}", "type: rollout, success_episodes: [0]}"))
    keys = ("--config", "c.yaml", f"value.actor.model.tokenizer_path={DATA.parent / 'tokenizer/tokenizer_512.model'}",
            "value.actor.model.max_token_len=64")
    run(folder, "recap", "returns", *keys)
    run(folder, "recap", "value", *keys)
    run(folder, "recap", "advantages", *keys)


class RecapPage(WithFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_run(cls.folder)
        run(cls.folder, "report", "out", "--episodes", "rollout/1")
        cls.text = (cls.folder / "out/report.html").read_text(encoding="utf-8")

    def test_nothing_points_outside(self):
        for tag, key, value in Reader(self.text).attributes:
            if key in ("src", "href", "srcset", "action", "poster", "data"):
                self.assertTrue(value.startswith(("data:", "#")), (tag, key, value[:80]))
        self.assertEqual(set(re.findall(r"https?://[^'\" ]*", self.text)), {"http://www.w3.org/2000/svg"})
        self.assertLess(len(self.text), 5_000_000)

    def test_texts_stay_texts(self):
        page = Reader(self.text)
        self.assertNotIn("onerror", [key for _, key, _ in page.attributes])
        self.assertEqual(self.text.count("<script"), 2)
        self.assertTrue(any(EVIL in text for text in page.texts))

    def test_the_csv_files_stand_beside_it(self):
        for name in ("episodes", "positive_rates", "calibration", "histograms", "curves"):
            lines = (self.folder / f"out/{name}.csv").read_text(encoding="utf-8").splitlines()
            self.assertGreaterEqual(len(lines), 2, name)

    @unittest.skipUnless(find_browser(), "no browser: chromium or google-chrome")
    def test_a_browser_shows_it(self):
        page = self.folder / "probed.html"
        page.write_text(self.text.replace("</body>", PROBE + "</body>"), encoding="utf-8")
        dom, log = dump(page, self.folder)
        self.assertIn('data-ready="yes"', dom, log[-2000:])
        self.assertEqual([line for line in log.splitlines() if "CONSOLE" in line], [])
        found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
        self.assertTrue(found, log[-2000:])
        out = json.loads(html.unescape(found[1]))
        self.assertGreaterEqual(len(out["reads"]), 4)
        for read in out["reads"]:
            self.assertRegex(read, r"^frame \d+ · \d+\.\d\d s · V -?\d.* · return -?\d.* · A -?\d.* · (positive|negative)$")
        self.assertEqual(out["cursors"], 2 * len(out["reads"]))
        self.assertGreaterEqual(out["now"], len(out["reads"]))
        self.assertLess(max(out["aligned"]), 2)
        self.assertGreater(out["images"], 20)
        self.assertEqual(out["broken"], 0)
        self.assertGreater(out["plots"], 15)
        self.assertTrue(all(out["links"]))
        self.assertEqual(out["title"], "RECAP run out")
        self.assertEqual(out["fetched"], [])
        self.assertLessEqual(out["overflow"], 0)


if __name__ == "__main__":
    FLEXOR = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
