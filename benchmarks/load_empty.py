"""FastAPI application with one empty route, run like `belated serve`."""

import uvicorn
from fastapi import FastAPI

from belated.cli.serve import open_listener, reduce_gc_frequency

app = FastAPI()


@app.get("/")
async def empty() -> dict[str, str]:
    """Return an empty object."""
    return {}


if __name__ == "__main__":
    with open_listener("127.0.0.1", 0) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False)
        reduce_gc_frequency()
        uvicorn.Server(config).run(sockets=[listener])
