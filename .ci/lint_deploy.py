"""Check containers, units, workflows and metadata with every tool that is installed.

Tools of `.ci/tools.txt` must be there. Others are skipped if they are not on PATH, as their absence
is normal on a developer's machine. Exit with status 1 if a tool finds an error.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SCHEMAS = {
    "vendor.github-workflows": ".github/workflows/*.yml",
    "vendor.dependabot": ".github/dependabot.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
    "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
    "vendor.compose-spec": "compose.yaml",
    "vendor.citation-file-format": "CITATION.cff",
}
"""Names of JSON schemas of check-jsonschema, with patterns of the files that follow them."""


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the command of each check by its name. `folder` is for copies of files.

    systemd and nginx check that programs and certificates exist; the copies name existing ones.
    """
    unit = folder / "belated.service"
    text = (ROOT / "deploy" / "belated.service").read_text()
    unit.write_text(re.sub(r"/opt/belated\S*", "/bin/true", text).replace("User=belated\n", ""))
    site = (ROOT / "deploy" / "nginx.conf").read_text()
    site = re.sub(r"^\s*ssl_certificate.*$", "", site, flags=re.MULTILINE).replace(" ssl;", ";")
    nginx = folder / "nginx.conf"
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    nginx.write_text(
        f"pid {folder}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{paths}\n{site}}}\n"
    )
    checks = {"hadolint": [str(BIN / "hadolint"), "Dockerfile"]}
    checks["zizmor"] = [str(BIN / "zizmor"), "--offline", "--persona=regular", ".github"]
    for schema, pattern in SCHEMAS.items():
        files = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob(pattern))]
        checker = str(BIN / "check-jsonschema")
        checks[f"schema of {pattern}"] = [checker, "--builtin-schema", schema, *files]
    optional = {
        "actionlint": ["actionlint"],
        "systemd": ["systemd-analyze", "verify", "--man=no", str(unit)],
        "nginx": ["nginx", "-t", "-c", str(nginx), "-e", "stderr"],
        "caddy": ["caddy", "validate", "--adapter", "caddyfile", "--config", "deploy/Caddyfile"],
        "docker compose": ["docker", "compose", "config", "--quiet"],
    }
    return checks | {name: words for name, words in optional.items() if available(words)}


def available(words: list[str]) -> bool:
    """Whether the program of a command is installed; `docker` may lack the plugin `compose`."""
    if shutil.which(words[0]) is None:
        return False
    version = ["docker", "compose", "version"]
    return words[0] != "docker" or subprocess.run(version, capture_output=True).returncode == 0


def main() -> int:
    """Run all checks, print the output of those that fail, and return the exit status."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, words in commands(Path(folder)).items():
            done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
            print(f"{'failed' if done.returncode else 'passed'}: {name}")
            if done.returncode:
                failed.append(name)
                print(done.stdout + done.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
