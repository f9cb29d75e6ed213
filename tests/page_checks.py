"""What the tests of pages share: a headless browser, a reader of HTML, a folder of their own."""
import html.parser
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

DATA = pathlib.Path(__file__).resolve().parent / "data" / "datasets"
EVIL = "</script><img src=x onerror=\"document.title='pwned'\"> \"&'<!-- tâche 抓"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--mute-audio",
         "--autoplay-policy=no-user-gesture-required", "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1400,1800",
         "--virtual-time-budget=4000", "--enable-logging=stderr"]

# The end of a probe: what every page is asked for, and where the browser's answer `out` stands, <pre id="probe">.
PROBE_END = """
  out.title = document.title;
  out.fetched = performance.getEntriesByType('resource').map(e => e.name.slice(0, 80)).filter(n => !/^(data|blob):/.test(n));
  out.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const result = document.createElement('pre');
  result.id = 'probe'; result.textContent = JSON.stringify(out);
  document.body.append(result);
"""


def find_browser():
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


def dump(page, folder):
    """(DOM after the scripts ran, console and log)."""
    with tempfile.TemporaryDirectory(dir=folder) as profile:
        done = subprocess.run([find_browser(), *FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()], capture_output=True,
                              timeout=120, check=False)
    return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


class Reader(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.attributes = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]

    def handle_data(self, data):
        self.texts.append(data)


class WithFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="flexor-page-")
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()
