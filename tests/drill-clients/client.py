"""Calls one tool with the official Python SDK: client.py CONFIG TOOL ARGUMENTS"""
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


def server(config: str):
    with open(config) as file:
        entry = json.load(file)["mcpServers"]["drill"]
    if "url" in entry:
        return entry["url"]
    return StdioServerParameters(command=entry["command"], args=entry["args"])


async def call(config: str, tool: str, arguments: str) -> int:
    async with Client(server(config), read_timeout_seconds=10) as client:
        await client.list_tools()
        result = await client.call_tool(tool, json.loads(arguments))
    return 1 if result.is_error else 0


try:
    sys.exit(asyncio.run(call(*sys.argv[1:])))
except (Exception, asyncio.CancelledError) as error:
    # It says nothing of whether the tool ran.
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(5)
