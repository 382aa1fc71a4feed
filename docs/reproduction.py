"""Copy the numbers of a reproduction to the docs: `python docs/reproduction.py FOLDER`.

FOLDER is a results folder of `belated reproduce`. Its numbers.md replaces the part between the
markers on the page of its variant, for example docs/reproduction.md.
"""

import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
PAGES = {
    "figures": "reproduction.md",
    "calibrated": "reproduction-calibrated.md",
    "calibrated-with-delay": "reproduction-calibrated-with-delay.md",
}
BLOCK = re.compile("(<!-- numbers -->\n).*(<!-- end of numbers -->)", re.DOTALL)


def insert_numbers(page: str, numbers: str) -> str:
    """Return the text `page` with `numbers` between its markers."""
    found, count = BLOCK.subn(lambda block: block[1] + numbers.rstrip() + "\n" + block[2], page)
    if count != 1:
        raise ValueError(f"The page must have one pair of markers, got {count}.")
    return found


def main(folder: Path) -> None:
    """Write the numbers of the results folder `folder` to the page of its variant."""
    variant = json.loads((folder / "study.json").read_text(encoding="utf-8"))["variant"]
    page = DOCS / PAGES[variant]
    numbers = (folder / "numbers.md").read_text(encoding="utf-8")
    text = insert_numbers(page.read_text(encoding="utf-8"), numbers)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
