"""Does what must not be done, calls again after any error: retrying.py CONFIG TOOL ARGUMENTS"""
import subprocess
import sys
from pathlib import Path

once = [sys.executable, str(Path(__file__).with_name("client.py")), *sys.argv[1:]]
for _ in range(3):
    code = subprocess.run(once).returncode
    if code == 0:
        break
sys.exit(code)
