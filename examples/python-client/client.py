"""Starts, watches, pauses and resumes a job of searchflow, and reads its result.

python client.py start FILE URL_COLUMN | watch | pause | resume [MAX_COST_DOLLARS] | result
"""

import asyncio
import json
import os
import sys

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.envconfig import ClientConfig
from temporalio.exceptions import ApplicationError

# One fixed id for a job: it runs once at a time, and a new start of an ended job buys only what is new.
JOB = os.environ.get("JOB", "companies")
TASK_QUEUE = os.environ.get("TASK_QUEUE", "own-worker")


async def start(client: Client, file: str, url_column: str) -> None:
    arguments = {
        "input": os.path.abspath(file),
        "urlColumn": url_column,
        "into": os.path.abspath(f"out/{JOB}.duckdb"),
        "csv": os.path.abspath(f"out/{JOB}.csv"),
        "maxCostDollars": 5,
    }
    handle = await client.start_workflow(
        "enrichCsv",
        arguments,
        id=JOB,
        task_queue=TASK_QUEUE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )
    print(f"Started {handle.id}")


async def watch(handle: WorkflowHandle) -> None:
    """Prints the progress until the job is paused or ends."""
    while True:
        progress = await handle.query("progress")
        dollars = progress["costMicros"] / 1e6
        print(f"{progress['phase']}: {progress['rowsDone']} of {progress['rows']} rows, ${dollars:.4f}", flush=True)
        if progress["phase"] == "paused":
            print(progress["message"])
        if progress["phase"] not in ("planning", "running"):
            return
        await asyncio.sleep(1)


async def result(handle: WorkflowHandle) -> None:
    try:
        print(json.dumps(await handle.result(), indent=2))
    except WorkflowFailureError as error:
        if not isinstance(error.cause, ApplicationError):
            raise
        sys.exit(f"{error.cause.type}: {error.cause.message}")


async def main(command: str, *arguments: str) -> None:
    # TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY and the profiles of the temporal command.
    client = await Client.connect(**{"target_host": "localhost:7233", **ClientConfig.load_client_connect_config()})
    handle = client.get_workflow_handle(JOB)
    if command == "start":
        await start(client, *arguments)
    elif command == "watch":
        await watch(handle)
    elif command == "pause":
        await handle.signal("pause")
    elif command == "resume":
        await handle.signal("resume", {"maxCostDollars": float(arguments[0])} if arguments else {})
    elif command == "result":
        await result(handle)
    else:
        sys.exit(__doc__)


def run(*arguments: str) -> int:
    """Gives the exit code."""
    try:
        asyncio.run(main(*arguments))
    except SystemExit as error:
        print(error.code, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    code = run(*(sys.argv[1:] or ["help"]))
    sys.stdout.flush()
    # A thread of the SDK may outlive the interpreter and crash it, so nothing is torn down:
    # https://github.com/temporalio/sdk-python/issues/300
    os._exit(code)
