"""Buys an answer for each row of a file of JSON lines, page by page, and prints the results as JSON lines, in the order of the rows.

python client.py ROWS.jsonl ['{"urlField": "website", "maxCostDollars": 5}']
"""

import asyncio
import json
import os
import sys
import uuid

from temporalio.client import Client
from temporalio.envconfig import ClientConfig


async def main(file: str, fields: str = "{}") -> None:
    client = await Client.connect(**ClientConfig.load_client_connect_config())
    task_queue = os.environ.get("TASK_QUEUE", "research")
    with open(file, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    page_input = {"rows": rows, **json.loads(fields)}
    call = uuid.uuid4()
    while page_input:
        # A page whose id is in use is the same page: after a restart with the same ids, no row is bought twice.
        page_id = f"rows-{call}-{page_input.get('firstIndex', 0)}"
        page = await client.execute_workflow("enrichRows", page_input, id=page_id, task_queue=task_queue)
        for result in page["results"]:
            print(json.dumps(result))
        print(json.dumps(page["summary"]), file=sys.stderr)
        page_input = page["next"]


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
    sys.stdout.flush()
    # A thread of the SDK may outlive the interpreter and crash it, so nothing is torn down:
    # https://github.com/temporalio/sdk-python/issues/300
    os._exit(0)
