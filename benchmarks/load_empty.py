"""A route that does nothing, served as `belated serve` serves its own."""

import uvicorn
from fastapi import FastAPI

from belated.cli.serve import listening, look_for_cycles_rarely

app = FastAPI()


@app.get("/")
async def empty() -> dict[str, str]:
    """Nothing."""
    return {}


if __name__ == "__main__":
    with listening("127.0.0.1", 0) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False)
        look_for_cycles_rarely()
        uvicorn.Server(config).run(sockets=[listener])
