"""Power of the GPU during a measurement, sampled by nvidia-smi."""

import subprocess
import tempfile
from statistics import fmean

SAMPLE = (
    *("nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits"),
    *("--id=0", "--loop-ms=100"),
)


class Power:
    """Samples the power of the first GPU within a `with` block.

    After the block, `mean_w` is the mean power in watts, or None if nvidia-smi is missing or does
    not tell the power.
    """

    mean_w: float | None = None

    def __enter__(self) -> "Power":
        self._samples = tempfile.TemporaryFile("w+")
        try:
            self._sampler = subprocess.Popen(
                SAMPLE, stdout=self._samples, stderr=subprocess.DEVNULL
            )
        except OSError:
            self._sampler = None
        return self

    def __exit__(self, *error: object) -> None:
        if self._sampler is not None:
            self._sampler.terminate()
            self._sampler.wait()
        self._samples.seek(0)
        found = [float(line) for line in self._samples if line.strip().replace(".", "").isdigit()]
        self._samples.close()
        if found:
            self.mean_w = fmean(found)
