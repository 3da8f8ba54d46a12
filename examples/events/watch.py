#!/usr/bin/env python3
"""Prints what happens in Reeve, event by event, and misses nothing: a WebSocket client in forty lines.

Needs Debian's python3-websockets (or `pip install websockets`). The daemon is reached over its unix socket; with
--url ws://127.0.0.1:7433/api/events and REEVE_TOKEN over TCP.
"""
import argparse
import asyncio
import json
import os
import sys

import websockets


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["*"], help="events to hear of: run.failed, approval_needed, …; all")
    parser.add_argument("--since", type=int, help="begin after the event of that number; without it: now")
    parser.add_argument("--cursor", help="a file that keeps the number of the last event that was seen")
    parser.add_argument("--until", help="end after the first event of that name")
    parser.add_argument("--url", help="another daemon than that of this folder")
    return parser.parse_args()


def connect(url):
    if url:
        token = os.environ.get("REEVE_TOKEN")
        return websockets.connect(url, extra_headers={"Authorization": f"Bearer {token}"} if token else {})
    state = os.environ.get("REEVE_STATE", ".reeve/state")
    return websockets.unix_connect(os.path.join(state, "reeve.sock"), uri="ws://localhost/api/events")


def read_cursor(arguments):
    if arguments.cursor and os.path.exists(arguments.cursor):
        with open(arguments.cursor) as file:
            return int(file.read())
    return arguments.since


def write_cursor(arguments, number):
    if not arguments.cursor:
        return
    with open(arguments.cursor + ".new", "w") as file:
        file.write(str(number))
    os.replace(arguments.cursor + ".new", arguments.cursor)


async def listen(arguments, seen):
    """One connection; gives the number of the last event that was seen, and whether that was all."""
    async with connect(arguments.url) as socket:
        wish = {"type": "subscribe", "events": arguments.names, "frames": "event"}
        if seen["number"] is not None:
            wish["since"] = seen["number"]
        await socket.send(json.dumps(wish))
        async for text in socket:
            message = json.loads(text)
            if message["type"] == "error":
                sys.exit(f"{message['code']}: {message['message']}")
            if message["type"] == "subscribed":
                # From exactly here: whatever is read of the state now is followed by every change of it.
                seen["number"] = message["snapshot"]
                for warning in message.get("warnings", []):
                    print(f"warning: {warning['message']}", file=sys.stderr)
            if message["type"] != "event":
                continue
            subject = message.get("tool_run_id") or message.get("execution_id") or ""
            print(message.get("seq", "-"), message["event"], subject, message.get("status", ""), flush=True)
            if "seq" in message:
                seen["number"] = message["seq"]
                write_cursor(arguments, message["seq"])
            if message["event"] == arguments.until:
                return True
    return False


async def main():
    arguments = parse_arguments()
    seen = {"number": read_cursor(arguments)}
    while True:
        try:
            if await listen(arguments, seen):
                return
        except (OSError, websockets.ConnectionClosed) as error:
            # The daemon was away, or this was too slow (1013): it goes on where it was.
            print(f"again: {error}", file=sys.stderr)
        await asyncio.sleep(1)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(130)
