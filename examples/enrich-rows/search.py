"""A workflow in Python that calls an operation of the worker in TypeScript: its activity has the name of the operation.

python search.py 'Acme official site'
"""

import asyncio
import os
import sys
import uuid
from datetime import timedelta

from temporalio import workflow
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.worker import Worker

TASK_QUEUE = os.environ.get("TASK_QUEUE", "research")


@workflow.defn
class Search:
    @workflow.run
    async def run(self, query: str, task_queue: str) -> dict:
        # The result has the answer of the service as `data`, and its `costDollars`.
        return await workflow.execute_activity(
            "search",
            {"query": query, "numResults": 3},
            task_queue=task_queue,
            start_to_close_timeout=timedelta(minutes=3),
            heartbeat_timeout=timedelta(seconds=15),
        )


async def main(query: str) -> None:
    client = await Client.connect(**ClientConfig.load_client_connect_config())
    own_queue = f"{TASK_QUEUE}-python"
    async with Worker(client, task_queue=own_queue, workflows=[Search]):
        result = await client.execute_workflow(
            Search.run, args=[query, TASK_QUEUE], id=f"search-{uuid.uuid4()}", task_queue=own_queue
        )
    for page in result["data"]["results"]:
        print(page["url"])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
    sys.stdout.flush()
    # A thread of the SDK may outlive the interpreter and crash it, so nothing is torn down:
    # https://github.com/temporalio/sdk-python/issues/300
    os._exit(0)
