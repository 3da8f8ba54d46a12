#!/usr/bin/env python3
"""Prints the events of Reeve as they happen and misses none: a small WebSocket client.

Needs Debian's python3-websockets (or `pip install websockets`). Connects to the daemon's unix socket, or over TCP with
--url ws://127.0.0.1:7433/api/events and REEVE_TOKEN.
"""
import argparse
import asyncio
import json
import os
import sys

import websockets


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["*"], help="events: run.failed, approval_needed, …; default: all")
    parser.add_argument("--since", type=int, help="start after the event with this number; default: now")
    parser.add_argument("--cursor", help="a file that stores the number of the last event")
    parser.add_argument("--until", help="exit after the first event with this name")
    parser.add_argument("--url", help="connect to another daemon than the one of this folder")
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
    """Reads one connection, keeps the number of the last event in `seen`, and returns whether `--until` was reached."""
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
                # The stream starts right after this number, so that no change after a read of the state is missed.
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
            # The daemon was down, or this client was too slow (1013): resume after the last event.
            print(f"reconnecting: {error}", file=sys.stderr)
        await asyncio.sleep(1)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(130)
